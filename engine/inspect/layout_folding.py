"""Fold a layered layout that is wider than the window into rows below each other, like lines of text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

_SEARCH = 0.3
"""A row ends within this part of its width from the width of equal rows."""
_CROSSING = 200.0
"""An edge that is cut counts as much as this distance from the width of equal rows."""
_SAME_ROWS = 0.9
"""The number of rows does not grow for a smaller gain in scale than this factor."""
_KEPT = 0.85
"""Earlier rows are kept if the window shows them at this part of the best scale."""
_LANE = 8.0
"""Height for each edge from a row to a later one."""


class Window(NamedTuple):
    """The window that a layout should fit."""

    width: float
    height: float
    readable: float
    """The scale at which details can be read. A layout that fits at this scale is not folded further."""


@dataclass(frozen=True, slots=True)
class Columns(Generic[K]):
    """A layered layout of one component before folding."""

    ranks: Mapping[K, int]
    lefts: Sequence[float]
    widths: Sequence[float]
    tops: Mapping[K, float]
    heights: Mapping[K, float]
    links: Sequence[tuple[K, K]]

    @property
    def width(self) -> float:
        return self.lefts[-1] + self.widths[-1]


def fold(
    components: Sequence[Columns[K]], window: Window, gap: float, before: Mapping[K, tuple[float, float]]
) -> dict[K, tuple[float, float]]:
    """Positions of all nodes: components below each other, each in as many rows as let the window show them largest.

    Args:
        gap: vertical distance of rows and components
        before: earlier positions; rows keep their ends if that fits almost as well, so that little moves
    """
    best: tuple[float, dict[K, tuple[float, float]]] = (0.0, {})
    widest = max((columns.width for columns in components), default=0.0)
    for rows in range(1, _max_rows(components, window) + 1):
        starts = [_row_starts(each, math.ceil(each.width * rows / widest)) for each in components]
        scale, positions = _folded(components, starts, window, gap)
        if not best[1] or scale * _SAME_ROWS > best[0] or scale >= window.readable:
            best = scale, positions
        if scale >= window.readable:
            break
    scale, positions = _folded(components, [_earlier_row_starts(each, before) for each in components], window, gap)
    return positions if scale >= _KEPT * best[0] else best[1]


def _folded(
    components: Sequence[Columns[K]], starts: Sequence[Sequence[int]], window: Window, gap: float
) -> tuple[float, dict[K, tuple[float, float]]]:
    """The scale at which the window shows the components in these rows, and the positions."""
    parts = [_in_rows(each, rows, gap) for each, rows in zip(components, starts, strict=True)]
    positions, size = _stacked(parts, gap)
    return min(window.width / size[0], window.height / size[1], 1.0), positions


def _max_rows(components: Sequence[Columns[K]], window: Window) -> int:
    """About twice as many rows as fill the window's shape."""
    area = sum(columns.width * max(_height(columns), 100.0) for columns in components)
    widest = max((columns.width for columns in components), default=0.0)
    columns_count = max((len(columns.lefts) for columns in components), default=1)
    width = math.sqrt(max(area, 1.0) * window.width / window.height)
    return min(columns_count, 2 * math.ceil(widest / width) + 2)


def _height(columns: Columns[K]) -> float:
    return max(columns.tops[name] + columns.heights[name] for name in columns.ranks) - min(
        columns.tops[name] for name in columns.ranks
    )


def _in_rows(
    columns: Columns[K], starts: Sequence[int], gap: float
) -> tuple[dict[K, tuple[float, float]], tuple[float, float]]:
    """Positions of a component in rows that start with these columns, and its size."""
    row_of = [0] * len(columns.lefts)
    for row, (first, last) in enumerate(pairwise((*starts, len(row_of)))):
        row_of[first:last] = [row] * (last - first)
    rows: list[list[K]] = [[] for _ in starts]
    for name, rank in columns.ranks.items():
        rows[row_of[rank]].append(name)
    returning = Counter(
        row_of[columns.ranks[target]]
        for source, target in columns.links
        if row_of[columns.ranks[source]] < row_of[columns.ranks[target]]
    )
    positions: dict[K, tuple[float, float]] = {}
    bottom = right = 0.0
    for row, names in enumerate(rows):
        top = min(columns.tops[name] for name in names)
        down = bottom - top + (gap + _LANE * (returning[row] - 1) if row else 0.0)
        left = columns.lefts[starts[row]]
        for name in names:
            positions[name] = columns.lefts[columns.ranks[name]] - left, columns.tops[name] + down
        bottom = max(positions[name][1] + columns.heights[name] for name in names)
        last = starts[row + 1] - 1 if row + 1 < len(starts) else len(columns.lefts) - 1
        right = max(right, columns.lefts[last] + columns.widths[last] - left)
    return positions, (right, bottom)


def _row_starts(columns: Columns[K], rows: int) -> list[int]:
    """The first column of each row: few edges are cut, and rows are about equally wide."""
    if rows < 2:
        return [0]
    cut = _cut_edges(columns)
    each = columns.width / rows
    starts = [0]
    for row in range(1, rows):
        ideal = row * each
        reach = _SEARCH * each
        candidates = [
            rank for rank in range(starts[-1] + 1, len(columns.lefts)) if abs(columns.lefts[rank] - ideal) <= reach
        ]
        if candidates:
            costs = [_CROSSING * cut[rank] + abs(columns.lefts[rank] - ideal) for rank in candidates]
            starts.append(candidates[costs.index(min(costs))])
    return starts


def _cut_edges(columns: Columns[K]) -> list[int]:
    """Number of outputs whose edges go from before each column to it or a later one."""
    last: dict[K, int] = {}
    for source, target in columns.links:
        last[source] = max(last.get(source, 0), columns.ranks[target])
    changes = [0] * (len(columns.lefts) + 1)
    for source, rank in last.items():
        changes[columns.ranks[source] + 1] += 1
        changes[rank + 1 if rank + 1 < len(changes) else -1] -= 1
    total, found = 0, []
    for change in changes[:-1]:
        total += change
        found.append(total)
    return found


def _earlier_row_starts(columns: Columns[K], before: Mapping[K, tuple[float, float]]) -> list[int]:
    """The columns that began a row before: their nodes were left of those of the previous column."""
    lefts: list[float] = [math.inf] * len(columns.lefts)
    for name, rank in columns.ranks.items():
        if name in before:
            lefts[rank] = min(lefts[rank], before[name][0])
    return [0, *(rank + 1 for rank, (left, right) in enumerate(pairwise(lefts)) if right < left < math.inf)]


def _stacked(
    parts: Sequence[tuple[dict[K, tuple[float, float]], tuple[float, float]]], gap: float
) -> tuple[dict[K, tuple[float, float]], tuple[float, float]]:
    """The parts below each other, and their size."""
    positions: dict[K, tuple[float, float]] = {}
    top = bottom = width = 0.0
    for part, size in parts:
        positions.update({name: (x, y + top) for name, (x, y) in part.items()})
        bottom = top + size[1]
        top = bottom + gap
        width = max(width, size[0])
    return positions, (max(width, 1.0), max(bottom, 1.0))
