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
        if other.left < box.left and box.overlaps(_widened(other)):
            box = box.moved(snap_up(other.right + MIN_GAP) - box.left, 0)
    return box


def push_right(
    boxes: Mapping[str, Box],
    box: Box,
    name: str = "",
    *,
    ahead: Mapping[str, float] | None = None,
    wires: Iterable[tuple[str, str]] = (),
) -> Positions:
    """New positions of the nodes to push right so that none overlaps `box`, the new bounds of node `name`.

    The nodes that overlap it, the nodes in their way, and the nodes that their wires lead to on the right move by the
    same distance, so no new overlaps result. Other rows and branches stay in place.
    `ahead` maps nodes to their minimum distance from `box`, which they keep even in another row.
    `wires` are the source and target nodes of the wires.
    """
    gaps = dict(ahead or {})
    for other, other_box in boxes.items():
        if other_box.left >= box.left and _widened(box).overlaps(other_box):
            gaps.setdefault(other, MIN_GAP)
    gaps.pop(name, None)
    steps = {other: snap_up(box.right + gap - boxes[other].left) for other, gap in gaps.items()}
    steps = {other: step for other, step in steps.items() if step > 0}
    if not steps:
        return {}
    step = max(steps.values())
    others = {other: other_box for other, other_box in boxes.items() if other != name}
    pushed = _pushed(steps, others, step, wires)
    return {other: (box.left + step, box.top) for other, box in others.items() if other in pushed}


def _pushed(first: Iterable[str], boxes: Mapping[str, Box], step: float, wires: Iterable[tuple[str, str]]) -> set[str]:
    """The nodes that move right by `step` together with the nodes `first`."""
    sources: dict[str, list[str]] = {}
    for source, target in wires:
        if source in boxes and target in boxes and boxes[source].right <= boxes[target].left:
            sources.setdefault(target, []).append(source)
    pushed = set(first)
    in_reach: list[Box] = []
    """Areas that pushed nodes move across and that end right of the current node."""
    for name, box in sorted(boxes.items(), key=lambda item: item[1].left):
        in_reach = [area for area in in_reach if area.right > box.left]
        if name in pushed or not pushed.isdisjoint(sources.get(name, ())) or any(map(box.overlaps, in_reach)):
            pushed.add(name)
            in_reach.append(_widened(Box(box.left, box.top, box.right + step, box.bottom)))
    return pushed


def push_for_wider_nodes(
    boxes: Mapping[str, Box], widths: Mapping[str, float], wires: Iterable[tuple[str, str]] = ()
) -> Positions:
    """New positions of the nodes to push right for nodes that became wider; `widths` are their previous widths."""
    current, wires = dict(boxes), tuple(wires)
    for name in sorted((name for name in widths if name in boxes), key=lambda name: boxes[name].left):
        box = current[name]
        right = {other: each for other, each in current.items() if each.left >= box.left + widths[name]}
        for other, (x, y) in push_right(right, box, name, wires=wires).items():
            current[other] = Box(x, y, x + current[other].width, y + current[other].height)
    return {name: (box.left, box.top) for name, box in current.items() if box != boxes[name]}


def _widened(box: Box) -> Box:
    return Box(box.left, box.top, box.right + MIN_GAP, box.bottom)
