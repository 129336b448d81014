"""Pruning amounts and masks."""

from __future__ import annotations

import numbers
from typing import Any

from engine.errors import RangeError, ShapeError
from engine.ops.reduction.sort import topk
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like

Amount = int | float
"""Number of elements, or a fraction between 0 and 1."""


def checked_shape(tensor: Tensor | None, expected: Tensor, what: str) -> Tensor:
    """`tensor`, or the default. Raises ShapeError unless the shapes are equal."""
    if tensor is None:
        return expected
    if tuple(tensor.shape) != tuple(expected.shape):
        raise ShapeError(
            f"{what} has shape {format_shape(expected.shape)}, but its scores or mask have {format_shape(tensor.shape)}"
        )
    return tensor


def checked_amount(amount: Any) -> Amount:
    """`amount`, after checking that it is valid."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"amount must be a number, not {type(amount).__name__}")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(f"amount must be a fraction between 0 and 1 or an integer ≥ 0, not {amount}")
    return amount  # pyright: ignore[reportReturnType]


def _count_to_prune(amount: Amount, size: int) -> int:
    """Number of elements to prune out of `size`."""
    found = int(amount) if isinstance(amount, numbers.Integral) else round(amount * size)
    if found > size:
        raise RangeError(f"amount={found} exceeds the {size} elements or slices")
    return found


def pruning_dim(t: Tensor, dim: int) -> int:
    """Non-negative `dim`. Raises an error unless `t` has slices along it."""
    if t.ndim < 2:
        raise ShapeError(
            f"pruning channels requires 2 or more dimensions, not {format_shape(t.shape)}. Prune elements instead."
        )
    if not -t.ndim <= dim < t.ndim:
        raise RangeError(f"dim={dim} is out of range for {format_shape(t.shape)}")
    return dim % t.ndim


def without_smallest(scores: Tensor, default_mask: Tensor, amount: Amount) -> Tensor:
    """`default_mask` with zeros at the smallest scores."""
    mask, count = default_mask.clone(), _count_to_prune(amount, scores.numel())
    if count:
        mask.view(-1)[topk(scores.reshape(-1), count, largest=False).indices] = 0
    return mask


def without_smallest_slices(scores: Tensor, t: Tensor, default_mask: Tensor, amount: Amount, dim: int) -> Tensor:
    """`default_mask` with zeros in the slices along `dim` with the smallest scores."""
    n_kept = t.shape[dim] - _count_to_prune(amount, t.shape[dim])
    mask = zeros_like(t.detach())
    mask[(*[slice(None)] * dim, topk(scores, n_kept).indices)] = 1
    return mask * default_mask.to(mask.dtype)


__all__ = ["Amount", "checked_amount", "pruning_dim", "checked_shape", "without_smallest_slices", "without_smallest"]
