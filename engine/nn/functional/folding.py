"""Windows of images as columns, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from engine.errors import ShapeError
from engine.ops.spatial.fold import col2im, im2col
from engine.ops.spatial.sliding_windows import Windows, per_dim
from engine.shape import format_shape
from engine.tensors import Tensor

Sizes: TypeAlias = int | Sequence[int]


def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """The windows of ``N×C×H×W`` as columns: ``N×(C·kernel)×windows``."""
    windows = Windows.of(kernel_size, stride, padding, dilation, 2)
    if input.ndim not in (3, 4):
        raise ShapeError(f"unfold takes N×C×H×W, or C×H×W, not {format_shape(input.shape)}.")
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
    """``N×C×H×W`` of `output_size` from the columns that `unfold` makes, added up where windows overlap."""
    windows = Windows.of(kernel_size, stride, padding, dilation, 2)
    if input.ndim not in (2, 3):
        raise ShapeError(f"fold takes N×(C·kernel)×windows, or that without N, not {format_shape(input.shape)}.")
    sizes = per_dim(output_size, 2)
    if input.ndim == 3:
        return col2im(input, sizes=sizes, windows=windows)
    return col2im(input.unsqueeze(0), sizes=sizes, windows=windows).squeeze(0)
