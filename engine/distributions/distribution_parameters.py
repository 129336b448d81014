"""Conversions of distribution parameters, with the names of torch.distributions.utils."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from math import sqrt
from typing import Any, Self

from engine.distributions.distribution import broadcast_tensors_and_numbers
from engine.dtypes import finfo
from engine.errors import RangeError, ShapeError
from engine.modes import enable_grad
from engine.shape import format_shape
from engine.tensors import Tensor, creation

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast tensors and numbers to one shape; numbers get the dtype and device of the first tensor."""
    if not all(isinstance(value, (Tensor, int, float)) for value in values):
        raise ValueError(f"broadcast_all() takes numbers and tensors, not {[type(value).__name__ for value in values]}")
    return broadcast_tensors_and_numbers(*values)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Softmax over the last dimension, or elementwise sigmoid if `is_binary`."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to the range from eps to 1 - eps of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log of the clamped probabilities, or log odds if `is_binary`."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """Property that is computed on first access and then cached as an attribute."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # pyright: ignore[reportArgumentType]

    def __get__(self, instance: Any, owner: type | None = None) -> Any | Self:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Elements of matrices on and below a diagonal, in row order."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise RangeError(f"tril_matrix_to_vec(): diag must be between {-size} and {size - 1}, not {diag}")
    return mat[..., *creation.tril_indices(size, size, diag, device=mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`: matrices with zeros above the diagonal."""
    count = vec.shape[-1]
    size = round((-(1 + 2 * diag) + sqrt((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1))) / 2)
    rows, columns = creation.tril_indices(size, size, diag, device=vec.device)
    if len(rows) != count:
        raise ShapeError(
            f"vec_to_tril_matrix(): {format_shape(vec.shape)} is not the size of a triangle of a square matrix"
        )
    mat = vec.new_zeros((*vec.shape[:-1], size, size))
    mat[..., rows, columns] = vec
    return mat


__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]
