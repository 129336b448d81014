"""Root mean square normalization."""

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


@LAYERS.register(category="Normalization", tags=("root mean square", "rmsnorm"))
class RMSNorm(Module):
    """Root mean square normalization over the last dimensions: ``y = x / √(mean(x²) + eps) · weight``.

    Any shape that ends with `normalized_shape`. Source: Zhang and Sennrich, arXiv 1910.07467.

    Args:
        normalized_shape: sizes of the last dimensions, which are normalized together
        eps: term added to the mean square for numerical stability (default: the precision of the dtype)
        elementwise_affine: learn a scale (weight) per element
    """

    def __init__(
        self,
        normalized_shape: Annotated[Size | tuple[Size, ...], FromInput(-1)],
        eps: Positive | None = None,
        elementwise_affine: bool = True,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = Parameter(empty(shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the weight to its initial value."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
