"""Where a new card goes: near its node, off other nodes and cards, and off wires if there is room. Does not use Qt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from studio.ui.canvas.geometry import GRID, Box, snap

_GAP = 16.0
"""Distance to nodes and cards."""
_STEP = 2.0 * GRID
_REACH = 480.0
"""Farthest distance to the node at which a place is looked for on all sides."""
_WIRE_COST = 200.0
"""How much farther a card is placed rather than on a wire."""


def place_card(
    node: Box, size: tuple[float, float], nodes: Iterable[Box], cards: Iterable[Box], is_wired: Callable[[Box], bool]
) -> tuple[float, float]:
    """The top left corner of a card: below its node if that is free, else the nearest free place.

    Args:
        is_wired: whether a wire passes through a box
    """
    taken = [Box(box.left - _GAP, box.top - _GAP, box.right + _GAP, box.bottom + _GAP) for box in (*nodes, *cards)]
    best: tuple[float, float, float] | None = None
    for cost, left, top in sorted(_places(node, size)):
        if best is not None and cost >= best[0]:
            break
        box = Box(left, top, left + size[0], top + size[1])
        if any(box.overlaps(other) for other in taken):
            continue
        whole = cost + (_WIRE_COST if is_wired(box) else 0.0)
        if best is None or whole < best[0]:
            best = whole, left, top
    if best is not None:
        return best[1], best[2]
    lowest = max((box.bottom for box in taken), default=node.bottom)
    return node.left, snap(lowest)


def _places(node: Box, size: tuple[float, float]) -> Iterator[tuple[float, float, float]]:
    """Candidates with their cost: the distance to the node, less below it than at its sides and above."""
    width, height = size
    left, top = snap(node.left), snap(node.bottom + _GAP)
    for x_at in _steps(left, left - _REACH - width, node.right + _REACH):
        for y_at in _steps(top, node.top - _REACH - height, node.bottom + _REACH):
            dx = max(node.left - (x_at + width), x_at - node.right, 0.0)
            dy = max(node.top - (y_at + height), y_at - node.bottom, 0.0)
            shift = abs(x_at - left) * 0.1 + abs(y_at - top) * 0.02
            yield dx + dy + shift + (40.0 if y_at < node.top else 0.0), x_at, y_at


def _steps(through: float, start: float, end: float) -> Iterator[float]:
    """Values at equal distances, one of them `through`."""
    first, last = int((start - through) // _STEP), int((end - through) // _STEP)
    return (through + index * _STEP for index in range(first, last + 1))


__all__ = ["place_card"]
