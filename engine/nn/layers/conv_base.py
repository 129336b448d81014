"""Base of convolution and transposed convolution layers."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, TypeAlias

from engine.dtypes import DType
from engine.nn import init
from engine.nn.layers.annotations import CountPerDim, DeviceArgument, SizePerDim
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.ops.spatial.sliding_windows import per_dim
from engine.tensors.creation import empty

PaddingMode: TypeAlias = Literal["zeros", "reflect", "replicate", "circular"]


class ConvBase(Module):
    """Kernel, stride, padding and dilation over `spatial` dimensions after batch and channels."""

    spatial: ClassVar[int]

    def __init__(
        self,
        channels: tuple[int, int],
        kernel_size: SizePerDim,
        stride: SizePerDim,
        padding: CountPerDim | str,
        dilation: SizePerDim,
        output_padding: CountPerDim,
        groups: int,
        bias: bool,
        padding_mode: PaddingMode,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = channels
        if groups < 1:
            raise ValueError(f"groups must be ≥ 1, not {groups}")
        if self.in_channels % groups or self.out_channels % groups:
            raise ValueError(
                f"groups={groups} must divide in_channels={self.in_channels} and out_channels={self.out_channels}. "
                "Use a common divisor of both."
            )
        self.kernel_size = self._per_dim("kernel_size", kernel_size, 1)
        self.stride = self._per_dim("stride", stride, 1)
        self.padding: Any = padding if isinstance(padding, str) else self._per_dim("padding", padding, 0)
        self.dilation = self._per_dim("dilation", dilation, 1)
        self.output_padding = self._per_dim("output_padding", output_padding, 0)
        self.groups = groups
        self.padding_mode: PaddingMode = padding_mode
        self.has_bias = bias

    def _per_dim(self, name: str, value: SizePerDim, minimum: int) -> tuple[int, ...]:
        values = per_dim(value, self.spatial)
        if len(values) != self.spatial:
            raise ValueError(f"{name} must be one number, or one for each of {self.spatial} dimensions, not {value}")
        if min(values) < minimum:
            raise ValueError(f"{name} must be ≥ {minimum}, not {value}")
        return values

    def _make_filters(self, shape: tuple[int, ...], device: DeviceArgument, dtype: DType | None) -> None:
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.bias = Parameter(empty(self.out_channels, device=device, dtype=dtype)) if self.has_bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(init.fans(self.weight)[0])
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        none, one = (0,) * self.spatial, (1,) * self.spatial
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        optional = {
            "padding": self.padding != none,
            "dilation": self.dilation != one,
            "output_padding": self.output_padding != none,
            "groups": self.groups != 1,
        }
        for name, is_shown in optional.items():
            text += f", {name}={getattr(self, name)}" if is_shown else ""
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"
