"""Bilinear layer."""

from __future__ import annotations

import math
from typing import Annotated

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, FromInput, Size
from engine.tensors import Tensor
from engine.tensors.creation import empty


@LAYERS.register(category="Linear", tags=("product", "two inputs"))
class Bilinear(Module):
    """Bilinear transformation of two inputs: ``y = x₁ᵀ W x₂ + b``.

    ``(*, in1_features)`` and ``(*, in2_features)`` give ``(*, out_features)``. `weight` is ``(out_features,
    in1_features, in2_features)``; weight and bias are initialized uniformly in ``±1/√in1_features``.

    Args:
        in1_features: size of the last dimension of the first input
        in2_features: size of the last dimension of the second input
        out_features: size of the last dimension of the output
        bias: learn a bias
    """

    def __init__(
        self,
        in1_features: Annotated[Size, FromInput(-1)],
        in2_features: Size,
        out_features: Size,
        bias: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.bias = Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
