"""Where the matrix products of a convolution are computed, and what its places see and add to there.

A place of the kernel is either in the columns, whose rows are what it sees of each channel, or in the rows of the
product, where its part of the sum stands until it is added to the output, as far away as it is shifted. With the last
dimensions of a kernel in the columns and the first in the product, 3×3 takes three copies and three additions instead
of nine copies, in long runs, and the product is square, which it is fastest for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from engine.ops.spatial.windows import Windows
from engine.shape import count

Sizes: TypeAlias = tuple[int, ...]
Slices: TypeAlias = tuple[slice, ...]
Pair: TypeAlias = tuple[slice, slice]

_CACHE_BYTES = 3 << 20
"""Of columns and product together, measured by benchmarks/convolution.py: what is around is in the third level."""
_MOST_BYTES = 8 << 20
"""For a large weight, or a sample that is better not divided."""
_ROWS_OVER_REACH = 32
"""As many times what two neighbouring blocks both compute should be in each, if there is room for it."""
_MACS_IN_COPY = 20
"""As many multiplications take as long as it does to copy a number, or to add it."""
_USUAL_BYTES = 4
"""Of a number."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some samples, and the rows of the output (of each phase of it) that are computed from some of the grid."""

    samples: slice
    rows: slice
    span: slice


@dataclass(frozen=True, slots=True)
class Grid:
    """Positions of a product: those of the input in the first `lead` dimensions, those of the output in the others.

    In the first a stride s means that a position of the input adds to every s-th of the output: the output has s
    phases there. In the others it means that one of the output sees every s-th of the input.
    """

    windows: Windows
    sizes: Sizes
    places: Sizes
    inner: int
    outer: int
    groups: int
    lead: int = 0

    def cheapest(self, turned: bool = False) -> Grid:
        """With the best `lead` that there can be. A stride is one of the input, or of the output if `turned`."""
        strided = [axis for axis, stride in enumerate(self.windows.stride) if stride > 1]
        first = strided[-1] + 1 if strided and turned else 0
        last = strided[0] if strided and not turned else len(self.sizes)
        return min((replace(self, lead=lead) for lead in range(first, last + 1)), key=Grid._cost)

    def _cost(self) -> float:
        """In numbers added. Columns count more than once: a matrix product copies them again."""
        copies = 1.5 * self.inner * len(self.in_columns) + self.outer * len(self.in_product)
        products = self.inner * self.outer * count(self.windows.kernel) / _MACS_IN_COPY
        most = self._most_rows(_USUAL_BYTES)
        again = (most + sum(self._reach())) / most if most < self.shape[0] else 1
        return count(self.shape) * again * (copies + products)

    @property
    def _rows(self) -> int:
        """Of columns and of the product, for one group."""
        return self.inner * len(self.in_columns) + self.outer * len(self.in_product)

    def _row_bytes(self, itemsize: int) -> int:
        return max(1, count(self.shape[1:]) * self._rows * self.groups * itemsize)

    def _most_rows(self, itemsize: int) -> int:
        """How many rows of one sample are computed at a time."""
        row = self._row_bytes(itemsize)
        return max(1, _CACHE_BYTES // row, min(_MOST_BYTES // row, _ROWS_OVER_REACH * sum(self._reach())))

    @property
    def shape(self) -> Sizes:
        places = (-(-place // stride) for place, stride in zip(self.places, self.windows.stride, strict=True))
        return (*map(max, self.sizes[: self.lead], places), *self.places[self.lead :])

    @property
    def in_columns(self) -> list[Sizes]:
        """The places of the kernel's last dimensions."""
        return self.windows.split_kernel(self.lead)[1]

    @property
    def in_product(self) -> list[Sizes]:
        """The places of the kernel's first dimensions."""
        return self.windows.split_kernel(self.lead)[0]

    @property
    def fills_output(self) -> bool:
        """Whether each phase of the output is that of a place of the kernel."""
        return len({self.shift(at)[0] for at in self.in_product}) == count(self.windows.stride[: self.lead])

    def blocks(self, batch: int, itemsize: int) -> Iterator[Block]:
        """A batch in blocks that take about the cache each, or twice what the weight does, which each reads."""
        number, most = self.shape[0], self._most_rows(itemsize)
        if most >= number:
            weight_bytes = self.inner * self.outer * self.groups * count(self.windows.kernel) * itemsize
            room = max(_CACHE_BYTES, min(_MOST_BYTES, 2 * weight_bytes))
            samples = room // (self._row_bytes(itemsize) * max(1, number))
            for some in _even(batch, max(1, samples)):
                yield Block(some, slice(0, number), slice(0, number))
            return
        before, after = self._reach()
        for sample in range(batch):
            for rows in _even(number, most):
                span = slice(max(0, rows.start - before), min(number, rows.stop + after))
                yield Block(slice(sample, sample + 1), rows, span)

    def _reach(self) -> tuple[int, int]:
        """How many rows before its own, and after, a row of the output takes something from."""
        shifts = [self.shift(at)[1][0] for at in self.in_product] if self.lead else [0]
        return max(0, -min(shifts)), max(0, *shifts)

    def shift(self, at: Sequence[int]) -> tuple[Sizes, Sizes]:
        """What a place of the kernel adds to, in the first dimensions: the phase, and from how much further on."""
        offsets = [(self._offset(axis, at[axis]), self.windows.stride[axis]) for axis in range(self.lead)]
        further = (-(-offset // stride) for offset, stride in offsets)
        return tuple(-offset % stride for offset, stride in offsets), tuple(further)

    def _offset(self, axis: int, index: int) -> int:
        return index * self.windows.dilation[axis] - self.windows.padding[axis]

    def sees(self, block: Block) -> list[list[Pair]]:
        """For each dimension and place in columns: where among the columns stands what it sees, and where it is."""
        found: list[list[Pair]] = []
        for axis, (size, kernel) in enumerate(zip(self.shape, self.windows.kernel, strict=True)):
            positions, end = block.span if axis == 0 else slice(0, size), self.sizes[axis]
            if axis < self.lead:
                found.append([_overlap(positions, 1, 0, slice(0, end))])
            else:
                stride, offsets = self.windows.stride[axis], (self._offset(axis, i) for i in range(kernel))
                found.append([_overlap(positions, stride, offset, slice(0, end)) for offset in offsets])
        return found

    def takes(self, block: Block) -> list[list[Pair]]:
        """For each dimension and place in the product: where on the grid its part stands, and to what it is added."""
        found: list[list[Pair]] = []
        for axis, (size, kernel) in enumerate(zip(self.shape, self.windows.kernel, strict=True)):
            positions, rows = (block.span, block.rows) if axis == 0 else (slice(0, size), slice(0, size))
            wanted = slice(rows.start, min(rows.stop, self.places[axis]))
            offsets = [self._offset(axis, i) for i in range(kernel)] if axis < self.lead else [0]
            found.append([_overlap(positions, 1, -offset, wanted) for offset in offsets])
        return found

    def writes(self, block: Block, phase: Sizes) -> tuple[Slices, Slices]:
        """Where on the grid the sums of a phase stand, and where they go in the output."""
        pairs: list[Pair] = []
        for axis, (size, place) in enumerate(zip(self.shape, self.places, strict=True)):
            stride, shift = (self.windows.stride[axis], phase[axis]) if axis < self.lead else (1, 0)
            rows = block.rows if axis == 0 else slice(0, size)
            here, there = _overlap(rows, stride, shift, slice(0, place))
            skipped = rows.start - block.span.start if axis == 0 else 0
            pairs.append((slice(here.start + skipped, here.stop + skipped), there))
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)

    def extent(self, block: Block) -> Sizes:
        """Of a block's part of the grid."""
        return (block.span.stop - block.span.start, *self.shape[1:])


def _overlap(positions: slice, stride: int, shift: int, wanted: slice) -> Pair:
    """Which positions times `stride`, plus `shift`, are wanted, counted from the first; and what that makes them."""
    first = positions.start
    start = max(first, -((shift - wanted.start) // stride))
    stop = max(start, min(positions.stop, (wanted.stop - 1 - shift) // stride + 1))
    here, end = start * stride + shift, (stop - 1) * stride + shift + 1
    return slice(start - first, stop - first), slice(here, end, stride) if stop > start else slice(0, 0, 1)


def _even(total: int, most: int) -> Iterator[slice]:
    """`total` in as few parts of at most `most` as there can be, about equal."""
    parts = -(-total // most)
    return (slice(total * i // parts, total * (i + 1) // parts) for i in range(parts))
