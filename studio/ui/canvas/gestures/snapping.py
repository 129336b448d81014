"""Snap moved boxes to the grid and to the edges of neighbors, with guide lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from studio.ui.canvas.geometry import Box, snap


@dataclass(frozen=True, slots=True)
class AlignmentGuide:
    """A guide line through aligned edges."""

    axis: Literal["x", "y"]
    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SnapResult:
    dx: float
    dy: float
    guides: tuple[AlignmentGuide, ...] = ()


def snap_to_neighbors(
    moved: Box,
    dx: float,
    dy: float,
    neighbors: Sequence[Box],
    reach: float,
    to_grid: Callable[[float], float] = snap,
) -> SnapResult:
    """The offset near (dx, dy) that puts `moved` on the grid or in line with a neighbor within `reach`."""
    target = moved.moved(dx, dy)
    x = _nearest(
        (target.left, target.center.x, target.right), [(b.left, b.center.x, b.right) for b in neighbors], reach
    )
    y = _nearest(
        (target.top, target.center.y, target.bottom), [(b.top, b.center.y, b.bottom) for b in neighbors], reach
    )
    dx = dx + x if x is not None else to_grid(moved.left + dx) - moved.left
    dy = dy + y if y is not None else to_grid(moved.top + dy) - moved.top
    target = moved.moved(dx, dy)
    guides = (*_guides("x", target, neighbors), *_guides("y", target, neighbors))
    return SnapResult(dx, dy, guides)


def _nearest(edges: Sequence[float], others: Sequence[Sequence[float]], reach: float) -> float | None:
    """The smallest shift that aligns equal edges."""
    shifts = [theirs - mine for other in others for mine, theirs in zip(edges, other, strict=True)]
    best = min(shifts, key=abs, default=None)
    return best if best is not None and abs(best) <= reach else None


def _guides(axis: Literal["x", "y"], target: Box, neighbors: Sequence[Box]) -> list[AlignmentGuide]:
    found: dict[float, AlignmentGuide] = {}
    for other in neighbors:
        for mine, theirs in zip(_edges(target, axis), _edges(other, axis), strict=True):
            if abs(mine - theirs) < 0.01:
                low, high = _span(axis, target, other)
                old = found.get(theirs)
                found[theirs] = (
                    AlignmentGuide(axis, theirs, min(low, old.low), max(high, old.high))
                    if old
                    else AlignmentGuide(axis, theirs, low, high)
                )
    return list(found.values())


def _edges(box: Box, axis: Literal["x", "y"]) -> tuple[float, float, float]:
    return (box.left, box.center.x, box.right) if axis == "x" else (box.top, box.center.y, box.bottom)


def _span(axis: Literal["x", "y"], a: Box, b: Box) -> tuple[float, float]:
    if axis == "x":
        return min(a.top, b.top), max(a.bottom, b.bottom)
    return min(a.left, b.left), max(a.right, b.right)
