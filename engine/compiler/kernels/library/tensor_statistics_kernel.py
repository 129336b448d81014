"""Statistics of a tensor, block by block, and its dead units."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import Routine, implements, library_kernel
from engine.compiler.kernels.thread_pool import call_words
from engine.ops.reduction.tensor_statistics import dead_share, tensor_statistics
from engine.shape import count

_BLOCK, _ROW = 4096, 8
"""Elements of a block, and numbers that the kernel stores for it."""
_NANOSECONDS = 0.15
"""Estimated nanoseconds per element."""


class TensorStatistics:
    """`tensor_statistics` of float32 elements."""

    def __init__(self, size: int) -> None:
        self._kernel = library_kernel("tensor_statistics", np.dtype(np.float32))
        blocks = -(-size // _BLOCK)
        self._size, self._partial = size, np.empty(blocks * _ROW)
        self._call = call_words(blocks, size * _NANOSECONDS)
        self._address = self._call.ctypes.data

    def __call__(self, x: Any, out: Any) -> None:
        self._kernel(self._address, id(x), id(self._partial), id(out), self._size)


class DeadShare:
    """`dead_share` of float32 elements.

    Args:
        shape: the sizes before, of and after the dimension of the units
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self._kernel = library_kernel("dead_share", np.dtype(np.float32))
        self._shape = shape

    def __call__(self, x: Any, out: Any) -> None:
        self._kernel(id(x), id(out), *self._shape)


@implements(tensor_statistics)
def _(node: IRNode) -> Routine | None:
    [x] = node.values
    return TensorStatistics(count(x.shape)) if x.dtype == np.float32 else None


@implements(dead_share)
def _(node: IRNode) -> Routine | None:
    [x], dim = node.values, node.statics["dim"]
    dim %= len(x.shape)
    shape = count(x.shape[:dim]), x.shape[dim], count(x.shape[dim + 1 :])
    return DeadShare(shape) if x.dtype == np.float32 else None


__all__: list[str] = []
