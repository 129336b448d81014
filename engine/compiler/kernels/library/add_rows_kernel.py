"""Adds rows at indices of the first dimension, as the gradient of an embedding does. Bits are those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import FLOATS, Routine, background_kernel, implements
from engine.compiler.kernels.thread_pool import call_words
from engine.ops.indexing.index import TensorSlot, index_backward
from engine.shape import count

_NANOSECONDS = 0.4
"""Estimated nanoseconds per element."""
_LINE = 16
"""Parts have a multiple of this number of columns."""


class AddRows:
    """`index_backward`."""

    def __init__(self, node: IRNode) -> None:
        x, index = node.values
        self._statics = node.statics
        self._sizes = count(index.shape), node.out.shape[0], count(node.out.shape[1:])
        self._call = call_words(self._sizes[2], count(x.shape) * _NANOSECONDS, multiple_of=_LINE)
        self._address = self._call.ctypes.data
        self._module = background_kernel("add_rows", node.out.dtype)

    def __call__(self, x: Any, index: Any, out: Any) -> None:
        kernel, size = self._module.function, self._sizes[1]
        if kernel is None or index.min() < -size or index.max() >= size:  # NumPy raises the error
            np.copyto(out, index_backward.kernel(np, x, index, **self._statics))
            return
        kernel(self._address, id(x), id(index), id(out), *self._sizes)


@implements(index_backward)
def _(node: IRNode) -> Routine | None:
    if len(node.values) != 2 or node.statics["layout"] != (TensorSlot(0),):
        return None
    x, index = node.values
    fits = x.dtype == node.out.dtype and x.dtype in FLOATS and index.dtype == np.int64
    return AddRows(node) if fits and x.shape == (*index.shape, *node.out.shape[1:]) else None


__all__: list[str] = []
