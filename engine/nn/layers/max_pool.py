"""Maximum over windows."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPerDim, ScriptOnly, SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


class MaxPool(Module):
    """What max pooling of all numbers of dimensions shares."""

    spatial: ClassVar[int]

    def __init__(
        self,
        kernel_size: SizePerDim,
        stride: SizePerDim | None = None,
        padding: CountPerDim = 0,
        dilation: SizePerDim = 1,
        return_indices: ScriptOnly = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return _FUNCTIONS[self.spatial](
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


_FUNCTIONS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


@LAYERS.register(category="Pooling", tags=("max pooling", "downsample"))
class MaxPool2d(MaxPool):
    """The largest value of each window of each channel of an image.

    ``N×C×H×W`` becomes ``N×C×H'×W'`` with ``H' = ⌊(H + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``.

    Args:
        kernel_size: height and width of the window
        stride: step from one window to the next; none for the window's size
        padding: places added on each side that never win
        dilation: distance between the places that a window looks at
        return_indices: return the places of the maxima as well, for `MaxUnpool2d`
        ceil_mode: round the output size up, so that windows may hang over the edge
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("max pooling", "downsample"))
class MaxPool1d(MaxPool):
    """The largest value of each window of each channel of a sequence.

    ``N×C×L`` becomes ``N×C×L'`` with ``L' = ⌊(L + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``.

    Args:
        kernel_size: length of the window
        stride: step from one window to the next; none for the window's size
        padding: places added on each side that never win
        dilation: distance between the places that a window looks at
        return_indices: return the places of the maxima as well, for `MaxUnpool1d`
        ceil_mode: round the output size up, so that windows may hang over the edge
    """

    spatial = 1


@LAYERS.register(category="Pooling", tags=("max pooling", "downsample"))
class MaxPool3d(MaxPool):
    """The largest value of each window of each channel of a volume.

    ``N×C×D×H×W`` becomes ``N×C×D'×H'×W'`` with
    ``D' = ⌊(D + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``.

    Args:
        kernel_size: depth, height and width of the window
        stride: step from one window to the next; none for the window's size
        padding: places added on each side that never win
        dilation: distance between the places that a window looks at
        return_indices: return the places of the maxima as well, for `MaxUnpool3d`
        ceil_mode: round the output size up, so that windows may hang over the edge
    """

    spatial = 3
