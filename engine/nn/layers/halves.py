"""Taking apart what was joined."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


@LAYERS.register(category="Shape", outputs=("first", "second"), tags=("split", "chunk", "cut", "gan"))
class Halves(Module):
    """The two halves of its input along a dimension, as Concatenate joins two tensors of one size.

    Args:
        dim: the dimension to cut; 0 is the batch
    """

    def __init__(self, dim: int = 0) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        if not -input.ndim <= self.dim < input.ndim:
            raise ShapeError(f"Halves: there is no dimension {self.dim} in {input.ndim}")
        size = input.shape[self.dim]
        if size % 2:
            raise ShapeError(f"Halves: dimension {self.dim} has {size} places, which is not known to be even")
        half = size // 2
        return input.narrow(self.dim, 0, half), input.narrow(self.dim, half, half)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
