"""Attention head by head, in memory that stays in the CPU cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.instruction import has_scalars
from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import FLOATS, Routine, implements, library_kernel
from engine.compiler.kernels.thread_pool import aligned, call_words, workspace
from engine.ops.fused_attention import attention_backward, attention_backward_packed, scaled_dot_product_attention_op

_BYTES = 64
BLOCK = 72
"""Rows of weights that are processed together in the backward pass: a multiple of both tile heights, 6 and 8."""
_NANOSECONDS = 0.03
"""Estimated nanoseconds per multiply-add."""
_SPARE = 64
"""Padding behind arrays that are summed in lanes."""


class AttentionLayout:
    """Memory layout of one attention. Rows are positions: `length` of queries, `size` of keys."""

    def __init__(
        self, query: Sequence[int], key: Sequence[int], value: Sequence[int], causal: bool, dtype: Any
    ) -> None:
        batch, self.heads, length, inner = query
        size, outer = key[2], value[3]
        lanes = _BYTES // dtype.itemsize
        self.itemsize = dtype.itemsize
        pitch, broad, deep = (-(-one // lanes) * lanes for one in (size, outer, inner))
        forward = _buffer_offsets([inner * pitch, size * broad, 8 * pitch + _SPARE, 8 * broad], dtype)
        backward = _buffer_offsets(
            [outer * pitch, size * deep, length * deep, length * broad, BLOCK * pitch + _SPARE, size * deep,
             size * broad, 8 * deep, pitch + _SPARE], dtype,
        )  # fmt: skip
        self.settings = np.zeros(42, np.int64)
        self.settings[:8] = self.heads, length, size, inner, outer, causal, pitch, broad
        self.settings[20:23] = forward[1:4]
        self.settings[23:33] = deep, BLOCK, *backward[1:9]
        self._bytes = aligned(max(forward[-1], backward[-1]))
        count = batch * self.heads
        self._call = call_words(
            count, count * length * size * (inner + outer) * _NANOSECONDS, workspace_bytes=self._bytes
        )

    def set_strides(self, at: int, array: Any) -> Any:
        """Stores the strides of an array of heads, or of a copy with contiguous rows."""
        if array.strides[3] != self.itemsize:
            array = np.ascontiguousarray(array)
        self.settings[at : at + 3] = [step // self.itemsize for step in array.strides[:3]]
        return array

    def run(self, function: Any, *arguments: Any) -> None:
        function(self._call.ctypes.data, id(self.settings), *arguments, workspace(self._bytes))


def _buffer_offsets(sizes: list[int], dtype: Any) -> list[int]:
    """Offsets of buffers of these sizes, and the end of the last one."""
    found = [0]
    for size in sizes:
        found.append(found[-1] + -(-size * dtype.itemsize // _BYTES) * _BYTES + _BYTES)
    return found


class Attend:
    """`scaled_dot_product_attention`."""

    def __init__(self, attention: AttentionLayout, dtype: Any) -> None:
        self._attention, self._kernel = attention, library_kernel("attend", dtype)

    def __call__(self, query: Any, key: Any, value: Any, scale: float, out: Any, weights: Any) -> None:
        set_strides = self._attention.set_strides
        arrays = [set_strides(8, query), set_strides(11, key), set_strides(14, value)]
        set_strides(17, out.transpose(0, 2, 1, 3))
        self._attention.run(self._kernel, *map(id, arrays), id(out), id(weights), scale)


class AttendBackward:
    """`attention_backward`, also with results in one array."""

    def __init__(self, attention: AttentionLayout, dtype: Any) -> None:
        self._attention, self._kernel = attention, library_kernel("attend_backward", dtype)

    def __call__(
        self, g: Any, query: Any, key: Any, value: Any, weights: Any, first: float, second: float, *out: Any
    ) -> None:
        set_strides = self._attention.set_strides
        arrays = [
            set_strides(17, g),
            set_strides(8, query),
            set_strides(11, key),
            set_strides(14, value),
            np.ascontiguousarray(weights),
        ]
        if len(out) == 1:
            results = list(next(iter(out)).transpose(2, 0, 3, 1, 4))
        else:
            results = [one.transpose(0, 2, 1, 3) for one in out]
        for at, one in zip((33, 36, 39), results, strict=True):
            set_strides(at, one)
        self._attention.run(self._kernel, *map(id, arrays), *map(id, results), first, second)


def _attention(node: IRNode, first: int) -> tuple[AttentionLayout, Any] | None:
    if has_scalars(node.statics):  # the op was called directly; passes use operands for the factors
        return None
    query, key, value = node.values[first : first + 3]
    if any(one.dtype != node.out.dtype for one in node.values) or node.out.dtype not in FLOATS:
        return None
    return AttentionLayout(
        query.shape, key.shape, value.shape, bool(node.statics["causal"]), node.out.dtype
    ), node.out.dtype


@implements(scaled_dot_product_attention_op, strided=True)
def _(node: IRNode) -> Routine | None:
    found = _attention(node, 0)
    return None if found is None else Attend(*found)


@implements(attention_backward, strided=True)
@implements(attention_backward_packed, strided=True)
def _(node: IRNode) -> Routine | None:
    found = _attention(node, 1)
    return None if found is None else AttendBackward(*found)


__all__ = ["BLOCK"]
