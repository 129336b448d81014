"""Dropout masks, with the random bits of `engine.random`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import Routine, background_kernel, implements
from engine.compiler.kernels.thread_pool import call_words
from engine.ops.dropout_ops import dropout_mask
from engine.random.philox import State, keep_mask
from engine.shape import count

_WORDS = 8
"""Elements per block of random bits."""
_NANOSECONDS = 4.0
"""Estimated nanoseconds per element."""


class DropoutMask:
    """`dropout_mask`."""

    def __init__(self, size: int) -> None:
        self.module = background_kernel("dropout_mask", np.dtype(np.float32))
        self._call = call_words(-(-size // _WORDS), size * _NANOSECONDS)
        self._address = self._call.ctypes.data

    def __call__(self, x: Any, out: Any, p: float, state: State) -> None:
        kernel = self.module.function
        if kernel is None:
            out[...] = keep_mask(state, out.size, p).reshape(out.shape)
            return
        least = math.ceil(float(np.float32(p)) * 2**24) << 8
        kernel(self._address, id(out), state.seed, state.stream, state.offset, least, out.size)


@implements(dropout_mask, strided=True)
def _(node: IRNode) -> Routine | None:
    return DropoutMask(count(node.out.shape))


__all__: list[str] = []
