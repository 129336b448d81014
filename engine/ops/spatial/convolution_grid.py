"""The grid of positions on which the matrix products of a convolution are computed.

A kernel position is either in the columns (im2col: a shifted copy of each input channel is one row of the column
matrix) or in the product (its rows of the product are added, shifted, to the output). With the last dimensions of
the kernel in the columns and the first in the product, a 3×3 kernel takes three copies and three additions instead of
nine copies. They run over long contiguous memory, and the matrices are nearly square, which BLAS multiplies fastest.
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
"""Memory of columns and product of a block, measured by benchmarks/convolution.py."""
MAX_BYTES = 8 << 20
"""The same limit for a large weight, and for a sample with a large halo."""
_ROWS_PER_HALO_ROW = 32
"""Rows of a block for each halo row, which neighboring blocks both compute, if `MAX_BYTES` allows."""
_MACS_PER_COPY = 20
"""Multiply-adds that take as long as copying or adding one number."""
_TYPICAL_ITEMSIZE = 4
"""Bytes of a number in cost estimates."""


@dataclass(frozen=True, slots=True)
class ConvolutionGrid:
    """Grid positions: of the input in the first `lead` spatial dimensions, of the output in the others.

    A stride s of a first dimension is one of the output: an input position adds to every s-th output position, so the
    output has s phases. In the other dimensions an output position reads every s-th input position.
    """

    windows: SlidingWindows
    sizes: Sizes
    output_sizes: Sizes
    inner: int
    outer: int
    groups: int
    lead: int = 0

    def cost(self) -> float:
        """Estimated time, in additions of one number. Columns count 1.5 times: matrix products copy them again."""
        copies = 1.5 * self.inner * len(self.column_positions) + self.outer * len(self.product_positions)
        products = self.inner * self.outer * count(self.windows.kernel) / _MACS_PER_COPY
        rows = self.max_rows(_TYPICAL_ITEMSIZE)
        recomputed = (rows + sum(self.halo())) / rows if rows < self.shape[0] else 1
        return count(self.shape) * recomputed * (copies + products)

    @property
    def _matrix_rows(self) -> int:
        """Rows of the columns and of the product together, for one group."""
        return self.inner * len(self.column_positions) + self.outer * len(self.product_positions)

    def groups_per_block(self, itemsize: int) -> int:
        """How many groups of one sample fit into the cache."""
        group_bytes = max(1, count(self.shape) * self._matrix_rows * itemsize)
        return max(1, min(self.groups, CACHE_BYTES // group_bytes))

    def row_bytes(self, itemsize: int) -> int:
        return max(1, count(self.shape[1:]) * self._matrix_rows * self.groups_per_block(itemsize) * itemsize)

    def max_rows(self, itemsize: int) -> int:
        """Number of rows of one sample in a block."""
        row_bytes = self.row_bytes(itemsize)
        return max(1, CACHE_BYTES // row_bytes, min(MAX_BYTES // row_bytes, _ROWS_PER_HALO_ROW * sum(self.halo())))

    @property
    def shape(self) -> Sizes:
        output_sizes = (-(-size // stride) for size, stride in zip(self.output_sizes, self.windows.stride, strict=True))
        return (*map(max, self.sizes[: self.lead], output_sizes), *self.output_sizes[self.lead :])

    @property
    def column_positions(self) -> list[Sizes]:
        """Kernel positions in the columns: those of the last dimensions."""
        return self.windows.split_kernel(self.lead)[1]

    @property
    def product_positions(self) -> list[Sizes]:
        """Kernel positions in the product: those of the first dimensions."""
        return self.windows.split_kernel(self.lead)[0]

    @property
    def fills_output(self) -> bool:
        """Whether every output phase receives a product; otherwise the output must start as zeros."""
        phases = {self.shift(position)[0] for position in self.product_positions}
        return len(phases) == count(self.windows.stride[: self.lead])

    def halo(self) -> tuple[int, int]:
        """Numbers of grid rows before and after a row of the output that contribute to it."""
        shifts = [self.shift(position)[1][0] for position in self.product_positions] if self.lead else [0]
        return max(0, -min(shifts)), max(0, *shifts)

    def shift(self, position: Sequence[int]) -> tuple[Sizes, Sizes]:
        """Output phase and shift, in grid positions, of the product of a kernel position, for the first dimensions."""
        offsets = [(self.offset(axis, position[axis]), self.windows.stride[axis]) for axis in range(self.lead)]
        steps = (-(-offset // stride) for offset, stride in offsets)
        return tuple(-offset % stride for offset, stride in offsets), tuple(steps)

    def offset(self, axis: int, index: int) -> int:
        return index * self.windows.dilation[axis] - self.windows.padding[axis]


@functools.lru_cache(maxsize=256)
def cheapest(grid: ConvolutionGrid, is_transposed: bool = False) -> ConvolutionGrid:
    """`grid` with the `lead` of lowest cost. The stride is of the input, or of the output if `is_transposed`."""
    strided = [axis for axis, stride in enumerate(grid.windows.stride) if stride > 1]
    first = strided[-1] + 1 if strided and is_transposed else 0
    last = strided[0] if strided and not is_transposed else len(grid.sizes)
    return min((replace(grid, lead=lead) for lead in range(first, last + 1)), key=ConvolutionGrid.cost)
