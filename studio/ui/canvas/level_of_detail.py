"""Level of detail of the canvas by zoom."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

SMALLEST_TEXT = 8.0
"""Minimum text size on the screen in pixels."""


READABLE = 0.75
"""The scale at which a part of a large graph is opened."""


FULL_SCALE = 0.71
"""The smallest scale at which everything is drawn, because text of 11 pixels can be read."""


PORTS_SCALE = 0.6
"""The smallest scale at which ports are drawn."""


PORTS_TAKEN_SCALE = 0.33
"""The smallest scale at which the mouse takes a port, drawn or not: a wire can be drawn in a whole small network."""


NAMES_SCALE = 0.4
"""The smallest scale at which names are drawn. Two lines fit on a node."""


class LevelOfDetail(IntEnum):
    COLOR = 0
    """Colored rectangles only."""
    NAME = 1
    """Color and name, which is larger than at full detail. From PORTS_SCALE on also ports."""
    FULL = 2


@dataclass(frozen=True, slots=True)
class Zoom:
    """Zoom of a view."""

    scale: float = 1.0
    """Screen pixels per scene unit."""
    ratio: float = 1.0
    """Device pixels per screen pixel."""

    @property
    def device_scale(self) -> float:
        return self.scale * self.ratio

    @property
    def detail(self) -> LevelOfDetail:
        if self.scale >= FULL_SCALE:
            return LevelOfDetail.FULL
        return LevelOfDetail.NAME if self.scale >= NAMES_SCALE else LevelOfDetail.COLOR

    @property
    def takes_ports(self) -> bool:
        """Whether the mouse takes ports."""
        return self.scale >= PORTS_TAKEN_SCALE

    @property
    def has_ports(self) -> bool:
        """Whether ports are drawn."""
        return self.scale >= PORTS_SCALE


def readable(pixels: float, scale: float) -> bool:
    """Whether text of that size on the canvas can be read at this scale."""
    return pixels * scale >= SMALLEST_TEXT - 0.2
