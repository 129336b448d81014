"""Norms of many tensors in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import Routine, implements, library_kernel
from engine.compiler.kernels.thread_pool import call_words
from engine.ops.reduction.tensor_norms import tensor_norms
from engine.shape import count

_BLOCK = 16384
"""Elements of a block."""
_NANOSECONDS = 0.15
"""Estimated nanoseconds per element."""


class _NormKernel:
    """Calls the kernel for float32 arrays with these sizes. Raises LoweringUnsupported without a compiler."""

    def __init__(self, sizes: Sequence[int], reads: int) -> None:
        self._kernel = library_kernel("tensor_norms", np.dtype(np.float32))
        self._count = len(sizes)
        self._blocks = np.array(list(_blocks(sizes)), np.int64).reshape(-1, 4)
        self._ids, self._partial = np.empty(len(sizes), np.int64), np.empty((len(self._blocks), 2))
        self._call = call_words(len(self._blocks), sum(sizes) * reads * _NANOSECONDS)
        self._address = self._call.ctypes.data

    def _run(self, tensors: Sequence[Any], vector: int, out: Any) -> None:
        self._ids[:] = list(map(id, tensors))
        partial = id(self._partial)
        self._kernel(self._address, id(self._ids), id(self._blocks), vector, partial, id(out), self._count)


class TensorNorms(_NormKernel):
    """`tensor_norms` of C-ordered arrays."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__(sizes, reads=1)

    def __call__(self, *arrays: Any) -> None:
        *tensors, out = arrays
        self._run(tensors, 0, out)


class ChangeNorms(_NormKernel):
    """Norms of the parts of a vector, then norms of the differences between C-ordered arrays and these parts."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__(sizes, reads=2)
        self.size = sum(sizes)

    def __call__(self, vector: Any, tensors: Sequence[Any], out: Any) -> None:
        self._run(tensors, id(vector), out)


def _blocks(sizes: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """For each block its tensor, its first element in the tensor and in all of them, and its length."""
    before = 0
    for number, size in enumerate(sizes):
        for first in range(0, size, _BLOCK):
            yield number, first, before + first, min(_BLOCK, size - first)
        before += size


@implements(tensor_norms)
def _(node: IRNode) -> Routine | None:
    fits = all(x.dtype == np.float32 for x in node.values)
    return TensorNorms([count(x.shape) for x in node.values]) if fits else None


__all__ = ["ChangeNorms", "TensorNorms"]
