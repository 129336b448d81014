"""Distance and similarity layers."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, NonNegative
from engine.tensors import Tensor

GROUP = "Distance"


@LAYERS.register(category=GROUP, tags=("similarity", "angle"))
class CosineSimilarity(Module):
    """Cosine similarity of two inputs along a dimension, which is reduced: ``x₁ · x₂ / (‖x₁‖ ‖x₂‖)``.

    Args:
        dim: dimension of the vectors
        eps: lower bound of the norms, for numerical stability
    """

    def __init__(self, dim: int = 1, eps: NonNegative = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


@LAYERS.register(category=GROUP, tags=("euclidean",))
class PairwiseDistance(Module):
    """p-norm distance along the last dimension, ``‖x₁ - x₂ + eps‖``: two inputs ``(N, D)`` give ``(N)``.

    Args:
        p: exponent of the norm
        eps: term added to the difference for numerical stability
        keepdim: keep the reduced dimension with size 1
    """

    def __init__(self, p: NonNegative = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
