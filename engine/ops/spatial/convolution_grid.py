"""Where the matrix products of a convolution are computed, and what kernel positions see and add to there.

A kernel position is either in the columns, whose rows are what it sees of each channel, or in the rows of the
product, where its part of the sum stands until it is added to the output, as far away as it is shifted. With the last
dimensions of a kernel in the columns and the first in the product, 3×3 takes three copies and three additions instead
of nine copies, in long runs, and the product is square, which it is fastest for.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import count

Sizes: TypeAlias = tuple[int, ...]

CACHE_BYTES = 3 << 19
"""Of columns and product together, measured by benchmarks/convolution.py: what is around is in the third level."""
MOST_BYTES = 8 << 20
"""For a large weight, or a sample that is better not divided."""
_ROWS_OVER_REACH = 32
"""As many times what two neighboring blocks both compute should be in each, if there is room for it."""
_MACS_IN_COPY = 20
"""As many multiplications take as long as it does to copy a number, or to add it."""
_USUAL_BYTES = 4
"""Of a number."""


@dataclass(frozen=True, slots=True)
class ConvolutionGrid:
    """Positions of a product: those of the input in the first `lead` dimensions, those of the output in the others.

    In the first a stride s means that a position of the input adds to every s-th of the output: the output has s
    phases there. In the others it means that one of the output sees every s-th of the input.
    """

    windows: SlidingWindows
    sizes: Sizes
    output_sizes: Sizes
    inner: int
    outer: int
    groups: int
    lead: int = 0

    def cost(self) -> float:
        """In numbers added. Columns count more than once: a matrix product copies them again."""
        copies = 1.5 * self.inner * len(self.in_columns) + self.outer * len(self.in_product)
        products = self.inner * self.outer * count(self.windows.kernel) / _MACS_IN_COPY
        most = self.most_rows(_USUAL_BYTES)
        again = (most + sum(self.reach())) / most if most < self.shape[0] else 1
        return count(self.shape) * again * (copies + products)

    @property
    def _rows(self) -> int:
        """Of columns and of the product, for one group."""
        return self.inner * len(self.in_columns) + self.outer * len(self.in_product)

    def groups_at_once(self, itemsize: int) -> int:
        """As many groups as have room with a whole sample."""
        one = max(1, count(self.shape) * self._rows * itemsize)
        return max(1, min(self.groups, CACHE_BYTES // one))

    def row_bytes(self, itemsize: int) -> int:
        return max(1, count(self.shape[1:]) * self._rows * self.groups_at_once(itemsize) * itemsize)

    def most_rows(self, itemsize: int) -> int:
        """How many rows of one sample are computed at a time."""
        row = self.row_bytes(itemsize)
        return max(1, CACHE_BYTES // row, min(MOST_BYTES // row, _ROWS_OVER_REACH * sum(self.reach())))

    @property
    def shape(self) -> Sizes:
        output_sizes = (-(-size // stride) for size, stride in zip(self.output_sizes, self.windows.stride, strict=True))
        return (*map(max, self.sizes[: self.lead], output_sizes), *self.output_sizes[self.lead :])

    @property
    def in_columns(self) -> list[Sizes]:
        """The kernel positions of the last dimensions."""
        return self.windows.split_kernel(self.lead)[1]

    @property
    def in_product(self) -> list[Sizes]:
        """The kernel positions of the first dimensions."""
        return self.windows.split_kernel(self.lead)[0]

    @property
    def fills_output(self) -> bool:
        """Whether each phase of the output is that of a kernel position."""
        return len({self.shift(at)[0] for at in self.in_product}) == count(self.windows.stride[: self.lead])

    def reach(self) -> tuple[int, int]:
        """Numbers of grid rows before and after an output row that contribute to it."""
        shifts = [self.shift(at)[1][0] for at in self.in_product] if self.lead else [0]
        return max(0, -min(shifts)), max(0, *shifts)

    def shift(self, at: Sequence[int]) -> tuple[Sizes, Sizes]:
        """What a kernel position adds to, in the first dimensions: the phase, and from how much further on."""
        offsets = [(self.offset(axis, at[axis]), self.windows.stride[axis]) for axis in range(self.lead)]
        further = (-(-offset // stride) for offset, stride in offsets)
        return tuple(-offset % stride for offset, stride in offsets), tuple(further)

    def offset(self, axis: int, index: int) -> int:
        return index * self.windows.dilation[axis] - self.windows.padding[axis]


@functools.lru_cache(maxsize=256)
def cheapest(grid: ConvolutionGrid, turned: bool = False) -> ConvolutionGrid:
    """With the best `lead` that there can be. A stride is one of the input, or of the output if `turned`."""
    strided = [axis for axis, stride in enumerate(grid.windows.stride) if stride > 1]
    first = strided[-1] + 1 if strided and turned else 0
    last = strided[0] if strided and not turned else len(grid.sizes)
    return min((replace(grid, lead=lead) for lead in range(first, last + 1)), key=ConvolutionGrid.cost)
