"""Partial inverse of max pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPerDim, SizePerDim
from engine.nn.module import Module
from engine.ops.spatial.sliding_windows import per_dim
from engine.tensors import Tensor


class MaxUnpool(Module):
    """Base of `MaxUnpool1d` to `MaxUnpool3d`."""

    spatial: ClassVar[int]

    def __init__(self, kernel_size: SizePerDim, stride: SizePerDim | None = None, padding: CountPerDim = 0) -> None:
        super().__init__()
        self.kernel_size = per_dim(kernel_size, self.spatial)
        self.stride = per_dim(kernel_size if stride is None else stride, self.spatial)
        self.padding = per_dim(padding, self.spatial)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return _FUNCTIONS[self.spatial](input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


_FUNCTIONS = {1: F.max_unpool1d, 2: F.max_unpool2d, 3: F.max_unpool3d}


class MaxUnpool2d(MaxUnpool):
    """Partial inverse of `MaxPool2d`: places maxima at their indices; other elements are 0.

    ``(N, C, H_out, W_out)`` and its indices become ``(N, C, H, W)`` with ``H = (H' - 1) stride - 2 padding +
    kernel_size``, or the `output_size` argument of the call. Not in the palette, because a wire carries one tensor.

    Args:
        kernel_size: height and width of the windows that were pooled
        stride: step between windows (default: `kernel_size`)
        padding: padding of the pooling layer
    """

    spatial = 2


class MaxUnpool1d(MaxUnpool):
    """Partial inverse of `MaxPool1d`: places maxima at their indices; other elements are 0.

    ``(N, C, L_out)`` and its indices become ``(N, C, L)`` with ``L = (L' - 1) stride - 2 padding + kernel_size``, or
    the `output_size` argument of the call. Not in the palette, because a wire carries one tensor.

    Args:
        kernel_size: length of the windows that were pooled
        stride: step between windows (default: `kernel_size`)
        padding: padding of the pooling layer
    """

    spatial = 1


class MaxUnpool3d(MaxUnpool):
    """Partial inverse of `MaxPool3d`: places maxima at their indices; other elements are 0.

    ``(N, C, D_out, H_out, W_out)`` and its indices become ``(N, C, D, H, W)`` with ``D = (D' - 1) stride - 2 padding +
    kernel_size``, or the `output_size` argument of the call. Not in the palette, because a wire carries one tensor.

    Args:
        kernel_size: depth, height and width of the windows that were pooled
        stride: step between windows (default: `kernel_size`)
        padding: padding of the pooling layer
    """

    spatial = 3
