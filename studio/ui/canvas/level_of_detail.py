"""Level of detail of the canvas by zoom."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

SMALLEST_TEXT = 8.0
"""Minimum text size on the screen in pixels."""


READABLE = 0.75
"""The smallest scale at which names, captions and port labels of 11 pixels are all drawn."""


FULL_SCALE = 0.6
"""The smallest scale at which everything is drawn."""


class LevelOfDetail(IntEnum):
    COLOR = 0
    """Colored rectangles only."""
    NAME = 1
    """Color and name."""
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
        return LevelOfDetail.NAME if self.scale >= 0.33 else LevelOfDetail.COLOR


def readable(pixels: float, scale: float) -> bool:
    """Whether text of that size on the canvas can be read at this scale."""
    return pixels * scale >= SMALLEST_TEXT - 0.2
