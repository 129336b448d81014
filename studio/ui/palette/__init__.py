"""The node types to choose from: a panel to drag them out of, and a palette to search them in on the canvas."""

from studio.ui.palette.palette_panel import PalettePanel as PalettePanel
from studio.ui.palette.search_palette import SearchPalette as SearchPalette

__all__ = ["PalettePanel", "SearchPalette"]
