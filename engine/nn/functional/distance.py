"""Distance and similarity functions."""

from __future__ import annotations

from engine.amp.cast_policy import cast_by_name
from engine.ops.linalg.norms import vector_norm
from engine.ops.movement.joining import broadcast_tensors
from engine.tensors import Tensor


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """p-norm of ``x₁ - x₂ + eps`` along the last dimension."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@cast_by_name
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine similarity along `dim`; norms are clamped to at least `eps`."""
    x1, x2 = broadcast_tensors(x1, x2)
    norms = [_clamp_value(vector_norm(x, 2, dim, True), eps) for x in (x1, x2)]
    return ((x1 / norms[0]) * (x2 / norms[1])).sum(dim)


def _clamp_value(norm: Tensor, eps: float) -> Tensor:
    """`norm` clamped to at least `eps`, with the gradient of the unclamped norm, as in PyTorch."""
    value = norm.detach()
    return norm + (value.clamp(min=eps) - value)
