"""Max, average and power-average pooling, and max unpooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.amp.cast_policy import cast_by_name
from engine.backend import META
from engine.dtypes import int64
from engine.errors import ShapeError
from engine.modes import MODES
from engine.nn.functional.batch_dimension import add_batch_dimension
from engine.ops.elementwise.arithmetic import div_trunc
from engine.ops.indexing.gather import gather_backward
from engine.ops.spatial.pool import flat_index, max_pool_with_indices, sum_pool
from engine.ops.spatial.sliding_windows import SlidingWindows, per_dim
from engine.shape import count, format_shape
from engine.tensors import Tensor

Sizes: TypeAlias = int | Sequence[int]


def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of ``(N, C, L)``; with `return_indices`, also their indices."""
    return _max_pool("max_pool1d", input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 1)


def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of ``(N, C, H, W)``; with `return_indices`, also their flat indices in ``H·W``."""
    return _max_pool("max_pool2d", input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 2)


@cast_by_name
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of ``(N, C, D, H, W)``; with `return_indices`, also their flat indices in ``D·H·W``."""
    return _max_pool("max_pool3d", input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 3)


@cast_by_name
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Partial inverse of `max_pool1d`: places the values at their indices; other elements are 0."""
    return _max_unpool("max_unpool1d", input, indices, kernel_size, stride, padding, output_size, 1)


@cast_by_name
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Partial inverse of `max_pool2d`: places the values at their indices; other elements are 0."""
    return _max_unpool("max_unpool2d", input, indices, kernel_size, stride, padding, output_size, 2)


@cast_by_name
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Partial inverse of `max_pool3d`: places the values at their indices; other elements are 0."""
    return _max_unpool("max_unpool3d", input, indices, kernel_size, stride, padding, output_size, 3)


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean over windows of ``(N, C, L)``."""
    return _avg_pool("avg_pool1d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean over windows of ``(N, C, H, W)``, or their sum divided by `divisor_override`."""
    return _avg_pool(
        "avg_pool2d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2
    )


@cast_by_name
def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean over windows of ``(N, C, D, H, W)``, or their sum divided by `divisor_override`."""
    return _avg_pool(
        "avg_pool3d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3
    )


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False
) -> Tensor:
    """``(Σ x^norm_type)^(1 / norm_type)`` over windows of ``(N, C, L)``."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``(Σ x^norm_type)^(1 / norm_type)`` over windows of ``(N, C, H, W)``."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``(Σ x^norm_type)^(1 / norm_type)`` over windows of ``(N, C, D, H, W)``."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)


def _stride(kernel_size: Sizes, stride: Sizes | None) -> Sizes:
    """The stride; None and () mean the kernel size."""
    return kernel_size if stride is None or stride in ((), []) else stride


def _windows(
    name: str, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, dilation: Sizes, ceil_mode: bool, ndim: int
) -> SlidingWindows:
    arguments = {"kernel_size": kernel_size, "stride": stride or 1, "padding": padding, "dilation": dilation}
    for argument, value in arguments.items():
        if isinstance(value, (tuple, list)) and len(value) != ndim:
            raise ShapeError(
                f"{name}: {argument} must be one number, or one for each of {ndim} dimensions, not {value}"
            )
    windows = SlidingWindows.of(kernel_size, _stride(kernel_size, stride), padding, dilation, ndim, ceil_mode)
    if any(2 * p > k for p, k in zip(windows.padding, windows.kernel, strict=True)):
        raise ShapeError(
            f"{name}: padding {format_shape(windows.padding)} must be at most half of "
            f"the kernel {format_shape(windows.kernel)}"
        )
    return windows


def _max_pool(
    name: str,
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    return_indices: bool,
    ndim: int,
) -> Any:
    input, unbatched = add_batch_dimension(name, input, ndim)
    windows = _windows(name, kernel_size, stride, padding, dilation, ceil_mode, ndim)
    values, number = max_pool_with_indices(input, windows=windows)
    values = values.squeeze(0) if unbatched else values
    if not return_indices:
        return values
    indices = flat_index(number, sizes=tuple(input.shape[2:]), windows=windows)
    return values, indices.squeeze(0) if unbatched else indices


def _max_unpool(
    name: str,
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Sequence[int] | None,
    ndim: int,
) -> Tensor:
    if tuple(input.shape) != tuple(indices.shape):
        raise ShapeError(
            f"{name}: indices must have the shape of the input, {format_shape(input.shape)}, "
            f"not {format_shape(indices.shape)}"
        )
    input, unbatched = add_batch_dimension(name, input, ndim)
    indices = indices.unsqueeze(0) if unbatched else indices
    kernel, step, sides = (per_dim(value, ndim) for value in (kernel_size, _stride(kernel_size, stride), padding))
    default_sizes = tuple(
        (n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[2:], step, sides, kernel, strict=True)
    )
    sizes = default_sizes if output_size is None else tuple(output_size)[-ndim:]
    if any(not abs(size - other) < s for size, other, s in zip(sizes, default_sizes, step, strict=True)):
        raise ValueError(
            f"{name}: output_size {format_shape(sizes)} must differ from {format_shape(default_sizes)} "
            "by less than the stride"
        )
    shape = (*input.shape[:2], count(sizes))
    out = gather_backward(input.flatten(2), indices.flatten(2), shape=shape, dim=2, unique=True)
    out = out.reshape(*input.shape[:2], *sizes)
    return out.squeeze(0) if unbatched else out


def _avg_pool(
    name: str,
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
    ndim: int,
) -> Tensor:
    if divisor == 0:
        raise ValueError(f"{name}: divisor_override must not be 0")
    input, unbatched = add_batch_dimension(name, input, ndim)
    windows = _windows(name, kernel_size, stride, padding, 1, ceil_mode, ndim)
    total = sum_pool(input, windows=windows)
    total = total.squeeze(0) if unbatched else total
    if divisor is not None:
        divisors: Any = divisor
    elif (input.device is META and MODES.tracer is None) or (
        not ceil_mode and (count_include_pad or not any(windows.padding))
    ):
        divisors = count(windows.kernel)
    else:
        divisors = total.new_tensor(_window_sizes(windows, tuple(input.shape[2:]), count_include_pad))
    return div_trunc(total, divisors) if input.dtype is int64 else total / divisors


def _window_sizes(windows: SlidingWindows, sizes: tuple[int, ...], count_include_pad: bool) -> Any:
    """Number of averaged elements per window, without the elements beyond the padding in ceil mode."""
    found: Any = np.ones(())
    sides = zip(
        windows.output_sizes("avg_pool", sizes), windows.stride, windows.padding, windows.kernel, sizes, strict=True
    )
    for windows_count, stride, padding, kernel, size in sides:
        start = np.arange(windows_count) * stride - padding
        end = np.minimum(start + kernel, size + padding)
        if not count_include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, size)
        found = found[..., None] * (end - start)
    return found


def _lp_pool(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None, ceil_mode: bool, ndim: int
) -> Tensor:
    size = count(per_dim(kernel_size, ndim))
    name = f"lp_pool{ndim}d"
    powers = input ** float(norm_type)
    mean = _avg_pool(name, powers, kernel_size, stride, 0, ceil_mode, True, None, ndim)
    return (mean.sign() * mean.abs().relu() * size) ** (1.0 / norm_type)
