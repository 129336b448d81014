"""Joining dimensions into one, and splitting one into several."""

from __future__ import annotations

from collections.abc import Sequence

from engine.nn.module import Module
from engine.registry import LAYERS, Size
from engine.tensors import Tensor


@LAYERS.register(category="Shape", tags=("reshape", "vector"))
class Flatten(Module):
    """Joins dimensions into one: by default ``N×C×H×W`` becomes ``N×(C·H·W)``.

    Args:
        start_dim: first dimension to join
        end_dim: last dimension to join
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


@LAYERS.register(category="Shape", tags=("reshape",))
class Unflatten(Module):
    """Splits a dimension into several: ``N×(C·H·W)`` becomes ``N×C×H×W`` with ``dim=1, unflattened_size=(C, H, W)``.

    Args:
        dim: the dimension to split
        unflattened_size: sizes of the new dimensions; their product is the size of the old one
    """

    def __init__(self, dim: int, unflattened_size: tuple[Size, ...]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size: Sequence[int] = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
