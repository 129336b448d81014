"""Push nodes to the right of inserted or widened nodes. Does not use Qt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from studio.ui.canvas.geometry import GRID, Box, snap_up

Positions = dict[str, tuple[float, float]]

MIN_GAP = 2.0 * GRID
"""Minimum gap between pushed neighbors."""
WIRE_LENGTH = 14.0 * GRID
"""Wire length that has space for the shape of an image batch."""


def shifted_clear_of(box: Box, others: Iterable[Box]) -> Box:
    """Move a new node right until it overlaps no node that starts to its left."""
    others = sorted(others)
    for other in others:
        if other.left < box.left and box.meets(_widened(other)):
            box = box.moved(snap_up(other.right + MIN_GAP) - box.left, 0)
    return box


def push_right(
    boxes: Mapping[str, Box], box: Box, name: str = "", *, ahead: Mapping[str, float] | None = None
) -> Positions:
    """The places of the nodes to push right so that none lies under `box`, the new bounds of node `name`.

    Everything that begins at or right of the first node in the way moves by one distance, which can make no two of
    the others meet. `ahead` maps nodes further right to the distance that they keep even in another row.
    """
    wanted = dict(ahead or {})
    for other, place in boxes.items():
        if place.left >= box.left and _widened(box).meets(place):
            wanted.setdefault(other, MIN_GAP)
    wanted.pop(name, None)
    steps = {other: snap_up(box.right + gap - boxes[other].left) for other, gap in wanted.items()}
    steps = {other: step for other, step in steps.items() if step > 0}
    if not steps:
        return {}
    cut, step = min(boxes[other].left for other in steps), max(steps.values())
    return {
        other: (place.left + step, place.top) for other, place in boxes.items() if place.left >= cut and other != name
    }


def push_for_wider_nodes(boxes: Mapping[str, Box], widths: Mapping[str, float]) -> Positions:
    """The nodes to push right for nodes that were narrower before; `widths` are their old ones."""
    now = dict(boxes)
    for name in sorted((name for name in widths if name in boxes), key=lambda name: boxes[name].left):
        box = now[name]
        right = {other: place for other, place in now.items() if place.left >= box.left + widths[name]}
        places = push_right(right, box, name)
        now |= {other: Box(x, y, x + now[other].width, y + now[other].height) for other, (x, y) in places.items()}
    return {name: (box.left, box.top) for name, box in now.items() if box != boxes[name]}


def _widened(box: Box) -> Box:
    return Box(box.left, box.top, box.right + MIN_GAP, box.bottom)
