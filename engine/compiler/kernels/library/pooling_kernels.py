"""Max pooling of images and sequences, with the bits of the ops' kernels, so that plans do not wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import FLOATS, Routine, background_kernel, implements
from engine.compiler.kernels.thread_pool import call_words
from engine.ops.spatial.pool import max_pool_with_indices, window_scatter_add
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import count

_MAX_WINDOW_SIZE = 255
"""Maximum window size, because indices in a window are bytes."""


_MAX_STRIDE = 2
"""Maximum stride for vectorized comparison."""
_NANOSECONDS = 1.0
"""Estimated nanoseconds per window element."""


class MaxPoolRoutine:
    """Settings of windows, and the kernel."""

    def __init__(self, node: IRNode, name: str, x: Sequence[int], output_shape: Sequence[int]) -> None:
        windows: SlidingWindows = node.statics["windows"]
        sizes_by_kind = (x[2:], output_shape[2:], windows.kernel, windows.stride, windows.padding, windows.dilation)
        neutral = (1, 1, 1, 1, 0, 1)
        if len(x) == 3:
            sizes_by_kind = tuple((one, *sizes) for one, sizes in zip(neutral, sizes_by_kind, strict=True))
        self._settings = np.array([*(size for sizes in sizes_by_kind for size in sizes), windows.overlap])
        self._call = call_words(x[0] * x[1], count(output_shape) * count(windows.kernel) * _NANOSECONDS)
        self._address = self._call.ctypes.data
        self._module = background_kernel(name, node.out.dtype)
        self._op, self._statics = node.op, node.statics

    def __call__(self, *arrays: Any) -> None:
        kernel = self._module.function
        if kernel is None:
            inputs = len(arrays) - self._op.outputs
            found = self._op.kernel(np, *arrays[:inputs], **self._statics)
            for out, value in zip(arrays[inputs:], found if self._op.outputs > 1 else [found], strict=True):
                np.copyto(out, value)
            return
        kernel(self._address, id(self._settings), *map(id, arrays))


def _fits(node: IRNode) -> bool:
    windows: SlidingWindows = node.statics["windows"]
    return node.out.dtype in FLOATS and len(windows.kernel) <= 2 and count(windows.kernel) <= _MAX_WINDOW_SIZE


@implements(max_pool_with_indices)
def _(node: IRNode) -> Routine | None:
    (x,) = node.values
    near = node.statics["windows"].stride[-1] <= _MAX_STRIDE
    return MaxPoolRoutine(node, "max_windows", x.shape, node.out.shape) if near and _fits(node) else None


@implements(window_scatter_add)
def _(node: IRNode) -> Routine | None:
    g, number = node.values
    return (
        MaxPoolRoutine(node, "max_windows_backward", node.out.shape, g.shape)
        if number.dtype == np.uint8 and _fits(node)
        else None
    )


__all__: list[str] = []
