"""The inverse of max pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPerDim, SizePerDim
from engine.nn.module import Module
from engine.ops.spatial.sliding_windows import per_dim
from engine.tensors import Tensor


class MaxUnpool(Module):
    """What max unpooling of all numbers of dimensions shares."""

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
    """Zeros with the maxima that `MaxPool2d` found where it found them.

    ``N×C×H'×W'`` and its indices become ``N×C×H×W`` with ``H = (H' - 1) stride - 2 padding + kernel_size``, or the
    `output_size` given to the call. It is not in the palette, since a wire carries one tensor.

    Args:
        kernel_size: height and width of the windows that were pooled
        stride: step from one window to the next; none for the window's size
        padding: places that were added on each side
    """

    spatial = 2


class MaxUnpool1d(MaxUnpool):
    """Zeros with the maxima that `MaxPool1d` found where it found them.

    ``N×C×L'`` and its indices become ``N×C×L`` with ``L = (L' - 1) stride - 2 padding + kernel_size``, or the
    `output_size` given to the call. It is not in the palette, since a wire carries one tensor.

    Args:
        kernel_size: length of the windows that were pooled
        stride: step from one window to the next; none for the window's size
        padding: places that were added on each side
    """

    spatial = 1


class MaxUnpool3d(MaxUnpool):
    """Zeros with the maxima that `MaxPool3d` found where it found them.

    ``N×C×D'×H'×W'`` and its indices become ``N×C×D×H×W`` with ``D = (D' - 1) stride - 2 padding + kernel_size``, or the
    `output_size` given to the call. It is not in the palette, since a wire carries one tensor.

    Args:
        kernel_size: depth, height and width of the windows that were pooled
        stride: step from one window to the next; none for the window's size
        padding: places that were added on each side
    """

    spatial = 3
