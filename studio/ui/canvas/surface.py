"""What all items of one canvas share when they paint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from studio.ui.canvas.curve import Curve
from studio.ui.canvas.detail import Zoom
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.style import Style


@dataclass(slots=True)
class Surface:
    style: Style
    zoom: Zoom = field(default_factory=Zoom)
    covered: Callable[[Box, Curve], bool] = lambda *_: False
    """Whether nodes, or wires other than the one given, lie in a part of the canvas."""
    revision: int = 0
    """Counts up whenever that may have changed."""
