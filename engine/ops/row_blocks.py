"""Rows in blocks that stay in the processor's cache while a kernel passes over them several times.

A softmax of 4 MB in one go reads and writes memory five times; block by block it does so once, which takes a third of
the time (benchmarks/operators.py). A GPU takes everything at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_ELEMENTS = 3 << 14
"""Of one block: 192 kB in single precision."""

_LINE = 64
"""Bytes of a cache line."""


def row_blocks(xp: Any, rows: int, width: int) -> Iterator[slice]:
    """Slices that together are all rows."""
    step = block_rows(xp, rows, width)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def block_rows(xp: Any, rows: int, width: int) -> int:
    """The rows of one block."""
    if xp is not np or rows * width <= _ELEMENTS:
        return rows or 1
    return _ELEMENTS // width or 1


def scratch(xp: Any, rows: int, width: int, dtype: Any) -> Any:
    """Memory for one block that begins with a cache line: NumPy's ops write elsewhere at half the speed."""
    rows = block_rows(xp, rows, width)
    if xp is not np:
        return xp.empty((rows, width), dtype)
    size = rows * width * dtype.itemsize
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size].view(dtype).reshape(rows, width)


def as_rows(array: Any, dims: int = 1) -> Any:
    """`array` as a matrix whose rows are its last `dims` dimensions; a view where it is contiguous."""
    width = 1
    for size in array.shape[array.ndim - dims :]:
        width *= size
    return array.reshape(array.size // width if width else 0, width)


def sums(xp: Any, x: Any) -> Any:
    """The sums of rows as a column; as a matrix product four times as fast as `sum`."""
    return xp.matmul(x, xp.ones((x.shape[1], 1), x.dtype))


def row_dots(xp: Any, x: Any, y: Any) -> Any:
    """Σ x·y of each row as a column; CuPy has no `vecdot`, which takes half of the time."""
    return (np.vecdot(x, y) if xp is np else xp.einsum("ij,ij->i", x, y))[:, None]
