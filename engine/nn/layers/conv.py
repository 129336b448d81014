"""Convolution of sequences, images and volumes."""

from __future__ import annotations

from typing import Annotated, Literal

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn.functional.convolution import borders
from engine.nn.layers.annotations import CountPerDim, DeviceArgument, SizePerDim
from engine.nn.layers.conv_base import ConvBase
from engine.registry import LAYERS, FromInput, Size
from engine.tensors import Tensor


class Conv(ConvBase):
    """What convolutions of all numbers of dimensions share."""

    def __init__(
        self,
        in_channels: Annotated[Size, FromInput(1)],
        out_channels: Size,
        kernel_size: SizePerDim,
        stride: SizePerDim = 1,
        padding: CountPerDim | str = 0,
        dilation: SizePerDim = 1,
        groups: Size = 1,
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
    """Cross-correlation of images with learned filters, ``y[o] = b[o] + Σᵢ w[o, i] ⋆ x[i]`` (LeCun et al., 1989).

    ``N×in_channels×H×W`` becomes ``N×out_channels×H'×W'``, each side with
    ``H' = ⌊(H + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``; the batch dimension may be missing.
    `weight` is ``out_channels×(in_channels/groups)×height×width``; it and `bias` start uniform in ``±1/√fan_in``.

    Args:
        in_channels: channels of the input
        out_channels: number of filters, and so channels of the output
        kernel_size: height and width of the filters
        stride: step from one place of the filter to the next
        padding: zeros added on each side; in code also "same" (the output keeps the size) or "valid" (none)
        dilation: distance between the input places that neighbouring filter weights see
        groups: groups of channels that are convolved apart from each other
        bias: add a learned offset to each output channel
        padding_mode: what is added on each side: zeros, the mirror image, the border itself, or the other side
    """

    spatial = 2


@LAYERS.register(category="Convolution", tags=("convolution", "filter", "sequence", "signal"))
class Conv1d(Conv):
    """Cross-correlation of sequences with learned filters, ``y[o] = b[o] + Σᵢ w[o, i] ⋆ x[i]`` (LeCun et al., 1989).

    ``N×in_channels×L`` becomes ``N×out_channels×L'`` with
    ``L' = ⌊(L + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``; the batch dimension may be missing.
    `weight` is ``out_channels×(in_channels/groups)×length``; it and `bias` start uniform in ``±1/√fan_in``.

    Args:
        in_channels: channels of the input
        out_channels: number of filters, and so channels of the output
        kernel_size: length of the filters
        stride: step from one place of the filter to the next
        padding: zeros added on each side; in code also "same" (the output keeps the size) or "valid" (none)
        dilation: distance between the input places that neighbouring filter weights see
        groups: groups of channels that are convolved apart from each other
        bias: add a learned offset to each output channel
        padding_mode: what is added on each side: zeros, the mirror image, the border itself, or the other side
    """

    spatial = 1


@LAYERS.register(category="Convolution", tags=("convolution", "filter", "volume", "video"))
class Conv3d(Conv):
    """Cross-correlation of volumes with learned filters, ``y[o] = b[o] + Σᵢ w[o, i] ⋆ x[i]`` (LeCun et al., 1989).

    ``N×in_channels×D×H×W`` becomes ``N×out_channels×D'×H'×W'``, each side with
    ``D' = ⌊(D + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``; the batch dimension may be missing.
    `weight` is ``out_channels×(in_channels/groups)×depth×height×width``; it and `bias` start uniform in ``±1/√fan_in``.

    Args:
        in_channels: channels of the input
        out_channels: number of filters, and so channels of the output
        kernel_size: depth, height and width of the filters
        stride: step from one place of the filter to the next
        padding: zeros added on each side; in code also "same" (the output keeps the size) or "valid" (none)
        dilation: distance between the input places that neighbouring filter weights see
        groups: groups of channels that are convolved apart from each other
        bias: add a learned offset to each output channel
        padding_mode: what is added on each side: zeros, the mirror image, the border itself, or the other side
    """

    spatial = 3
