"""LSTM layers over all steps. Threads share the sequences, which are independent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from engine.compiler.ir import IRNode
from engine.compiler.kernels.library.routines import FLOATS, Routine, implements, library_kernel
from engine.compiler.kernels.thread_pool import aligned, call_words, workspace
from engine.ops.recurrent.lstm import lstm_layer, lstm_layer_backward

_ROWS = 8
"""Maximum rows of a tile."""
_MAX_PARTS = 4
"""Maximum parts of a batch in the forward pass, because each part packs the weight."""
_NANOSECONDS = 0.03
"""Estimated nanoseconds per multiply-add."""
_SEQUENCES = 32
"""Sequences per partial sum."""


def _broad(size: int, dtype: Any) -> int:
    lanes = 64 // dtype.itemsize
    return -(-size // lanes) * lanes


def _buffer_offsets(sizes: Sequence[int]) -> list[int]:
    """Offsets of arrays of these sizes in the work space, and the end of the last one."""
    return [0, *accumulate(aligned(size) for size in sizes)]


class LstmForward:
    """The forward pass."""

    def __init__(self, steps: int, batch: int, size: int, backwards: bool, dtype: Any) -> None:
        wide = _broad(4 * size, dtype) * dtype.itemsize
        *self._offsets, self._bytes = _buffer_offsets([size * wide, 3 * size * 8, _ROWS * wide])
        self._sizes = steps, batch, size, int(backwards)
        work = steps * batch * 4 * size * size * _NANOSECONDS
        self._call = call_words(batch, work, workspace_bytes=self._bytes, max_parts=_MAX_PARTS, multiple_of=_ROWS)
        self._kernel = library_kernel("lstm", dtype)

    def __call__(
        self, gates: Any, h: Any, c: Any, weight: Any, _: Any, out: Any, last_h: Any, last_c: Any, values: Any,
        cells: Any,
    ) -> None:  # fmt: skip
        arrays = [id(one) for one in (gates, h, c, weight, out, last_h, last_c, values, cells)]
        self._kernel(self._call.ctypes.data, *self._sizes, *arrays, *self._offsets, workspace(self._bytes))


class LstmBackward:
    """The backward pass. The weight's gradient is summed in parts of the sequences, which are added in order."""

    def __init__(self, steps: int, batch: int, size: int, backwards: bool, dtype: Any) -> None:
        wide = _broad(size, dtype) * dtype.itemsize
        parts = max(1, batch // _SEQUENCES)
        most = -(-batch // parts)
        *self._offsets, self._bytes = _buffer_offsets([
            4 * size * wide, (12 * size + most) * 8, most * wide, most * wide, wide, wide, (4 * size + _ROWS) * wide
        ])  # fmt: skip
        self._sizes = steps, batch, size, int(backwards)
        work = 2 * steps * batch * 4 * size * size * _NANOSECONDS
        self._call = call_words(parts, work, workspace_bytes=self._bytes, max_parts=parts)
        self._sums = np.empty((parts, 4 * size, size), dtype)
        self._kernel = library_kernel("lstm_backward", dtype)

    def __call__(
        self, values: Any, cells: Any, result: Any, h: Any, c: Any, weight: Any, _: Any, result_grad: Any, h_grad: Any,
        c_grad: Any, gates_grad: Any, dh: Any, dc: Any, weight_grad: Any, projection_grad: Any,
    ) -> None:  # fmt: skip
        for out, initial in ((dh, h_grad), (dc, c_grad)):
            if initial is None:
                out.fill(0)
            else:
                np.copyto(out, initial)
        read = [np.asarray(one, None, order="C") for one in (values, cells, result, h, c, weight)]
        step_stride = sequence_stride = 0
        strided_grad = values
        if result_grad is not None:
            strided_grad = result_grad if _has_rows(result_grad) else np.ascontiguousarray(result_grad)
            step_stride, sequence_stride = (step // strided_grad.itemsize for step in strided_grad.strides[:2])
        numbers = [*self._sizes, step_stride, sequence_stride, *map(id, (*read, strided_grad, dh, dc, gates_grad))]
        self._kernel(
            self._call.ctypes.data, *numbers, *self._offsets, self._sums.ctypes.data, len(self._sums),
            workspace(self._bytes),
        )  # fmt: skip
        np.copyto(weight_grad, self._sums[0])
        for part in self._sums[1:]:
            np.add(weight_grad, part, out=weight_grad)


def _has_rows(array: Any) -> bool:
    """Whether the numbers of a sequence at one step are contiguous and steps do not overlap."""
    return array.strides[2] == array.itemsize and array.strides[0] > 0


def _fits(node: IRNode, projection: Any) -> bool:
    plain = node.statics["batch_sizes"] is None and getattr(projection, "value", 0) is None
    return plain and node.out.dtype in FLOATS


@implements(lstm_layer)
def _(node: IRNode) -> Routine | None:
    steps, batch, size = node.out.shape
    if not _fits(node, node.inputs[4]):
        return None
    return LstmForward(steps, batch, size, node.statics["reverse"], node.out.dtype)


@implements(lstm_layer_backward, strided=True)
def _(node: IRNode) -> Routine | None:
    steps, batch, width = node.out.shape
    if not _fits(node, node.inputs[6]):
        return None
    return LstmBackward(steps, batch, width // 4, node.statics["reverse"], node.out.dtype)


__all__: list[str] = []
