"""Painting state that all items of one canvas share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QRectF

from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.level_of_detail import Zoom
from studio.ui.canvas.wires.wire_curve import WireCurve


@dataclass(slots=True)
class PaintContext:
    style: CanvasStyle
    zoom: Zoom = field(default_factory=Zoom)
    is_covered: Callable[[Box, WireCurve], bool] = lambda *_: False
    """Whether nodes or other wires overlap a box."""
    is_moving: bool = False
    """Whether a gesture moves nodes: labels of wires keep their positions meanwhile."""
    is_routing: Callable[[], bool] = lambda: False
    """Whether wires wait for their routes: labels of wires keep their positions meanwhile."""
    exposed: tuple[QRectF, ...] = ()
    """The rectangles of the scene that the view paints; empty while another painter renders the scene."""
    revision: int = 0
    """Incremented when the result of `is_covered` may have changed."""
