"""How many elements or slices are pruned, and the masks of those that are left."""

from __future__ import annotations

import numbers
from typing import Any

from engine.errors import RangeError, ShapeError
from engine.ops.reduction.sort import topk
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like

Amount = int | float
"""A whole number, or a share between 0 and 1."""


def fitting(tensor: Tensor | None, wanted: Tensor, what: str) -> Tensor:
    """`tensor`, or what it stands for. Raises unless the shapes are equal."""
    if tensor is None:
        return wanted
    if tuple(tensor.shape) != tuple(wanted.shape):
        raise ShapeError(f"{what} is {format_shape(wanted.shape)}, but its scores or mask {format_shape(tensor.shape)}")
    return tensor


def checked_amount(amount: Any) -> Amount:
    """Raises unless it is one."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"the amount to prune is a number, not {type(amount).__name__}")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(f"the amount to prune is a share between 0 and 1, or a whole number from 0 on, not {amount}")
    return amount  # pyright: ignore[reportReturnType]


def _number(amount: Amount, size: int) -> int:
    """How many of `size` are pruned."""
    found = int(amount) if isinstance(amount, numbers.Integral) else round(amount * size)
    if found > size:
        raise RangeError(f"the amount to prune, {found}, is more than the {size} elements or slices that there are")
    return found


def dimension(t: Tensor, dim: int) -> int:
    """`dim`, counted from the front. Raises unless `t` has slices along it."""
    if t.ndim < 2:
        raise ShapeError(
            f"channels are pruned of matrices and more, not of {format_shape(t.shape)}. Prune elements instead."
        )
    if not -t.ndim <= dim < t.ndim:
        raise RangeError(f"there is no dimension {dim} of {format_shape(t.shape)} to prune slices of")
    return dim % t.ndim


def without_smallest(scores: Tensor, default_mask: Tensor, amount: Amount) -> Tensor:
    """`default_mask` with zeros where so many scores are smallest."""
    mask, count = default_mask.clone(), _number(amount, scores.numel())
    if count:
        mask.view(-1)[topk(scores.reshape(-1), count, largest=False).indices] = 0
    return mask


def of_best_slices(scores: Tensor, t: Tensor, default_mask: Tensor, amount: Amount, dim: int) -> Tensor:
    """`default_mask` with zeros in the slices along `dim` whose scores are smallest, so many of them."""
    kept = t.shape[dim] - _number(amount, t.shape[dim])
    mask = zeros_like(t.detach())
    mask[(*[slice(None)] * dim, topk(scores, kept).indices)] = 1
    return mask * default_mask.to(mask.dtype)


__all__ = ["Amount", "checked_amount", "dimension", "fitting", "of_best_slices", "without_smallest"]
