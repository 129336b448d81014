"""Convolution of images."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from engine.creation import empty
from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn import init
from engine.nn.functional.convolution import borders
from engine.nn.layers.annotations import AnyDevice, CountPair, SizePair, pair
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, FromInput, Size
from engine.tensor import Tensor


@LAYERS.register(category="Convolution", tags=("convolution", "filter", "image"))
class Conv2d(Module):
    """Cross-correlation of images with learned filters, ``y[o] = b[o] + Σᵢ w[o, i] ⋆ x[i]`` (LeCun et al., 1989).

    ``N×in_channels×H×W`` becomes ``N×out_channels×H'×W'`` with
    ``H' = ⌊(H + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1``. `weight` is
    ``out_channels×(in_channels/groups)×kernel height×kernel width``; it and `bias` start uniform in ``±1/√fan_in``.

    Args:
        in_channels: channels of the input
        out_channels: number of filters, and so channels of the output
        kernel_size: height and width of the filters
        stride: step from one place of the filter to the next
        padding: zeros added on each side; in code also "same" (the output keeps the size) or "valid" (none)
        dilation: distance between the input pixels that neighbouring filter weights see
        groups: groups of channels that are convolved apart from each other
        bias: add a learned offset to each output channel
        padding_mode: what is added on each side: zeros, the mirror image, the border itself, or the other side
    """

    def __init__(
        self,
        in_channels: Annotated[Size, FromInput(1)],
        out_channels: Size,
        kernel_size: SizePair,
        stride: SizePair = 1,
        padding: CountPair | str = 0,
        dilation: SizePair = 1,
        groups: Size = 1,
        bias: bool = True,
        padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros",
        device: AnyDevice = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"groups={groups} must divide in_channels={in_channels} and out_channels={out_channels}. "
                "Use a common divisor of both."
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size)
        self.stride = pair(stride)
        self.padding = padding if isinstance(padding, str) else pair(padding)
        self.dilation = pair(dilation)
        self.groups = groups
        self.padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = padding_mode
        self._borders = borders(self.padding, self.kernel_size, self.stride, self.dilation)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.bias = Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new first values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(init.fans(self.weight)[0])
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._borders, self.padding_mode), 0
        return F.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0, 0):
            text += f", padding={self.padding}"
        if self.dilation != (1, 1):
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"
