"""Convolution layers."""

from __future__ import annotations

from typing import Annotated, Literal

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn.functional.convolution import borders
from engine.nn.layers.annotations import Channels, CountPerDim, DeviceArgument, SizePerDim
from engine.nn.layers.conv_base import ConvBase
from engine.registry import LAYERS, FromInput, Size
from engine.tensors import Tensor


class Conv(ConvBase):
    """Base of `Conv1d` to `Conv3d`."""

    def __init__(
        self,
        in_channels: Annotated[Size, FromInput(1)],
        out_channels: Channels,
        kernel_size: SizePerDim,
        stride: SizePerDim = 1,
        padding: CountPerDim | Literal["same", "valid"] = 0,
        dilation: SizePerDim = 1,
        groups: Channels = 1,
        bias: bool = True,
        padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros",
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        channels = (in_channels, out_channels)
        super().__init__(channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode)
        self._borders = borders(self.padding, self.kernel_size, self.stride, self.dilation, self.spatial)
        self._make_filters((out_channels, in_channels // groups, *self.kernel_size), device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._borders, self.padding_mode), 0
        return _FUNCTIONS[self.spatial](input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


_FUNCTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


@LAYERS.register(category="Convolution", tags=("convolution", "filter", "image"))
class Conv2d(Conv):
    """2D convolution with learned filters: ``(N, C_in, H, W) → (N, C_out, H_out, W_out)``.

    ``y[o] = b[o] + Σᵢ w[o, i] ⋆ x[i]`` and
    ``H_out = ⌊(H + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``. The batch
    dimension is optional. `weight` is ``(out_channels, in_channels/groups, height, width)``;
    weight and bias are initialized uniformly in ``±1/√fan_in``. Source: LeCun et al., 1989.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output; the number of filters
        kernel_size: height and width of the kernel
        stride: stride of the convolution
        padding: padding on both sides; "same" keeps the size, "valid" adds none
        dilation: spacing between kernel elements
        groups: number of channel groups that are convolved separately
        bias: learn a bias per output channel
        padding_mode: values of the padding: zeros, reflection without the border, replicated border, or periodic
    """

    spatial = 2


@LAYERS.register(category="Convolution", tags=("convolution", "filter", "sequence", "signal"))
class Conv1d(Conv):
    """1D convolution with learned filters: ``(N, C_in, L) → (N, C_out, L_out)``.

    ``y[o] = b[o] + Σᵢ w[o, i] ⋆ x[i]`` and
    ``L_out = ⌊(L + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``. The batch
    dimension is optional. `weight` is ``(out_channels, in_channels/groups, length)``;
    weight and bias are initialized uniformly in ``±1/√fan_in``. Source: LeCun et al., 1989.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output; the number of filters
        kernel_size: length of the kernel
        stride: stride of the convolution
        padding: padding on both sides; "same" keeps the size, "valid" adds none
        dilation: spacing between kernel elements
        groups: number of channel groups that are convolved separately
        bias: learn a bias per output channel
        padding_mode: values of the padding: zeros, reflection without the border, replicated border, or periodic
    """

    spatial = 1


@LAYERS.register(category="Convolution", tags=("convolution", "filter", "volume", "video"))
class Conv3d(Conv):
    """3D convolution with learned filters: ``(N, C_in, D, H, W) → (N, C_out, D_out, H_out, W_out)``.

    ``y[o] = b[o] + Σᵢ w[o, i] ⋆ x[i]`` and
    ``D_out = ⌊(D + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``. The batch
    dimension is optional. `weight` is ``(out_channels, in_channels/groups, depth, height, width)``;
    weight and bias are initialized uniformly in ``±1/√fan_in``. Source: LeCun et al., 1989.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output; the number of filters
        kernel_size: depth, height and width of the kernel
        stride: stride of the convolution
        padding: padding on both sides; "same" keeps the size, "valid" adds none
        dilation: spacing between kernel elements
        groups: number of channel groups that are convolved separately
        bias: learn a bias per output channel
        padding_mode: values of the padding: zeros, reflection without the border, replicated border, or periodic
    """

    spatial = 3
