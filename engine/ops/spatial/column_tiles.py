"""What is copied and added in a part of a grid, worked out once."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from engine.ops.spatial import convolution_grid
from engine.ops.spatial.convolution_grid import ConvolutionGrid
from engine.shape import count

Sizes: TypeAlias = tuple[int, ...]
Slices: TypeAlias = tuple[slice, ...]
Pair: TypeAlias = tuple[slice, slice]


class ZeroEdge(NamedTuple):
    """Positions of a dimension, counted from the first spatial one, that are zero."""

    axis: int
    positions: slice


class TileCopy(NamedTuple):
    """What a position sees: in the source, or `distance` further on than what its model does, flat."""

    number: int
    model: int
    distance: int
    here: Slices
    there: Slices
    edges: list[ZeroEdge]


class TileTerm(NamedTuple):
    """A kernel position whose part is added from `distance` further on, flat, with zeros at the edges."""

    number: int
    distance: int
    edges: list[ZeroEdge]


class PhaseSum(NamedTuple):
    """A phase of the output: the part to which others are added, if one lies where the sum does."""

    base: int | None
    terms: list[TileTerm]
    here: Slices
    there: Slices


@dataclass(frozen=True)
class GridTile:
    """Rows of the output (of each phase of it), and those of the grid from which they are computed."""

    grid: ConvolutionGrid
    rows: slice
    span: slice

    @cached_property
    def extent(self) -> Sizes:
        return (self.span.stop - self.span.start, *self.grid.shape[1:])

    @cached_property
    def columns(self) -> list[TileCopy]:
        """What the positions in columns see of the input."""
        grid, dimensions = self.grid, []
        for axis, kernel in enumerate(grid.windows.kernel):
            stride, offsets = 1, [0]
            if axis >= grid.lead:
                stride, offsets = grid.windows.stride[axis], [grid.offset(axis, i) for i in range(kernel)]
            positions, wanted = self._positions(axis), slice(0, grid.sizes[axis])
            dimensions.append([_overlap(positions, stride, offset, wanted) for offset in offsets])
        return _copies(dimensions, self.extent)

    @cached_property
    def added_to(self) -> list[TileCopy]:
        """To what of the output the positions in the product add, which has no stride."""
        grid, dimensions = self.grid, []
        for axis, kernel in enumerate(grid.windows.kernel):
            offsets = [grid.offset(axis, i) for i in range(kernel)] if axis < grid.lead else [0]
            rows = self.rows if axis == 0 else self._positions(axis)
            wanted = slice(rows.start, min(rows.stop, grid.output_sizes[axis]))
            dimensions.append([_overlap(self._positions(axis), 1, -offset, wanted) for offset in offsets])
        return _copies(dimensions, self.extent)

    @cached_property
    def sums(self) -> list[PhaseSum]:
        phases: dict[Sizes, list[tuple[int, Sizes]]] = {}
        for number, at in enumerate(self.grid.in_product):
            phase, shift = self.grid.shift(at)
            phases.setdefault(phase, []).append((number, shift))
        found: list[PhaseSum] = []
        for phase, shifts in phases.items():
            base = next((number for number, shift in shifts if not any(shift)), None)
            terms = [TileTerm(n, _flat(shift, self.extent), self._beyond(shift)) for n, shift in shifts if any(shift)]
            found.append(PhaseSum(base, terms, *self._written(phase)))
        return found

    def _positions(self, axis: int) -> slice:
        return self.span if axis == 0 else slice(0, self.grid.shape[axis])

    def _beyond(self, shift: Sizes) -> list[ZeroEdge]:
        """What would be added beyond the part."""
        ends = (
            slice(0, far) if far > 0 else slice(max(0, size + far), size)
            for far, size in zip(shift, self.extent, strict=False)
        )
        return [ZeroEdge(axis, end) for axis, end in enumerate(ends) if end.start < end.stop]

    def _written(self, phase: Sizes) -> tuple[Slices, Slices]:
        """Where in the part the sums of a phase stand, and where they go in the output."""
        pairs: list[Pair] = []
        for axis, size in enumerate(self.grid.output_sizes):
            stride, shift = (self.grid.windows.stride[axis], phase[axis]) if axis < self.grid.lead else (1, 0)
            rows = self.rows if axis == 0 else self._positions(axis)
            here, there = _overlap(rows, stride, shift, slice(0, size))
            skipped = rows.start - self._positions(axis).start
            pairs.append((slice(here.start + skipped, here.stop + skipped), there))
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def blocks(grid: ConvolutionGrid, batch: int, itemsize: int) -> Iterator[tuple[slice, slice, GridTile]]:
    """Samples, groups and rows that take about the cache, or twice what the weight does, which each block reads."""
    parts = _parts(grid, itemsize)
    samples = 1
    if len(parts) == 1:
        weight_bytes = grid.inner * grid.outer * grid.groups_at_once(itemsize) * count(grid.windows.kernel) * itemsize
        room = max(convolution_grid.CACHE_BYTES, min(convolution_grid.MOST_BYTES, 2 * weight_bytes))
        samples = max(1, room // (grid.row_bytes(itemsize) * max(1, grid.shape[0])))
    groups = list(_even(grid.groups, grid.groups_at_once(itemsize)))
    return ((some, these, part) for some in _even(batch, samples) for these in groups for part in parts)


@functools.lru_cache(maxsize=256)
def _parts(grid: ConvolutionGrid, itemsize: int) -> list[GridTile]:
    """A whole sample, or its rows if that is too large."""
    number = grid.shape[0]
    before, after = grid.reach()
    return [
        GridTile(grid, rows, slice(max(0, rows.start - before), min(number, rows.stop + after)))
        for rows in _even(number, grid.most_rows(itemsize))
    ]


def _even(total: int, most: int) -> Iterator[slice]:
    """`total` in as few parts of at most `most` as there can be, about equal."""
    parts = -(-total // most)
    return (slice(total * i // parts, total * (i + 1) // parts) for i in range(parts))


def _overlap(positions: slice, stride: int, shift: int, wanted: slice) -> Pair:
    """Which positions times `stride`, plus `shift`, are wanted, counted from the first; and what that makes them."""
    first = positions.start
    start = max(first, -((shift - wanted.start) // stride))
    stop = max(start, min(positions.stop, (wanted.stop - 1 - shift) // stride + 1))
    here, end = start * stride + shift, (stop - 1) * stride + shift + 1
    return slice(start - first, stop - first), slice(here, end, stride) if stop > start else slice(0, 0, 1)


def _copies(dimensions: list[list[Pair]], extent: Sizes) -> list[TileCopy]:
    """For each position a copy; that of a model before those made from it."""
    models = [[_model(pairs, pair) for pair in pairs] for pairs in dimensions]
    indices = list(itertools.product(*(range(len(pairs)) for pairs in dimensions)))
    found: list[TileCopy] = []
    for number, at in enumerate(indices):
        pairs = [dimension[i] for dimension, i in zip(dimensions, at, strict=True)]
        model = tuple(chosen[i] for chosen, i in zip(models, at, strict=True))
        shift = tuple(_shift(pair, dimension[i]) for pair, dimension, i in zip(pairs, dimensions, model, strict=True))
        here, there = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        edges = [
            ZeroEdge(axis, end)
            for axis, (taken, size) in enumerate(zip(here, extent, strict=True))
            for end in (slice(0, taken.start), slice(taken.stop, size))
            if end.start < end.stop
        ]
        if any(taken.start == taken.stop for taken in here):
            model = at
        found.append(TileCopy(number, indices.index(model), _flat(shift, extent), here, there, edges))
    return sorted(found, key=lambda copy: copy.number != copy.model)


def _model(pairs: list[Pair], pair: Pair) -> int:
    """The position in this dimension that sees what `pair` does, and most besides."""
    there = pair[1]
    around = [
        number
        for number, (_, seen) in enumerate(pairs)
        if seen.start <= there.start and there.stop <= seen.stop and (there.start - seen.start) % there.step == 0
    ]
    return max(around, key=lambda number: pairs[number][1].stop - pairs[number][1].start)


def _shift(pair: Pair, model: Pair) -> int:
    """How much further on what a position sees stands among what its model sees."""
    (here, there), (first, seen) = pair, model
    return (there.start - seen.start) // there.step - (here.start - first.start)


def _flat(shift: Sequence[int], sizes: Sizes) -> int:
    """How far apart what is shifted in the first dimensions lies in memory."""
    distance = 0
    for far, size in itertools.zip_longest(shift, sizes, fillvalue=0):
        distance = distance * size + far
    return distance
