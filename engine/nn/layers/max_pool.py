"""Max pooling."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.nn import functional as F
from engine.nn.layers.annotations import CountPerDim, ScriptOnly, SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


class MaxPool(Module):
    """Base of `MaxPool1d` to `MaxPool3d`."""

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
    """2D max pooling over windows: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    ``H_out = ⌊(H + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``.

    Args:
        kernel_size: height and width of the window
        stride: step between windows (default: `kernel_size`)
        padding: implicit negative-infinity padding on both sides
        dilation: spacing between window elements
        return_indices: also return the indices of the maxima, for `MaxUnpool2d`
        ceil_mode: round output sizes up instead of down
    """

    spatial = 2


@LAYERS.register(category="Pooling", tags=("max pooling", "downsample"))
class MaxPool1d(MaxPool):
    """1D max pooling over windows: ``(N, C, L) → (N, C, L_out)``.

    ``L_out = ⌊(L + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``.

    Args:
        kernel_size: length of the window
        stride: step between windows (default: `kernel_size`)
        padding: implicit negative-infinity padding on both sides
        dilation: spacing between window elements
        return_indices: also return the indices of the maxima, for `MaxUnpool1d`
        ceil_mode: round output sizes up instead of down
    """

    spatial = 1


@LAYERS.register(category="Pooling", tags=("max pooling", "downsample"))
class MaxPool3d(MaxPool):
    """3D max pooling over windows: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    ``D_out = ⌊(D + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``.

    Args:
        kernel_size: depth, height and width of the window
        stride: step between windows (default: `kernel_size`)
        padding: implicit negative-infinity padding on both sides
        dilation: spacing between window elements
        return_indices: also return the indices of the maxima, for `MaxUnpool3d`
        ceil_mode: round output sizes up instead of down
    """

    spatial = 3
