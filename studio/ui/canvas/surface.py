"""What all items of one canvas share when they paint."""

from __future__ import annotations

from dataclasses import dataclass, field

from studio.ui.canvas.detail import Zoom
from studio.ui.canvas.style import Style


@dataclass(slots=True)
class Surface:
    style: Style
    zoom: Zoom = field(default_factory=Zoom)
