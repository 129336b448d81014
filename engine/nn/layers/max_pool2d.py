"""Maximum over windows of an image."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPair, SizePair
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensor import Tensor


@LAYERS.register(category="Pooling", tags=("max pooling", "downsample"))
class MaxPool2d(Module):
    """The largest value of each window of each channel.

    ``N×C×H×W`` becomes ``N×C×H'×W'`` with ``H' = ⌊(H + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``.

    Args:
        kernel_size: height and width of the window
        stride: step from one window to the next; none for the window's size
        padding: places added on each side that never win
        dilation: distance between the pixels that a window looks at
        ceil_mode: round the output size up, so that windows may hang over the edge
    """

    def __init__(
        self,
        kernel_size: SizePair,
        stride: SizePair | None = None,
        padding: CountPair = 0,
        dilation: SizePair = 1,
        *,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )
