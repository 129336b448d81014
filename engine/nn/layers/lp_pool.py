"""Power means over windows."""

from __future__ import annotations

from typing import ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS, Positive
from engine.tensors import Tensor


class LPPool(Module):
    """What power-average pooling of all numbers of dimensions shares."""

    spatial: ClassVar[int]

    def __init__(
        self,
        norm_type: Positive,
        kernel_size: SizePerDim,
        stride: SizePerDim | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return _FUNCTIONS[self.spatial](input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, ceil_mode={self.ceil_mode}"
        )


_FUNCTIONS = {1: F.lp_pool1d, 2: F.lp_pool2d, 3: F.lp_pool3d}


@LAYERS.register(category="Pooling", tags=("power average", "lp pooling", "downsample"))
class LPPool2d(LPPool):
    """``(Σ x^p)^(1 / p)`` over each window of each channel of an image.

    ``N×C×H×W`` becomes ``N×C×H'×W'`` with ``H' = ⌊(H - kernel_size) / stride⌋ + 1``.

    Args:
        norm_type: the power p: 1 for the sum, large for nearly the maximum
        kernel_size: height and width of the window
        stride: step from one window to the next; none for the window's size
        ceil_mode: round the output size up, so that windows may hang over the edge
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("power average", "lp pooling", "downsample"))
class LPPool1d(LPPool):
    """``(Σ x^p)^(1 / p)`` over each window of each channel of a sequence.

    ``N×C×L`` becomes ``N×C×L'`` with ``L' = ⌊(L - kernel_size) / stride⌋ + 1``.

    Args:
        norm_type: the power p: 1 for the sum, large for nearly the maximum
        kernel_size: length of the window
        stride: step from one window to the next; none for the window's size
        ceil_mode: round the output size up, so that windows may hang over the edge
    """

    spatial = 1


@LAYERS.register(category="Pooling", tags=("power average", "lp pooling", "downsample"))
class LPPool3d(LPPool):
    """``(Σ x^p)^(1 / p)`` over each window of each channel of a volume.

    ``N×C×D×H×W`` becomes ``N×C×D'×H'×W'`` with ``D' = ⌊(D - kernel_size) / stride⌋ + 1``.

    Args:
        norm_type: the power p: 1 for the sum, large for nearly the maximum
        kernel_size: depth, height and width of the window
        stride: step from one window to the next; none for the window's size
        ceil_mode: round the output size up, so that windows may hang over the edge
    """

    spatial = 3
