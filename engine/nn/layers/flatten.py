"""Layers that merge and split dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from engine.nn.module import Module
from engine.registry import LAYERS, Size
from engine.tensors import Tensor


@LAYERS.register(category="Shape", tags=("reshape", "vector"))
class Flatten(Module):
    """Flattens a range of dimensions; by default ``(N, C, H, W) → (N, C·H·W)``.

    Args:
        start_dim: first dimension to flatten
        end_dim: last dimension to flatten
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
    """Splits a dimension into several: ``(N, C·H·W) → (N, C, H, W)`` for ``dim=1``.

    Args:
        dim: dimension to split
        unflattened_size: sizes of the new dimensions; their product must equal the size of `dim`
    """

    def __init__(self, dim: int, unflattened_size: tuple[Size, ...]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size: Sequence[int] = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
