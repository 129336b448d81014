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
    around = bounds(boxes)
    if around is None:
        return 0.0
    boxes = [around] if len(boxes) > _MAX_BOXES else boxes
    enlarged = (Box(box.left, box.top - MIN_GAP, box.right, box.bottom + MIN_GAP) for box in others)
    obstacles = [box for box in enlarged if box.left < around.right and around.left < box.right]
    dy = 0.0
    for _ in range(_MAX_STEPS):
        obstacles = [box for box in obstacles if box.bottom > around.top + dy]  # the others are above
        near = [box for box in obstacles if box.top < around.bottom + dy]
        moved = [box.moved(0, dy) for box in boxes]
        steps = [other.bottom - box.top for box in moved for other in near if box.overlaps(other)]
        if not steps:
            break
        dy = snap_up(dy + max(min(steps), 1.0))
    return dy


__all__ = ["shift_to_room"]
