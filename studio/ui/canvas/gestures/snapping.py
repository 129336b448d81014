"""Snap moved boxes to the grid and to the edges of neighbors, with guide lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from studio.ui.canvas.geometry import Box, snap

_Edges = tuple[float, float, float]
_AXES: tuple[Literal["x", "y"], ...] = ("x", "y")


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
    columns, rows = ([_edges(box, axis) for box in neighbors] for axis in _AXES)
    x, y = _nearest(_edges(target, "x"), columns, reach), _nearest(_edges(target, "y"), rows, reach)
    dx = dx + x if x is not None else to_grid(moved.left + dx) - moved.left
    dy = dy + y if y is not None else to_grid(moved.top + dy) - moved.top
    target = moved.moved(dx, dy)
    guides = (*_guides("x", target, neighbors, columns), *_guides("y", target, neighbors, rows))
    return SnapResult(dx, dy, guides)


def _nearest(edges: _Edges, others: Sequence[_Edges], reach: float) -> float | None:
    """The smallest shift that aligns equal edges."""
    low, middle, high = edges
    shifts = [shift for a, b, c in others for shift in (a - low, b - middle, c - high)]
    best = min(shifts, key=abs, default=None)
    return best if best is not None and abs(best) <= reach else None


def _guides(
    axis: Literal["x", "y"], target: Box, neighbors: Sequence[Box], edges: Sequence[_Edges]
) -> list[AlignmentGuide]:
    found: dict[float, AlignmentGuide] = {}
    own = _edges(target, axis)
    for other, its in zip(neighbors, edges, strict=True):
        for mine, theirs in zip(own, its, strict=True):
            if abs(mine - theirs) < 0.01:
                low, high = _span(axis, target, other)
                old = found.get(theirs)
                found[theirs] = (
                    AlignmentGuide(axis, theirs, min(low, old.low), max(high, old.high))
                    if old
                    else AlignmentGuide(axis, theirs, low, high)
                )
    return list(found.values())


def _edges(box: Box, axis: Literal["x", "y"]) -> _Edges:
    """Both edges and the center between them."""
    left, top, right, bottom = box
    return (left, (left + right) / 2, right) if axis == "x" else (top, (top + bottom) / 2, bottom)


def _span(axis: Literal["x", "y"], a: Box, b: Box) -> tuple[float, float]:
    if axis == "x":
        return min(a.top, b.top), max(a.bottom, b.bottom)
    return min(a.left, b.left), max(a.right, b.right)
