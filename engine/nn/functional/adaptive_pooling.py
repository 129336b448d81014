"""Pooling to a given output size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.amp.cast_policy import cast_by_name
from engine.dtypes import get_default_dtype, int64
from engine.errors import ShapeError
from engine.nn.functional.batch_dimension import add_batch_dimension
from engine.nn.functional.pooling import avg_pool1d, avg_pool2d, avg_pool3d
from engine.ops.indexing.gather import gather_op
from engine.ops.spatial.resample import averages, check_result_size, resample, spans
from engine.shape import Dim, count, format_shape
from engine.tensors import Tensor

OutputSizes: TypeAlias = int | Sequence[int | None] | None


def adaptive_avg_pool1d(input: Tensor, output_size: OutputSizes) -> Tensor:
    """Average pooling of ``(N, C, L)`` to the length `output_size`."""
    return _average_pool("adaptive_avg_pool1d", input, output_size, 1)


def adaptive_avg_pool2d(input: Tensor, output_size: OutputSizes) -> Tensor:
    """Average pooling of ``(N, C, H, W)`` to the size `output_size`; None keeps a size."""
    return _average_pool("adaptive_avg_pool2d", input, output_size, 2)


@cast_by_name
def adaptive_avg_pool3d(input: Tensor, output_size: OutputSizes) -> Tensor:
    """Average pooling of ``(N, C, D, H, W)`` to the size `output_size`; None keeps a size."""
    return _average_pool("adaptive_avg_pool3d", input, output_size, 3)


def adaptive_max_pool1d(input: Tensor, output_size: OutputSizes, return_indices: bool = False) -> Any:
    """Max pooling of ``(N, C, L)`` to the length `output_size`."""
    return _max_pool("adaptive_max_pool1d", input, output_size, return_indices, 1)


def adaptive_max_pool2d(input: Tensor, output_size: OutputSizes, return_indices: bool = False) -> Any:
    """Max pooling of ``(N, C, H, W)`` to the size `output_size`; None keeps a size."""
    return _max_pool("adaptive_max_pool2d", input, output_size, return_indices, 2)


@cast_by_name
def adaptive_max_pool3d(input: Tensor, output_size: OutputSizes, return_indices: bool = False) -> Any:
    """Max pooling of ``(N, C, D, H, W)`` to the size `output_size`; None keeps a size."""
    return _max_pool("adaptive_max_pool3d", input, output_size, return_indices, 3)


_AVERAGE_POOLS = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}


def _average_pool(name: str, input: Tensor, output_size: OutputSizes, ndim: int) -> Tensor:
    input, unbatched = add_batch_dimension(name, input, ndim)
    input = input if input.is_floating_point() else input.to(get_default_dtype())
    sizes, out_sizes = tuple(input.shape[2:]), _output_sizes(name, input, output_size, ndim)
    if all(out_size == 1 for out_size in out_sizes) and input.is_floating_point():
        input = input.mean(tuple(range(2, 2 + ndim)), True)
    elif all(size % out_size == 0 for size, out_size in zip(sizes, out_sizes, strict=True)):
        input = _AVERAGE_POOLS[ndim](
            input, tuple(size // out_size for size, out_size in zip(sizes, out_sizes, strict=True))
        )
    else:
        for axis, (size, out_size) in enumerate(zip(sizes, out_sizes, strict=True)):
            if size != out_size:
                input = resample(input, dim=2 + axis, table=averages(size, out_size))
    return input.squeeze(0) if unbatched else input


def _max_pool(name: str, input: Tensor, output_size: OutputSizes, return_indices: bool, ndim: int) -> Any:
    input, unbatched = add_batch_dimension(name, input, ndim)
    sizes, out_sizes = tuple(input.shape[2:]), _output_sizes(name, input, output_size, ndim)
    flat, windows = input.flatten(2), input.new_tensor(_window_indices(sizes, out_sizes), dtype=int64)
    elements = windows.reshape(1, 1, -1).expand(*input.shape[:2], windows.numel())
    window_values = gather_op(flat.detach(), elements, dim=2).reshape(*input.shape[:2], *windows.shape)
    best = window_values.argmax(-1, True)
    indices = gather_op(windows.expand(window_values.shape), best, dim=-1).squeeze(-1)
    shape = (*input.shape[1 if unbatched else 0 : 2], *out_sizes)
    values = gather_op(flat, indices, dim=2).reshape(shape)
    return (values, indices.reshape(shape)) if return_indices else values


def _output_sizes(name: str, input: Tensor, output_size: OutputSizes, ndim: int) -> tuple[Any, ...]:
    sizes: Any = output_size if isinstance(output_size, Sequence) else (output_size,) * ndim
    if len(sizes) != ndim:
        raise ShapeError(f"{name}: the output size must have {ndim} numbers, not {len(sizes)}: {sizes}")
    out_sizes = tuple(
        size if out_size is None else out_size for out_size, size in zip(sizes, input.shape[2:], strict=True)
    )
    if any(not isinstance(out_size, Dim) and out_size < 1 for out_size in out_sizes):
        raise ShapeError(f"{name}: the output size must be at least 1, not {format_shape(out_sizes)}")
    if 0 in input.shape[1:]:
        raise ShapeError(f"{name}: only the batch size may be 0, but the input is {format_shape(input.shape)}")
    return out_sizes


def _window_indices(sizes: tuple[int, ...], out_sizes: tuple[int, ...]) -> Any:
    """Flat indices of the elements of each window, (windows, elements); shorter windows repeat the last element."""
    check_result_size(count(out_sizes))
    found = np.zeros((1, 1), np.int64)
    for size, out_size in zip(sizes, out_sizes, strict=True):
        index = spans(size, out_size)[0].T
        found = (found[:, None, :, None] * size + index[None, :, None, :]).reshape(len(found) * out_size, -1)
    return found
