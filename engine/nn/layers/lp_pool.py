"""Power-average pooling."""

from __future__ import annotations

from typing import ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS, Positive
from engine.tensors import Tensor


class LPPool(Module):
    """Base of `LPPool1d` to `LPPool3d`."""

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
    """2D power-average pooling, ``(Σ x^p)^(1 / p)`` over windows: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    ``H_out = ⌊(H - kernel_size) / stride⌋ + 1``.

    Args:
        norm_type: exponent p: 1 is sum pooling, infinity approaches max pooling
        kernel_size: height and width of the window
        stride: step between windows (default: `kernel_size`)
        ceil_mode: round output sizes up instead of down
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("power average", "lp pooling", "downsample"))
class LPPool1d(LPPool):
    """1D power-average pooling, ``(Σ x^p)^(1 / p)`` over windows: ``(N, C, L) → (N, C, L_out)``.

    ``L_out = ⌊(L - kernel_size) / stride⌋ + 1``.

    Args:
        norm_type: exponent p: 1 is sum pooling, infinity approaches max pooling
        kernel_size: length of the window
        stride: step between windows (default: `kernel_size`)
        ceil_mode: round output sizes up instead of down
    """

    spatial = 1


@LAYERS.register(category="Pooling", tags=("power average", "lp pooling", "downsample"))
class LPPool3d(LPPool):
    """3D power-average pooling, ``(Σ x^p)^(1 / p)`` over windows: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    ``D_out = ⌊(D - kernel_size) / stride⌋ + 1``.

    Args:
        norm_type: exponent p: 1 is sum pooling, infinity approaches max pooling
        kernel_size: depth, height and width of the window
        stride: step between windows (default: `kernel_size`)
        ceil_mode: round output sizes up instead of down
    """

    spatial = 3
