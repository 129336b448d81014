"""Sliding windows to columns (im2col), and columns to images (col2im)."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPerDim, SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


@LAYERS.register(category="Shape", tags=("im2col", "patches", "windows"))
class Unfold(Module):
    """Extracts sliding windows as columns (im2col): ``(N, C, H, W) → (N, C·kH·kW, windows)``.

    Args:
        kernel_size: height and width of the windows
        dilation: spacing between window elements
        padding: zero padding on both sides
        stride: step between windows
    """

    def __init__(
        self, kernel_size: SizePerDim, dilation: SizePerDim = 1, padding: CountPerDim = 0, stride: SizePerDim = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


@LAYERS.register(category="Shape", tags=("col2im", "patches", "windows"))
class Fold(Module):
    """Sums columns of sliding windows into images (col2im), the transpose of `Unfold`.

    ``(N, C·kH·kW, windows) → (N, C, H, W)``, with `output_size` (H, W).

    Args:
        output_size: height and width of the images
        kernel_size: height and width of the windows
        dilation: spacing between window elements
        padding: zero padding that was added on both sides
        stride: step between windows
    """

    def __init__(
        self,
        output_size: SizePerDim,
        kernel_size: SizePerDim,
        dilation: SizePerDim = 1,
        padding: CountPerDim = 0,
        stride: SizePerDim = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
