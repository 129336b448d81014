"""Room below nodes for copies of them. Does not use Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from studio.ui.canvas.geometry import Box, bounds, snap_up
from studio.ui.canvas.layout.push_nodes import MIN_GAP

_MAX_STEPS = 1000
_MAX_BOXES = 64
"""More boxes count as the rectangle around them, because each is compared with each other node."""


def shift_to_room(boxes: Sequence[Box], others: Iterable[Box]) -> float:
    """The distance to move boxes down, together, until none overlaps another node; 0 if there is room already."""
    if len(boxes) > _MAX_BOXES and (around := bounds(boxes)) is not None:
        boxes = [around]
    obstacles = [Box(box.left, box.top - MIN_GAP, box.right, box.bottom + MIN_GAP) for box in others]
    dy = 0.0
    for _ in range(_MAX_STEPS):
        moved = [box.moved(0, dy) for box in boxes]
        steps = [other.bottom - box.top for box in moved for other in obstacles if box.overlaps(other)]
        if not steps:
            break
        dy = snap_up(dy + max(min(steps), 1.0))
    return dy


__all__ = ["shift_to_room"]
