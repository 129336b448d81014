"""Computations of weight norm and spectral norm."""

from __future__ import annotations

from typing import Any

from engine.modes import no_grad
from engine.ops.linalg.norms import vector_norm
from engine.tensors import Tensor
from engine.tensors.creation import randn


def norm_over_other_dims(weight: Tensor, dim: int) -> Tensor:
    """L2 norm over all dimensions except `dim`, kept with size 1; over all dimensions for -1."""
    if dim == -1:
        return vector_norm(weight)
    return vector_norm(weight, 2, tuple(axis for axis in range(weight.ndim) if axis != dim % weight.ndim), True)


def weight_from_norm(norm: Tensor, direction: Tensor, dim: int) -> Tensor:
    """``g v / |v|`` (Salimans and Kingma, arXiv 1602.07868)."""
    return direction * (norm / norm_over_other_dims(direction, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """`weight` as a matrix with `dim` as rows."""
    if dim:
        weight = weight.permute(dim, *(axis for axis in range(weight.ndim) if axis != dim))
    return weight.reshape(weight.shape[0], -1)


def normalize(vector: Tensor, eps: float) -> Tensor:
    return vector / vector_norm(vector).clamp(min=eps)


def random_direction(like: Tensor, size: int, eps: float) -> Tensor:
    with no_grad():
        return normalize(randn(size, dtype=like.dtype, device=like.device), eps)


def largest_singular_value(matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """``uᵀ W v`` with detached singular vectors."""
    return (u * (matrix @ v)).sum()


def output_dimension(module: Any) -> int:
    """Output dimension of the weight of a layer."""
    return 1 if type(module).__name__.startswith("ConvTranspose") else 0
