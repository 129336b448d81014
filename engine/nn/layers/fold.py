"""Windows of images as columns, and back."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPerDim, SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


@LAYERS.register(category="Shape", tags=("im2col", "patches", "windows"))
class Unfold(Module):
    """The windows of an image as columns: ``N×C×H×W`` becomes ``N×(C·kernel height·kernel width)×windows``.

    Args:
        kernel_size: height and width of the windows
        dilation: distance between the pixels that a window looks at
        padding: zeros added on each side
        stride: step from one window to the next
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
    """An image from its windows as columns, added up where they overlap: the transpose of `Unfold`.

    ``N×(C·kernel height·kernel width)×windows`` becomes ``N×C×output height×output width``.

    Args:
        output_size: height and width of the image
        kernel_size: height and width of the windows
        dilation: distance between the pixels that a window looks at
        padding: zeros that were added on each side
        stride: step from one window to the next
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
