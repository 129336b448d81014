"""Interpolation (resizing) of spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from engine.errors import ShapeError
from engine.nn.functional import adaptive_pooling
from engine.ops.spatial.resample import ResampleTable, check_result_size, resample
from engine.shape import Dim, format_shape
from engine.tensors import Tensor

Mode: TypeAlias = Literal["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"]
_SPATIAL = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_AREA = {
    1: adaptive_pooling.adaptive_avg_pool1d,
    2: adaptive_pooling.adaptive_avg_pool2d,
    3: adaptive_pooling.adaptive_avg_pool3d,
}


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: Mode = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the spatial dimensions of ``(N, C, *)`` to `size`, or by `scale_factor`.

    Args:
        input: batch of sequences, images or volumes
        size: output size; one number for all spatial dimensions
        scale_factor: factor of the spatial sizes, instead of `size`; sizes are rounded down
        mode: interpolation mode
        align_corners: align the centers of the corner elements of input and output instead of their outer edges
        recompute_scale_factor: recompute the scale factor from the rounded output size
        antialias: average over all covered input elements when downscaling ("bilinear" and "bicubic")
    """
    sizes, new_sizes, scales = _sizes(input, size, scale_factor, recompute_scale_factor)
    _check(input, mode, align_corners, antialias)
    if mode == "area":
        return _AREA[len(sizes)](input, new_sizes)
    for axis, (old, new, scale) in enumerate(zip(sizes, new_sizes, scales, strict=True)):
        input = _resize_dim(input, 2 + axis, old, new, scale, mode, bool(align_corners), antialias)
    return input


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: Mode = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Deprecated name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: int | Sequence[int] | None = None
) -> Tensor:
    """Deprecated name of `interpolate` with mode "nearest"."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """Deprecated name of `interpolate` with mode "bilinear" and `align_corners`."""
    return interpolate(input, size, scale_factor, "bilinear", True)


def _sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[Any, ...], tuple[Any, ...], list[float | None]]:
    """Input sizes, output sizes, and the sampling steps if `scale_factor` sets them."""
    if input.ndim not in (3, 4, 5):
        raise ShapeError(
            f"interpolate requires 3 to 5 dimensions (batch, channels, spatial), not {format_shape(input.shape)}."
        )
    sizes = tuple(input.shape[2:])
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate requires either size or scale_factor")
    values = size if scale_factor is None else scale_factor
    numbers = tuple(values) if isinstance(values, Sequence) else (values,) * len(sizes)
    if len(numbers) != len(sizes):
        raise ValueError(f"interpolate: size or scale_factor must be one number, or {len(sizes)} numbers, not {values}")
    if scale_factor is None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor requires scale_factor instead of size")
        return sizes, numbers, [None] * len(sizes)
    new_sizes = tuple(
        old * int(factor) if isinstance(old, Dim) else int(np.floor(old * factor))
        for old, factor in zip(sizes, numbers, strict=True)
    )
    return sizes, new_sizes, [None if recompute else 1.0 / factor for factor in numbers]


def _check(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode not in ("nearest", "nearest-exact", "area", *_SPATIAL):
        raise ValueError(f"interpolate has no mode {mode!r}. Use nearest, nearest-exact, area, {', '.join(_SPATIAL)}.")
    if mode in _SPATIAL and input.ndim != 2 + _SPATIAL[mode]:
        fitting = [name for name, spatial in _SPATIAL.items() if spatial == input.ndim - 2]
        raise ShapeError(
            f"interpolate: mode {mode!r} requires {2 + _SPATIAL[mode]} dimensions, not {format_shape(input.shape)}. "
            f"Use {' or '.join(map(repr, fitting))}."
        )
    if align_corners is not None and mode not in _SPATIAL:
        raise ValueError(f"interpolate: align_corners is supported only for {', '.join(_SPATIAL)}, not for {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: antialias is supported only for 'bilinear' and 'bicubic', not for {mode!r}")


def _resize_dim(
    input: Tensor, dim: int, old: Any, new: Any, scale: float | None, mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    """Resize one dimension from `old` to `new` elements."""
    if isinstance(new, Dim) or isinstance(old, Dim):
        if old == new:
            return input
        raise ShapeError(f"interpolate: the symbolic size {old} cannot be resized to {new}")
    if new < 1 or old < 1:
        raise ShapeError(f"interpolate: dimension {dim} of {format_shape(input.shape)} cannot be resized to {new}")
    check_result_size(new)
    step = old / new if scale is None else scale
    if mode in ("nearest", "nearest-exact"):
        shift = 0.5 if mode == "nearest-exact" else 0.0
        position = np.floor((np.arange(new, dtype=np.float32) + np.float32(shift)) * np.float32(step))
        index = np.minimum(position.astype(np.int64), old - 1)[None]
        return resample(input, dim=dim, table=ResampleTable(index, np.ones(index.shape), old))
    if align_corners:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
    if antialias:
        return resample(input, dim=dim, table=_averaging(old, new, step, mode))
    position = np.arange(new) * step if align_corners else (np.arange(new) + 0.5) * step - 0.5
    return resample(input, dim=dim, table=_cubic(position, old) if mode == "bicubic" else _linear(position, old))


def _linear(position: Any, size: int) -> ResampleTable:
    position = np.maximum(position, 0)
    low = np.minimum(np.floor(position).astype(np.int64), size - 1)
    fraction = np.clip(position - low, 0, 1)
    return ResampleTable(np.stack([low, np.minimum(low + 1, size - 1)]), np.stack([1 - fraction, fraction]), size)


def _cubic(position: Any, size: int) -> ResampleTable:
    """Source: Keys, Cubic convolution interpolation, 1981, with a = -0.75."""
    low = np.floor(position).astype(np.int64)
    index = low + np.arange(-1, 3)[:, None]
    return ResampleTable(np.clip(index, 0, size - 1), cubic(np.abs(position - index), -0.75), size)


def _averaging(old: int, new: int, step: float, mode: str) -> ResampleTable:
    """Weights of the input elements that an output element covers, as in Pillow."""
    kernel: tuple[float, Callable[[Any], Any]] = {
        "bilinear": (1.0, lambda x: np.maximum(1 - x, 0)),
        "bicubic": (2.0, lambda x: cubic(x, -0.5)),
    }[mode]
    width = max(step, 1.0)
    center = step * (np.arange(new) + 0.5)
    first = np.maximum((center - kernel[0] * width + 0.5).astype(np.int64), 0)
    last = np.minimum((center + kernel[0] * width + 0.5).astype(np.int64), old)
    index = first + np.arange(int((last - first).max()))[:, None]
    weight = kernel[1](np.abs((index - center + 0.5) / width)) * (index < last)
    return ResampleTable(np.minimum(index, last - 1), weight / weight.sum(0), old)


def cubic(x: Any, a: float) -> Any:
    """Cubic convolution kernel at distance x ≥ 0; zero from 2."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
