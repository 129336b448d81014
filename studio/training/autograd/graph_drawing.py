"""Arrangement of an autograd graph as arrays, to find what is visible in a rectangle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.training.autograd.graph_arrangement import HEIGHT, TITLE, WIDTH, Arrangement, Ends, Frame, Point
from studio.training.autograd.graph_outline import Key

Rows = NDArray[np.intp]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True)
class GraphDrawing:
    """What a view draws: items, frames and edges in rows of arrays."""

    keys: tuple[Key, ...]
    rows: dict[Key, int]
    boxes: NDArray[Any]
    """Left, top, right and bottom of each item."""
    frames: tuple[Frame, ...]
    ends: tuple[Ends, ...]
    points: tuple[tuple[Point, ...], ...]
    """Points of each edge."""
    edge_boxes: NDArray[Any]
    width: float
    height: float

    @classmethod
    def of(cls, arrangement: Arrangement) -> GraphDrawing:
        keys = tuple(arrangement.positions)
        corners = np.array([arrangement.positions[key] for key in keys], float).reshape(-1, 2)
        boxes = np.hstack([corners, corners + np.array([WIDTH, HEIGHT])])
        points = tuple(arrangement.edges.values())
        edge_boxes = [
            (min(x), min(y), max(x), max(y)) for x, y in (zip(*each, strict=True) for each in points)
        ]  # fmt: skip
        return cls(
            keys, {key: row for row, key in enumerate(keys)}, boxes, arrangement.frames, tuple(arrangement.edges),
            points, np.array(edge_boxes, float).reshape(-1, 4), arrangement.width, arrangement.height,
        )  # fmt: skip

    def items_in(self, box: Box) -> Rows:
        """Rows of the items that a rectangle touches."""
        return _touching(self.boxes, box)

    def edges_in(self, box: Box) -> Rows:
        """Rows of the edges whose surrounding rectangle touches another one."""
        return _touching(self.edge_boxes, box)

    def frames_in(self, box: Box) -> list[Frame]:
        left, top, right, bottom = box
        return [
            frame
            for frame in self.frames
            if frame.x <= right
            and frame.y <= bottom
            and frame.x + frame.width >= left
            and frame.y + frame.height >= top
        ]

    def item_at(self, x: float, y: float) -> Key | None:
        """The item at a point."""
        found = self.items_in((x, y, x, y))
        return self.keys[int(found[-1])] if len(found) else None

    def title_at(self, x: float, y: float) -> str | None:
        """The expanded group whose title is at a point."""
        found = [
            frame.path
            for frame in self.frames
            if frame.x <= x <= frame.x + frame.width and frame.y <= y <= frame.y + TITLE
        ]
        return found[-1] if found else None

    def box_of(self, key: Key) -> Box | None:
        """Surrounding rectangle of an item or frame; None if it is not shown."""
        if (row := self.rows.get(key)) is not None:
            left, top, right, bottom = map(float, self.boxes[row])
            return left, top, right, bottom
        frame = next((each for each in self.frames if each.path == key), None)
        return None if frame is None else (frame.x, frame.y, frame.x + frame.width, frame.y + frame.height)


def _touching(boxes: NDArray[Any], box: Box) -> Rows:
    left, top, right, bottom = box
    inside = (boxes[:, 0] <= right) & (boxes[:, 1] <= bottom) & (boxes[:, 2] >= left) & (boxes[:, 3] >= top)
    return np.flatnonzero(inside)
