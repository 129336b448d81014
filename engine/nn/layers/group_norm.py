"""Group normalization."""

from __future__ import annotations

from typing import Annotated

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, FromInput, Positive, Size
from engine.tensors import Tensor
from engine.tensors.creation import empty


@LAYERS.register(category="Normalization", tags=("group normalization", "groupnorm"))
class GroupNorm(Module):
    """Group normalization: ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias`` for each sample and channel group.

    Input and output: ``(N, C, *)``. Independent of the batch size. Source: Wu and He, arXiv 1803.08494.

    Args:
        num_groups: number of channel groups
        num_channels: number of channels C of the input
        eps: term added to the variance for numerical stability
        affine: learn a scale (weight) and a shift (bias) per channel
        bias: learn the shift (bias)
    """

    def __init__(
        self,
        num_groups: Size,
        num_channels: Annotated[Size, FromInput(1)],
        eps: Positive = 1e-5,
        affine: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels={num_channels} must be divisible by num_groups={num_groups}")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.weight = Parameter(empty(num_channels, device=device, dtype=dtype)) if affine else None
        self.bias = Parameter(empty(num_channels, device=device, dtype=dtype)) if affine and bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset weight and bias to their initial values."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
