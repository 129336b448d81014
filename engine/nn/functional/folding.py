"""Sliding windows to columns (im2col), and columns to images (col2im)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from engine.errors import ShapeError
from engine.ops.spatial.fold import col2im, im2col
from engine.ops.spatial.sliding_windows import SlidingWindows, per_dim
from engine.shape import format_shape
from engine.tensors import Tensor

Sizes: TypeAlias = int | Sequence[int]


def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """Extract sliding windows of ``(N, C, H, W)`` as columns ``(N, C·kernel, windows)`` (im2col)."""
    windows = SlidingWindows.of(kernel_size, stride, padding, dilation, 2)
    if input.ndim not in (3, 4):
        raise ShapeError(f"unfold requires N×C×H×W or C×H×W, not {format_shape(input.shape)}.")
    if input.ndim == 4:
        return im2col(input, windows=windows)
    return im2col(input.unsqueeze(0), windows=windows).squeeze(0)


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Sum columns ``(N, C·kernel, windows)`` into images ``(N, C, H, W)`` of `output_size` (col2im)."""
    windows = SlidingWindows.of(kernel_size, stride, padding, dilation, 2)
    if input.ndim not in (2, 3):
        raise ShapeError(f"fold requires N×(C·kernel)×windows, N optional, not {format_shape(input.shape)}.")
    sizes = per_dim(output_size, 2)
    if input.ndim == 3:
        return col2im(input, sizes=sizes, windows=windows)
    return col2im(input.unsqueeze(0), sizes=sizes, windows=windows).squeeze(0)
