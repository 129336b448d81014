"""Rows in blocks that stay in the processor's cache while a kernel passes over them several times.

A softmax of 4 MB in one go reads and writes memory five times; block by block it does so once, which takes a third of
the time (benchmarks/operators.py). A GPU takes everything at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_ELEMENTS = 1 << 15
"""Of one block: 128 kB in single precision."""


def row_blocks(xp: Any, rows: int, width: int) -> Iterator[slice]:
    """Slices that together are all rows."""
    step = max(1, _ELEMENTS // max(width, 1)) if xp is np else max(rows, 1)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


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
