"""What all items of one canvas share when they paint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.level_of_detail import Zoom
from studio.ui.canvas.wires.wire_curve import WireCurve


@dataclass(slots=True)
class PaintContext:
    style: CanvasStyle
    zoom: Zoom = field(default_factory=Zoom)
    is_covered: Callable[[Box, WireCurve], bool] = lambda *_: False
    """Whether nodes, or wires other than the one given, lie in a part of the canvas."""
    revision: int = 0
    """Counts up whenever that may have changed."""
