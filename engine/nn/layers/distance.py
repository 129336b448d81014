"""Distances and similarities of vectors."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, NonNegative
from engine.tensors import Tensor

GROUP = "Distance"


@LAYERS.register(category=GROUP, tags=("similarity", "angle"))
class CosineSimilarity(Module):
    """The cosine of the angle between vectors along one dimension, which is removed.

    Args:
        dim: the dimension along which the vectors lie
        eps: the least length
    """

    def __init__(self, dim: int = 1, eps: NonNegative = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


@LAYERS.register(category=GROUP, tags=("euclidean",))
class PairwiseDistance(Module):
    """The p-norm of the differences of vectors along the last dimension, which is removed.

    Args:
        p: the norm
        eps: added to the differences
        keepdim: keep the dimension, of size 1
    """

    def __init__(self, p: NonNegative = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
