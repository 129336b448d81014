"""Node types to add: the palette dock and the search palette of the canvas."""

from studio.ui.palette.palette_panel import PalettePanel as PalettePanel
from studio.ui.palette.search_palette import SearchPalette as SearchPalette

__all__ = ["PalettePanel", "SearchPalette"]
