"""Average pooling."""

from __future__ import annotations

from typing import ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPerDim, SizePerDim
from engine.nn.module import Module
from engine.ops.spatial.sliding_windows import per_dim
from engine.registry import LAYERS, Count, Size
from engine.tensors import Tensor


class AvgPool(Module):
    """Base of 2D and 3D average pooling."""

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
    """2D average pooling over windows: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    ``H_out = ⌊(H + 2 padding - kernel_size) / stride⌋ + 1``.

    Args:
        kernel_size: height and width of the window
        stride: step between windows (default: `kernel_size`)
        padding: zero padding on both sides
        ceil_mode: round output sizes up instead of down
        count_include_pad: include the zero padding in the mean
        divisor_override: divisor of the sum, instead of the window size
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("average pooling", "mean", "downsample"))
class AvgPool1d(Module):
    """1D average pooling over windows: ``(N, C, L) → (N, C, L_out)``.

    ``L_out = ⌊(L + 2 padding - kernel_size) / stride⌋ + 1``.

    Args:
        kernel_size: length of the window
        stride: step between windows (default: `kernel_size`)
        padding: zero padding on both sides
        ceil_mode: round output sizes up instead of down
        count_include_pad: include the zero padding in the mean
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
    """3D average pooling over windows: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    ``D_out = ⌊(D + 2 padding - kernel_size) / stride⌋ + 1``.

    Args:
        kernel_size: depth, height and width of the window
        stride: step between windows (default: `kernel_size`)
        padding: zero padding on both sides
        ceil_mode: round output sizes up instead of down
        count_include_pad: include the zero padding in the mean
        divisor_override: divisor of the sum, instead of the window size
    """

    spatial = 3
