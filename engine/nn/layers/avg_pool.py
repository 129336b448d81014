"""Mean over windows."""

from __future__ import annotations

from typing import ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPerDim, SizePerDim
from engine.nn.module import Module
from engine.ops.spatial.sliding_windows import per_dim
from engine.registry import LAYERS, Count, Size
from engine.tensors import Tensor


class AvgPool(Module):
    """What average pooling of images and volumes shares."""

    spatial: ClassVar[int]

    def __init__(
        self,
        kernel_size: SizePerDim,
        stride: SizePerDim | None = None,
        padding: CountPerDim = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Size | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return _FUNCTIONS[self.spatial](
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


_FUNCTIONS = {2: F.avg_pool2d, 3: F.avg_pool3d}


@LAYERS.register(category="Pooling", tags=("average pooling", "mean", "downsample"))
class AvgPool2d(AvgPool):
    """The mean of each window of each channel of an image.

    ``N×C×H×W`` becomes ``N×C×H'×W'`` with ``H' = ⌊(H + 2 padding - kernel_size) / stride⌋ + 1``.

    Args:
        kernel_size: height and width of the window
        stride: step from one window to the next; none for the window's size
        padding: zeros added on each side
        ceil_mode: round the output size up, so that windows may hang over the edge
        count_include_pad: let the added zeros count in the mean
        divisor_override: divide the sum by this number instead of by the number of places
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("average pooling", "mean", "downsample"))
class AvgPool1d(Module):
    """The mean of each window of each channel of a sequence.

    ``N×C×L`` becomes ``N×C×L'`` with ``L' = ⌊(L + 2 padding - kernel_size) / stride⌋ + 1``.

    Args:
        kernel_size: length of the window
        stride: step from one window to the next; none for the window's size
        padding: zeros added on each side
        ceil_mode: round the output size up, so that windows may hang over the edge
        count_include_pad: let the added zeros count in the mean
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Count = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = per_dim(kernel_size, 1)
        self.stride = per_dim(kernel_size if stride is None else stride, 1)
        self.padding = per_dim(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@LAYERS.register(category="Pooling", tags=("average pooling", "mean", "downsample"))
class AvgPool3d(AvgPool):
    """The mean of each window of each channel of a volume.

    ``N×C×D×H×W`` becomes ``N×C×D'×H'×W'`` with ``D' = ⌊(D + 2 padding - kernel_size) / stride⌋ + 1``.

    Args:
        kernel_size: depth, height and width of the window
        stride: step from one window to the next; none for the window's size
        padding: zeros added on each side
        ceil_mode: round the output size up, so that windows may hang over the edge
        count_include_pad: let the added zeros count in the mean
        divisor_override: divide the sum by this number instead of by the number of places
    """

    spatial = 3
