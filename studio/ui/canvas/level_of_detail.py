"""How much of the graph is drawn at a zoom."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

SMALLEST_TEXT = 8.0
"""Pixels on the screen below which no text is drawn."""


READABLE = 0.75
"""The smallest scale at which names, captions and port labels of 11 pixels are all drawn."""


class LevelOfDetail(IntEnum):
    COLOR = 0
    """A node is a patch of its colour."""
    NAME = 1
    """Colour and name."""
    FULL = 2


@dataclass(frozen=True, slots=True)
class Zoom:
    """How the canvas is looked at."""

    scale: float = 1.0
    """Pixels of the screen for one of the canvas."""
    ratio: float = 1.0
    """Pixels of the device for one of the screen."""

    @property
    def device_scale(self) -> float:
        return self.scale * self.ratio

    @property
    def detail(self) -> LevelOfDetail:
        if self.scale >= 0.6:
            return LevelOfDetail.FULL
        return LevelOfDetail.NAME if self.scale >= 0.33 else LevelOfDetail.COLOR


def readable(pixels: float, scale: float) -> bool:
    """Whether text of that size on the canvas can be read at this scale."""
    return pixels * scale >= SMALLEST_TEXT - 0.2
