"""Transposed convolution layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.nn import functional as F
from engine.nn.functional.convolution import transposed_sizes
from engine.nn.layers.annotations import Channels, CountPerDim, DeviceArgument, SizePerDim
from engine.nn.layers.conv_base import ConvBase
from engine.registry import LAYERS, FromInput, Size
from engine.shape import format_shape
from engine.tensors import Tensor


class ConvTranspose(ConvBase):
    """Base of `ConvTranspose1d` to `ConvTranspose3d`."""

    def __init__(
        self,
        in_channels: Annotated[Size, FromInput(1)],
        out_channels: Channels,
        kernel_size: SizePerDim,
        stride: SizePerDim = 1,
        padding: CountPerDim = 0,
        output_padding: CountPerDim = 0,
        groups: Channels = 1,
        bias: bool = True,
        dilation: SizePerDim = 1,
        padding_mode: Literal["zeros"] = "zeros",
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__} supports only padding_mode='zeros', not {padding_mode!r}")
        channels = (in_channels, out_channels)
        super().__init__(channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode)
        self._make_filters((in_channels, out_channels // groups, *self.kernel_size), device, dtype)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        output_padding = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return _FUNCTIONS[self.spatial](
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """Output padding that gives `output_size`, with or without batch and channels."""
        sizes = tuple(output_size)[-self.spatial :]
        smallest = transposed_sizes(
            input.shape[-self.spatial :], self.kernel_size, self.stride, self.padding, 0, self.dilation
        )
        output_padding = tuple(new - size for new, size in zip(sizes, smallest, strict=True))
        if any(not 0 <= amount < stride for amount, stride in zip(output_padding, self.stride, strict=True)):
            largest = [size + stride - 1 for size, stride in zip(smallest, self.stride, strict=True)]
            raise ShapeError(
                f"output_size {format_shape(sizes)} is not possible for an input {format_shape(input.shape)}. "
                f"Use {format_shape(smallest)} to {format_shape(largest)}."
            )
        return output_padding


_FUNCTIONS = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


@LAYERS.register(category="Convolution", tags=("deconvolution", "upsample", "transposed convolution"))
class ConvTranspose2d(ConvTranspose):
    """2D transposed convolution with learned filters: ``(N, C_in, H, W) → (N, C_out, H_out, W_out)``.

    ``H_out = (H - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``.
    `weight` is ``(in_channels, out_channels/groups, height, width)``;
    weight and bias are initialized uniformly in ``±1/√fan_in``. Source: Zeiler et al., 2010.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output
        kernel_size: height and width of the kernel
        stride: stride of the transposed convolution
        padding: amount removed from both sides of the output
        output_padding: size added to one side of the output, to select between possible sizes
        groups: number of channel groups that are convolved separately
        bias: learn a bias per output channel
        dilation: spacing between kernel elements
        padding_mode: only zeros
    """

    spatial = 2


@LAYERS.register(category="Convolution", tags=("deconvolution", "upsample", "transposed convolution"))
class ConvTranspose1d(ConvTranspose):
    """1D transposed convolution with learned filters: ``(N, C_in, L) → (N, C_out, L_out)``.

    ``L_out = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``.
    `weight` is ``(in_channels, out_channels/groups, length)``;
    weight and bias are initialized uniformly in ``±1/√fan_in``. Source: Zeiler et al., 2010.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output
        kernel_size: length of the kernel
        stride: stride of the transposed convolution
        padding: amount removed from both sides of the output
        output_padding: size added to one side of the output, to select between possible sizes
        groups: number of channel groups that are convolved separately
        bias: learn a bias per output channel
        dilation: spacing between kernel elements
        padding_mode: only zeros
    """

    spatial = 1


@LAYERS.register(category="Convolution", tags=("deconvolution", "upsample", "transposed convolution"))
class ConvTranspose3d(ConvTranspose):
    """3D transposed convolution with learned filters: ``(N, C_in, D, H, W) → (N, C_out, D_out, H_out, W_out)``.

    ``D_out = (D - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``.
    `weight` is ``(in_channels, out_channels/groups, depth, height, width)``;
    weight and bias are initialized uniformly in ``±1/√fan_in``. Source: Zeiler et al., 2010.

    Args:
        in_channels: channels of the input
        out_channels: channels of the output
        kernel_size: depth, height and width of the kernel
        stride: stride of the transposed convolution
        padding: amount removed from both sides of the output
        output_padding: size added to one side of the output, to select between possible sizes
        groups: number of channel groups that are convolved separately
        bias: learn a bias per output channel
        dilation: spacing between kernel elements
        padding_mode: only zeros
    """

    spatial = 3
