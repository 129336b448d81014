"""Blocks of rows that fit into the CPU cache, for kernels that pass over rows several times.

A softmax of 4 MB reads and writes main memory five times. In blocks it does so once and takes a third of the time
(benchmarks/operators.py). On a GPU all rows are one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from engine.ops.matrix_products import SMALL_VECTOR_WORK, matrix_product
from engine.system.blas_threads import ONE_THREAD

_ELEMENTS = 3 << 14
"""Elements of one block: 192 kB in single precision."""

_LINE = 64
"""Bytes of a cache line."""


def row_blocks(xp: Any, rows: int, width: int) -> Iterator[slice]:
    """Slices of rows, one for each block."""
    step = block_rows(xp, rows, width)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def block_rows(xp: Any, rows: int, width: int) -> int:
    """Number of rows of a block."""
    if xp is not np or rows * width <= _ELEMENTS:
        return rows or 1
    return _ELEMENTS // width or 1


def scratch(xp: Any, rows: int, width: int, dtype: Any) -> Any:
    """Temporary array for one block, aligned to a cache line. NumPy writes to unaligned memory at half the speed."""
    rows = block_rows(xp, rows, width)
    if xp is not np:
        return xp.empty((rows, width), dtype)
    size = rows * width * dtype.itemsize
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size].view(dtype).reshape(rows, width)


def as_rows(array: Any, dims: int = 1) -> Any:
    """`array` as a matrix with the last `dims` dimensions as rows; a view if it is contiguous."""
    width = 1
    for size in array.shape[array.ndim - dims :]:
        width *= size
    return array.reshape(array.size // width if width else 0, width)


def sums(xp: Any, x: Any) -> Any:
    """Sums of rows as a column, by a matrix product, which is four times as fast as `sum`."""
    return matrix_product(xp, x, xp.ones((x.shape[1], 1), x.dtype))


def row_dots(xp: Any, x: Any, y: Any) -> Any:
    """Dot products of rows as a column. `vecdot` takes half the time of `einsum`; CuPy does not have it."""
    if xp is not np:
        return xp.einsum("ij,ij->i", x, y)[:, None]
    with ONE_THREAD if x.shape[1] > SMALL_VECTOR_WORK else nullcontext():
        return np.vecdot(x, y)[:, None]
