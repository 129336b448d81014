"""Layer that splits a tensor in two."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


@LAYERS.register(category="Shape", outputs=("first", "second"), tags=("split", "chunk", "cut", "gan"))
class Halves(Module):
    """Splits the input into two halves along a dimension, the inverse of Concatenate for equal sizes.

    Args:
        dim: dimension to split; 0 is the batch dimension
    """

    def __init__(self, dim: int = 0) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        if not -input.ndim <= self.dim < input.ndim:
            raise ShapeError(f"Halves: dim={self.dim} is out of range for an input of {input.ndim} dimensions")
        size = input.shape[self.dim]
        if size % 2:
            raise ShapeError(f"Halves: dimension {self.dim} must have an even size, but has size {size}")
        half = size // 2
        return input.narrow(self.dim, 0, half), input.narrow(self.dim, half, half)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
