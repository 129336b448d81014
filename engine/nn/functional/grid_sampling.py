"""Sampling of images and volumes at grid positions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from engine.amp.cast_policy import cast_by_name
from engine.errors import DTypeError, ShapeError
from engine.functions import where
from engine.ops.indexing.gather import gather_op
from engine.shape import count, format_shape
from engine.tensors import Tensor

Mode: TypeAlias = Literal["bilinear", "nearest", "bicubic"]
PaddingMode: TypeAlias = Literal["zeros", "border", "reflection"]


@cast_by_name
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: Mode = "bilinear",
    padding_mode: PaddingMode = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample ``(N, C, H, W)`` at the positions of a grid ``(N, H_out, W_out, 2)``: ``(N, C, H_out, W_out)``.

    Volumes ``(N, C, D, H, W)`` take a grid ``(N, D_out, H_out, W_out, 3)``.

    Args:
        input: images or volumes
        grid: coordinates (x, y) or (x, y, z) of each output pixel, from -1 to 1 across the input
        mode: interpolation: "bilinear" (trilinear for volumes), "nearest", or "bicubic" (images only)
        padding_mode: values outside of the input: "zeros", "border" or "reflection"
        align_corners: -1 and 1 refer to the centers of the corner pixels instead of their outer edges

    Source: Jaderberg et al., arXiv 1506.02025.
    """
    _check(input, grid, mode, padding_mode)
    sizes = tuple(input.shape[2:])
    corners = bool(align_corners)
    positions = [
        _pixel_coordinates(grid[..., len(sizes) - 1 - axis].flatten(1), size, corners)
        for axis, size in enumerate(sizes)
    ]
    if mode != "bicubic":
        positions = [
            _padded_coordinates(position, size, padding_mode, corners)
            for position, size in zip(positions, sizes, strict=True)
        ]
    taps = [_TAPS[mode](position) for position in positions]
    flat, total = input.flatten(2), None
    for combination in itertools.product(*taps):
        indices = [index for index, _ in combination]
        if mode == "bicubic":
            indices = [
                _padded_coordinates(index, size, padding_mode, corners)
                for index, size in zip(indices, sizes, strict=True)
            ]
        part = _gather_pixels(flat, indices, sizes)
        for _, weight in combination:
            part = part if weight is None else part * weight.unsqueeze(1)
        total = part if total is None else total + part
    assert total is not None
    return total.reshape(*input.shape[:2], *grid.shape[1:-1])


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Grid for `grid_sample` from affine matrices ``(N, 2, 3)`` and an output size N×C×H×W (volumes: ``(N, 3, 4)``).

    Source: Jaderberg et al., arXiv 1506.02025.
    """
    spatial = len(size) - 2
    if spatial not in (2, 3) or tuple(theta.shape[1:]) != (spatial, spatial + 1):
        raise ShapeError(
            f"affine_grid requires N×2×3 for N×C×H×W or N×3×4 for N×C×D×H×W, "
            f"not {format_shape(theta.shape)} for {format_shape(size)}"
        )
    sides = [_steps(length, bool(align_corners)) for length in size[2:]]
    axes = np.meshgrid(*sides, indexing="ij")
    base = np.stack([*reversed(axes), np.ones(axes[0].shape)], -1).reshape(-1, spatial + 1)
    grid = theta.new_tensor(base) @ theta.mT
    return grid.reshape(theta.shape[0], *size[2:], spatial)


def _steps(length: int, align_corners: bool) -> Any:
    if length < 1:
        raise ShapeError(f"affine_grid: sizes must be at least 1, not {length}")
    steps = np.linspace(-1, 1, length) if length > 1 else np.zeros(1)
    return steps if align_corners else steps * (length - 1) / length


def _check(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    if input.ndim not in (4, 5) or grid.ndim != input.ndim or grid.shape[-1] != input.ndim - 2:
        raise ShapeError(
            "grid_sample requires N×C×H×W and a grid N×H×W×2, or N×C×D×H×W and a grid N×D×H×W×3, "
            f"not {format_shape(input.shape)} and {format_shape(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise ShapeError(f"grid_sample: the batch has {input.shape[0]} samples, but {grid.shape[0]} grids")
    if 0 in input.shape[2:]:
        raise ShapeError(f"grid_sample: an image of {format_shape(input.shape)} has no pixels")
    if input.dtype is not grid.dtype:
        raise DTypeError(
            f"grid_sample: input and grid must have one dtype, not {input.dtype.name} and {grid.dtype.name}"
        )
    if mode not in _TAPS or (mode == "bicubic" and input.ndim != 4):
        raise ValueError(f"grid_sample: mode must be 'bilinear', 'nearest' or, for images, 'bicubic', not {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: padding_mode must be zeros, border or reflection, not {padding_mode!r}")


def _pixel_coordinates(position: Tensor, size: Any, align_corners: bool) -> Tensor:
    """Pixel coordinates from normalized coordinates between -1 and 1."""
    return (position + 1) * ((size - 1) / 2) if align_corners else ((position + 1) * size - 1) / 2


def _padded_coordinates(position: Tensor, size: Any, padding_mode: str, align_corners: bool) -> Tensor:
    """Pixel coordinates mapped into the image according to the padding mode."""
    if padding_mode == "zeros":
        return position
    if padding_mode == "reflection":
        low, span = (0.0, size - 1) if align_corners else (-0.5, size)
        if span == 0:
            return position * 0
        distance = (position - low).abs()
        flips = (distance / span).floor().detach()
        remainder = distance - flips * span
        position = where(flips % 2 == 0, remainder + low, span - remainder + low)
    return position.clamp(0, size - 1)


def _gather_pixels(flat: Tensor, indices: list[Tensor], sizes: tuple[int, ...]) -> Tensor:
    """Pixels at integer coordinates, (N, C, positions); zeros outside of the image."""
    position: Any = 0
    all_inside: Any = None
    for axis, (index, size) in enumerate(zip(indices, sizes, strict=True)):
        index = index.detach()
        is_inside = (index >= 0) & (index <= size - 1)
        all_inside = is_inside if all_inside is None else all_inside & is_inside
        pixel = where(is_inside, index, 0.0).long()
        position = position + pixel * count(sizes[axis + 1 :])
    position = position.unsqueeze(1).expand(*flat.shape[:2], position.shape[-1])
    return where(all_inside.unsqueeze(1), gather_op(flat, position, dim=2), 0.0)


Tap: TypeAlias = tuple[Tensor, Tensor | None]


def _nearest(position: Tensor) -> list[Tap]:
    return [(position.round(), None)]


def _linear(position: Tensor) -> list[Tap]:
    low = position.detach().floor()
    fraction = position - low
    return [(low, 1 - fraction), (low + 1, fraction)]


def _cubic(position: Tensor) -> list[Tap]:
    """Source: Keys, Cubic convolution interpolation, 1981, with a = -0.75."""
    low = position.detach().floor()
    fraction, a = position - low, -0.75

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a

    weights = (far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction))
    return [(low + offset, weight) for offset, weight in enumerate(weights, -1)]


_TAPS = {"bilinear": _linear, "nearest": _nearest, "bicubic": _cubic}
