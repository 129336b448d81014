"""Transposed convolution of sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.nn import functional as F
from engine.nn.functional.convolution import transposed_sizes
from engine.nn.layers.annotations import CountPerDim, DeviceArgument, SizePerDim
from engine.nn.layers.conv_base import ConvBase
from engine.registry import LAYERS, FromInput, Size
from engine.shape import format_shape
from engine.tensors import Tensor


class ConvTranspose(ConvBase):
    """What transposed convolutions of all numbers of dimensions share."""

    def __init__(
        self,
        in_channels: Annotated[Size, FromInput(1)],
        out_channels: Size,
        kernel_size: SizePerDim,
        stride: SizePerDim = 1,
        padding: CountPerDim = 0,
        output_padding: CountPerDim = 0,
        groups: Size = 1,
        bias: bool = True,
        dilation: SizePerDim = 1,
        padding_mode: Literal["zeros"] = "zeros",
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__} knows only padding_mode='zeros', not {padding_mode!r}")
        channels = (in_channels, out_channels)
        super().__init__(channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode)
        self._make_filters((in_channels, out_channels // groups, *self.kernel_size), device, dtype)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        further = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return _FUNCTIONS[self.spatial](
            input, self.weight, self.bias, self.stride, self.padding, further, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """What makes the output `output_size`, whose batch and channels may be left out."""
        wanted = tuple(output_size)[-self.spatial :]
        least = transposed_sizes(
            input.shape[-self.spatial :], self.kernel_size, self.stride, self.padding, 0, self.dilation
        )
        further = tuple(want - size for want, size in zip(wanted, least, strict=True))
        if any(not 0 <= more < stride for more, stride in zip(further, self.stride, strict=True)):
            most = [size + stride - 1 for size, stride in zip(least, self.stride, strict=True)]
            raise ShapeError(
                f"output_size {format_shape(wanted)} is not possible for an input of {format_shape(input.shape)}: "
                f"use {format_shape(least)} up to {format_shape(most)}"
            )
        return further


_FUNCTIONS = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


@LAYERS.register(category="Convolution", tags=("deconvolution", "upsample", "transposed convolution"))
class ConvTranspose2d(ConvTranspose):
    """Transposed convolution of images: each input place spreads a learned filter (Zeiler et al., 2010).

    ``N×in_channels×H×W`` becomes ``N×out_channels×H'×W'``, each side
    ``H' = (H - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``. `weight` is
    ``in_channels×(out_channels/groups)×height×width``; it and `bias` start uniform in ``±1/√fan_in``.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output
        kernel_size: height and width of the filters
        stride: step in the output from one input place to the next
        padding: places taken away on each side of the output
        output_padding: places added at the end of the output, where several sizes are possible
        groups: groups of channels that are convolved apart from each other
        bias: add a learned offset to each output channel
        dilation: distance between the output places that neighbouring filter weights reach
        padding_mode: only zeros
    """

    spatial = 2


@LAYERS.register(category="Convolution", tags=("deconvolution", "upsample", "transposed convolution"))
class ConvTranspose1d(ConvTranspose):
    """Transposed convolution of sequences: each input place spreads a learned filter (Zeiler et al., 2010).

    ``N×in_channels×L`` becomes ``N×out_channels×L'``, each side
    ``L' = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``. `weight` is
    ``in_channels×(out_channels/groups)×length``; it and `bias` start uniform in ``±1/√fan_in``.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output
        kernel_size: length of the filters
        stride: step in the output from one input place to the next
        padding: places taken away on each side of the output
        output_padding: places added at the end of the output, where several sizes are possible
        groups: groups of channels that are convolved apart from each other
        bias: add a learned offset to each output channel
        dilation: distance between the output places that neighbouring filter weights reach
        padding_mode: only zeros
    """

    spatial = 1


@LAYERS.register(category="Convolution", tags=("deconvolution", "upsample", "transposed convolution"))
class ConvTranspose3d(ConvTranspose):
    """Transposed convolution of volumes: each input place spreads a learned filter (Zeiler et al., 2010).

    ``N×in_channels×D×H×W`` becomes ``N×out_channels×D'×H'×W'``, each side
    ``D' = (D - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``. `weight` is
    ``in_channels×(out_channels/groups)×depth×height×width``; it and `bias` start uniform in ``±1/√fan_in``.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output
        kernel_size: depth, height and width of the filters
        stride: step in the output from one input place to the next
        padding: places taken away on each side of the output
        output_padding: places added at the end of the output, where several sizes are possible
        groups: groups of channels that are convolved apart from each other
        bias: add a learned offset to each output channel
        dilation: distance between the output places that neighbouring filter weights reach
        padding_mode: only zeros
    """

    spatial = 3
