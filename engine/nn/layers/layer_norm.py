"""Layer normalization."""

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


@LAYERS.register(category="Normalization", tags=("layer normalization", "layernorm"))
class LayerNorm(Module):
    """Layer normalization over the last dimensions: ``y = (x - E[x]) / √(Var[x] + eps) · weight + bias``.

    Any shape that ends with `normalized_shape`. Training and evaluation are identical. Source: Ba et al., arXiv
    1607.06450.

    Args:
        normalized_shape: sizes of the last dimensions, which are normalized together
        eps: term added to the variance for numerical stability
        elementwise_affine: learn a scale (weight) and a shift (bias) per element
        bias: learn the shift (bias)
    """

    def __init__(
        self,
        normalized_shape: Annotated[Size | tuple[Size, ...], FromInput(-1)],
        eps: Positive = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = Parameter(empty(shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.bias = Parameter(empty(shape, device=device, dtype=dtype)) if elementwise_affine and bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset weight and bias to their initial values."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )
