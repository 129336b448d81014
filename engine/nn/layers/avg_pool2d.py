"""Mean over windows of an image."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPair, SizePair
from engine.nn.module import Module
from engine.registry import LAYERS, Size
from engine.tensor import Tensor


@LAYERS.register(category="Pooling", tags=("average pooling", "mean", "downsample"))
class AvgPool2d(Module):
    """The mean of each window of each channel.

    ``N×C×H×W`` becomes ``N×C×H'×W'`` with ``H' = ⌊(H + 2 padding - kernel_size) / stride⌋ + 1``.

    Args:
        kernel_size: height and width of the window
        stride: step from one window to the next; none for the window's size
        padding: zeros added on each side
        ceil_mode: round the output size up, so that windows may hang over the edge
        count_include_pad: let the added zeros count in the mean
        divisor_override: divide the sum by this number instead of by the number of pixels
    """

    def __init__(
        self,
        kernel_size: SizePair,
        stride: SizePair | None = None,
        padding: CountPair = 0,
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
        return F.avg_pool2d(
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
