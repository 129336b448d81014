"""Points, boxes and the grid, in pixels at 100% zoom. Does not use Qt."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

GRID = 8
"""Distance of the grid lines in pixels at 100% zoom."""

Side = Literal["input", "output"]


class Point(NamedTuple):
    x: float
    y: float


class Box(NamedTuple):
    """A rectangle by its edges."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def center(self) -> Point:
        return Point((self.left + self.right) / 2, (self.top + self.bottom) / 2)

    def overlaps(self, other: Box) -> bool:
        """Whether the two have more than an edge in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def moved(self, dx: float, dy: float) -> Box:
        return Box(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)


def snap(value: float) -> float:
    return float(round(value / GRID) * GRID)


def snap_up(value: float) -> float:
    return float(math.ceil(value / GRID) * GRID)


def bounds(boxes: Iterable[Box]) -> Box | None:
    """The smallest box around all of them; None if there are none."""
    boxes = tuple(boxes)
    if not boxes:
        return None
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))
