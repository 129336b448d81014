"""Products of matrices, of which each element is one sum from the first to the last, on every CPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from engine.compiler.graph import Node
from engine.compiler.kernels.library.routine import FLOATS, Routine, computes, kernel
from engine.compiler.kernels.team import TEAM, shares, workspace
from engine.ops.linalg.matmul import matmul
from engine.shape import count

_LEAST = 1 << 17
"""Multiply-adds from which on this is faster than NumPy."""
_PANEL, _DEPTH, _TALL = 128, 192, 504
"""Bytes of a row of a panel, its rows, and rows of the first factor that are taken together."""
_FEW = 4
"""With so many times more columns than rows, the factors change places: then less is copied."""


class Product:
    """`matmul` of an array and a matrix."""

    def __init__(self, rows: int, columns: int, depth: int, dtype: Any) -> None:
        self._depth, self._columns, self._itemsize = depth, columns, dtype.itemsize
        self._work = rows * columns * depth
        self._bytes = self._room(rows, columns)
        self._kernel = kernel("multiply", dtype)

    def _room(self, rows: int, columns: int) -> int:
        panel = _PANEL // self._itemsize
        whole = -(-max(rows, columns) // panel) * panel
        turned = columns * (-(-rows // panel) * panel) if rows * _FEW <= columns else 0
        return (whole * _DEPTH + (_TALL + 16) * _DEPTH + max(turned, rows * panel)) * self._itemsize

    def __call__(self, left: Any, right: Any, out: Any) -> None:
        left, size = left if left.ndim == 2 else left.reshape(-1, self._depth), self._itemsize
        (row, step), (down, across) = left.strides, right.strides
        rows, columns, turned = len(left), self._columns, 0
        first, second = left, right
        if down < across and rows * _FEW <= columns:
            first, second, turned = right, left, 1
            rows, columns = columns, rows
            row, step, down, across = across, down, step, row
        given = (id(first), id(second), id(out), self._depth, row // size, step // size, down // size, across // size,
                 self._columns, turned)  # fmt: skip
        by_column = columns * size >= 4 * _PANEL and turned == 0
        unit = _PANEL // size if by_column else 14
        whole = columns if by_column else rows
        parts = shares(-(-whole // unit), self._work)
        if len(parts) == 1:
            self._run(given, 0, rows, 0, columns)
            return
        tasks = []
        for begin, end in parts:
            own = begin * unit, min(end * unit, whole)
            tasks.append(partial(self._run, given, *((0, rows, *own) if by_column else (*own, 0, columns))))
        TEAM.run(tasks)

    def _run(self, given: tuple[int, ...], *share: int) -> None:
        self._kernel(*given, workspace(self._bytes), *share)


@computes(matmul, strided=True, leading=False)
def _(node: Node) -> Routine | None:
    left, right = node.values
    dtype = node.out.dtype
    if len(left.shape) < 2 or len(right.shape) != 2 or dtype not in FLOATS or len({left.dtype, right.dtype, dtype}) > 1:
        return None
    depth, columns = right.shape
    rows = count(left.shape[:-1])
    return Product(rows, columns, depth, np.dtype(dtype)) if rows * columns * depth >= _LEAST else None


__all__: list[str] = []
