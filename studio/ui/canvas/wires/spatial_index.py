"""Boxes in a grid of cells, to find those that intersect a box. Does not use Qt."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from studio.ui.canvas.geometry import Box

_WIDTH, _HEIGHT = 512.0, 256.0
"""Size of a cell."""
_MAX_CELLS = 256
"""A box that covers more cells is compared with every query instead."""

K = TypeVar("K", bound=Hashable)


class SpatialIndex(Generic[K]):
    """The box of each item. Faster than the index of QGraphicsScene, which wraps each item that it finds."""

    def __init__(self) -> None:
        self._boxes: dict[K, Box] = {}
        self._cells: dict[tuple[int, int], dict[K, Box]] = {}
        self._large: dict[K, Box] = {}

    def get(self, item: K) -> Box | None:
        return self._boxes.get(item)

    def place(self, item: K, box: Box) -> None:
        """Add an item, or change its box."""
        if self._boxes.get(item) == box:
            return
        self.remove(item)
        self._boxes[item] = box
        if _cell_count(box) > _MAX_CELLS:
            self._large[item] = box
            return
        for cell in _cells(box):
            self._cells.setdefault(cell, {})[item] = box

    def remove(self, item: K) -> None:
        """Remove an item, if it is present."""
        box = self._boxes.pop(item, None)
        if box is None or self._large.pop(item, None) is not None:
            return
        for cell in _cells(box):
            found = self._cells[cell]
            del found[item]
            if not found:
                del self._cells[cell]

    def near(self, area: Box) -> dict[K, Box]:
        """Items whose boxes touch an area."""
        left, top, right, bottom = area
        if _cell_count(area) > len(self._boxes):
            candidates = [self._boxes]
        else:
            candidates = [self._large, *(self._cells[cell] for cell in _cells(area) if cell in self._cells)]
        return {
            item: box
            for boxes in candidates
            for item, box in boxes.items()
            if box[0] <= right and left <= box[2] and box[1] <= bottom and top <= box[3]
        }


def _cell_count(box: Box) -> float:
    return (box.width // _WIDTH + 2) * (box.height // _HEIGHT + 2)


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    columns = range(int(box[0] // _WIDTH), int(box[2] // _WIDTH) + 1)
    rows = range(int(box[1] // _HEIGHT), int(box[3] // _HEIGHT) + 1)
    return ((column, row) for row in rows for column in columns)
