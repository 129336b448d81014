"""Layers that split features into attention heads and join them again."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.nn.module import Module
from engine.registry import LAYERS, Size
from engine.tensors import Tensor


@LAYERS.register(category="Attention", tags=("multi-head", "reshape", "transformer"))
class SplitHeads(Module):
    """Splits the features of a sequence into attention heads: N×T×E becomes N×H×T×(E/H).

    The inverse of MergeHeads. PyTorch has no module for it: `x.unflatten(-1, (heads, -1)).transpose(1, 2)`.

    Args:
        num_heads: number of heads; divides the number of features
    """

    def __init__(self, num_heads: Size) -> None:
        super().__init__()
        self.num_heads = num_heads

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 3:
            raise ShapeError(f"SplitHeads expects an input of 3 dimensions, N×T×E, not {input.ndim}")
        if input.shape[2] % self.num_heads:
            raise ShapeError(f"SplitHeads: {input.shape[2]} features cannot be split into {self.num_heads} heads")
        return input.unflatten(2, (self.num_heads, -1)).transpose(1, 2)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}"


@LAYERS.register(category="Attention", tags=("multi-head", "reshape", "transformer"))
class MergeHeads(Module):
    """Joins attention heads into features: N×H×T×D becomes N×T×(H·D). The inverse of SplitHeads."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ShapeError(f"MergeHeads expects an input of 4 dimensions, N×H×T×D, not {input.ndim}")
        return input.transpose(1, 2).flatten(2)
