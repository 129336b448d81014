"""Copies and additions of each tile of a convolution grid, computed once for each grid."""

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
    """Positions to fill with zeros along spatial dimension `axis`."""

    axis: int
    positions: slice


class TileCopy(NamedTuple):
    """Copy for one kernel position.

    If `number` is `model`, `origin` of the source array is copied to `target` of the tile. Otherwise the flattened
    copy of kernel position `model` is copied, shifted by `flat_shift` elements.
    """

    number: int
    model: int
    flat_shift: int
    target: Slices
    origin: Slices
    edges: list[ZeroEdge]


class TileTerm(NamedTuple):
    """Product of one kernel position, added flattened and shifted by `flat_shift` elements, with zeros at `edges`."""

    number: int
    flat_shift: int
    edges: list[ZeroEdge]


class PhaseSum(NamedTuple):
    """Sum for one output phase: products `terms` are added to product `base` if it is unshifted, else to zeros.

    `origin` of the sum is written to `target` of the output.
    """

    base: int | None
    terms: list[TileTerm]
    origin: Slices
    target: Slices


@dataclass(frozen=True)
class GridTile:
    """Output rows (of each phase) and `span`: the grid rows needed to compute them."""

    grid: ConvolutionGrid
    rows: slice
    span: slice

    @cached_property
    def extent(self) -> Sizes:
        return (self.span.stop - self.span.start, *self.grid.shape[1:])

    @cached_property
    def columns(self) -> list[TileCopy]:
        """Copies of the input into the column matrix."""
        grid, dimensions = self.grid, []
        for axis, kernel in enumerate(grid.windows.kernel):
            stride, offsets = 1, [0]
            if axis >= grid.lead:
                stride, offsets = grid.windows.stride[axis], [grid.offset(axis, i) for i in range(kernel)]
            positions, valid = self._positions(axis), slice(0, grid.sizes[axis])
            dimensions.append([_overlap(positions, stride, offset, valid) for offset in offsets])
        return _copies(dimensions, self.extent)

    @cached_property
    def product_copies(self) -> list[TileCopy]:
        """Copies of the output gradient into the matrix multiplied by the columns; the stride must be 1."""
        grid, dimensions = self.grid, []
        for axis, kernel in enumerate(grid.windows.kernel):
            offsets = [grid.offset(axis, i) for i in range(kernel)] if axis < grid.lead else [0]
            rows = self.rows if axis == 0 else self._positions(axis)
            valid = slice(rows.start, min(rows.stop, grid.output_sizes[axis]))
            dimensions.append([_overlap(self._positions(axis), 1, -offset, valid) for offset in offsets])
        return _copies(dimensions, self.extent)

    @cached_property
    def sums(self) -> list[PhaseSum]:
        phases: dict[Sizes, list[tuple[int, Sizes]]] = {}
        for number, position in enumerate(self.grid.product_positions):
            phase, shift = self.grid.shift(position)
            phases.setdefault(phase, []).append((number, shift))
        result: list[PhaseSum] = []
        for phase, shifts in phases.items():
            base = next((number for number, shift in shifts if not any(shift)), None)
            terms = [TileTerm(n, _flat(shift, self.extent), self._beyond(shift)) for n, shift in shifts if any(shift)]
            result.append(PhaseSum(base, terms, *self._phase_slices(phase)))
        return result

    def _positions(self, axis: int) -> slice:
        return self.span if axis == 0 else slice(0, self.grid.shape[axis])

    def _beyond(self, shift: Sizes) -> list[ZeroEdge]:
        """The positions that `shift` moves out of the tile."""
        ends = (
            slice(0, steps) if steps > 0 else slice(max(0, size + steps), size)
            for steps, size in zip(shift, self.extent, strict=False)
        )
        return [ZeroEdge(axis, end) for axis, end in enumerate(ends) if end.start < end.stop]

    def _phase_slices(self, phase: Sizes) -> tuple[Slices, Slices]:
        """Slices of the sums of `phase` in the tile and in the output."""
        pairs: list[Pair] = []
        for axis, size in enumerate(self.grid.output_sizes):
            stride, shift = (self.grid.windows.stride[axis], phase[axis]) if axis < self.grid.lead else (1, 0)
            rows = self.rows if axis == 0 else self._positions(axis)
            source, target = _overlap(rows, stride, shift, slice(0, size))
            first_row = rows.start - self._positions(axis).start
            pairs.append((slice(source.start + first_row, source.stop + first_row), target))
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def blocks(grid: ConvolutionGrid, batch: int, itemsize: int) -> Iterator[tuple[slice, slice, GridTile]]:
    """Slices of samples and groups with a tile of rows, sized for the cache.

    A block reads the whole weight, so it may take up to twice the weight's memory.
    """
    tiles = _tiles(grid, itemsize)
    samples = 1
    if len(tiles) == 1:
        weight_bytes = grid.inner * grid.outer * grid.groups_per_block(itemsize) * count(grid.windows.kernel) * itemsize
        room = max(convolution_grid.CACHE_BYTES, min(convolution_grid.MAX_BYTES, 2 * weight_bytes))
        samples = max(1, room // (grid.row_bytes(itemsize) * max(1, grid.shape[0])))
    groups = list(_even(grid.groups, grid.groups_per_block(itemsize)))
    return ((part, group_part, tile) for part in _even(batch, samples) for group_part in groups for tile in tiles)


@functools.lru_cache(maxsize=256)
def _tiles(grid: ConvolutionGrid, itemsize: int) -> list[GridTile]:
    """One tile for a sample, or several tiles of rows for a large one."""
    total = grid.shape[0]
    before, after = grid.halo()
    return [
        GridTile(grid, rows, slice(max(0, rows.start - before), min(total, rows.stop + after)))
        for rows in _even(total, grid.max_rows(itemsize))
    ]


def _even(total: int, most: int) -> Iterator[slice]:
    """The fewest slices of at most `most` that cover `total`, of nearly equal length."""
    parts = -(-total // most)
    return (slice(total * i // parts, total * (i + 1) // parts) for i in range(parts))


def _overlap(positions: slice, stride: int, shift: int, valid: slice) -> Pair:
    """The positions p of `positions` with p · `stride` + `shift` in `valid`.

    Returns:
        their slice, counted from the first position, and the slice of p · `stride` + `shift`.
    """
    first = positions.start
    start = max(first, -((shift - valid.start) // stride))
    stop = max(start, min(positions.stop, (valid.stop - 1 - shift) // stride + 1))
    begin, end = start * stride + shift, (stop - 1) * stride + shift + 1
    return slice(start - first, stop - first), slice(begin, end, stride) if stop > start else slice(0, 0, 1)


def _copies(dimensions: list[list[Pair]], extent: Sizes) -> list[TileCopy]:
    """One copy for each kernel position, models before the copies that read them.

    Args:
        dimensions: for each spatial dimension and kernel index, the target and origin slices
        extent: sizes of the tile
    """
    models = [[_model(pairs, pair) for pair in pairs] for pairs in dimensions]
    indices = list(itertools.product(*(range(len(pairs)) for pairs in dimensions)))
    copies: list[TileCopy] = []
    for number, position in enumerate(indices):
        pairs = [dimension[i] for dimension, i in zip(dimensions, position, strict=True)]
        model = tuple(numbers[i] for numbers, i in zip(models, position, strict=True))
        shift = tuple(_shift(pair, dimension[i]) for pair, dimension, i in zip(pairs, dimensions, model, strict=True))
        target, origin = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        edges = [
            ZeroEdge(axis, end)
            for axis, (filled, size) in enumerate(zip(target, extent, strict=True))
            for end in (slice(0, filled.start), slice(filled.stop, size))
            if end.start < end.stop
        ]
        if any(filled.start == filled.stop for filled in target):
            model = position
        copies.append(TileCopy(number, indices.index(model), _flat(shift, extent), target, origin, edges))
    return sorted(copies, key=lambda copy: copy.number != copy.model)


def _model(pairs: list[Pair], pair: Pair) -> int:
    """The kernel index of this dimension whose origin contains that of `pair` and is the largest."""
    origin = pair[1]
    containing = [
        number
        for number, (_, other) in enumerate(pairs)
        if other.start <= origin.start and origin.stop <= other.stop and (origin.start - other.start) % origin.step == 0
    ]
    return max(containing, key=lambda number: pairs[number][1].stop - pairs[number][1].start)


def _shift(pair: Pair, model: Pair) -> int:
    """Distance between the origin of `pair` and that of `model`, in positions of the tile."""
    (target, origin), (model_target, model_origin) = pair, model
    return (origin.start - model_origin.start) // origin.step - (target.start - model_target.start)


def _flat(shift: Sequence[int], sizes: Sizes) -> int:
    """A shift along the first dimensions in elements of the flattened array."""
    offset = 0
    for steps, size in itertools.zip_longest(shift, sizes, fillvalue=0):
        offset = offset * size + steps
    return offset
