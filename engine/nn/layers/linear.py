"""Fully connected layer."""

from __future__ import annotations

import math
from typing import Annotated

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument, Width
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, FromInput, Size
from engine.tensors import Tensor
from engine.tensors.creation import empty


@LAYERS.register(category="Linear", tags=("dense", "fully connected", "affine"))
class Linear(Module):
    """Fully connected layer, ``y = x Wᵀ + b``: ``(*, in_features) → (*, out_features)``.

    `weight` is ``(out_features, in_features)``; weight and bias are initialized uniformly in ``±1/√in_features``.

    Args:
        in_features: size of the last dimension of the input
        out_features: size of the last dimension of the output
        bias: learn a bias
    """

    def __init__(
        self,
        in_features: Annotated[Size, FromInput(-1)],
        out_features: Width,
        bias: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        self.bias = Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features)
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
