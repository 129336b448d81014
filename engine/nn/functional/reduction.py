"""How the losses of single elements become one loss."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from engine.errors import ShapeError
from engine.shape import format_shape
from engine.tensor import Tensor

Reduction: TypeAlias = Literal["mean", "sum", "none"]

Old: TypeAlias = Any
"""`size_average` and `reduce`, which PyTorch replaced by `reduction`. They keep their places and are refused."""


def reduced(loss: Tensor, reduction: Reduction) -> Tensor:
    """The mean or the sum of `loss`, or `loss` itself for "none"."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")


def refuse_old(size_average: Old, reduce: Old) -> None:
    """Raises TypeError if one of PyTorch's old arguments is used, and says what to write instead."""
    if size_average is None and reduce is None:
        return
    if reduce is False:
        means = "none"
    else:
        means = "sum" if size_average is False else "mean"
    raise TypeError(f"size_average and reduce were replaced by reduction. Pass reduction={means!r} instead.")


def require_same_shape(loss: str, input: Tensor, target: Tensor) -> None:
    """Raises ShapeError where PyTorch would broadcast and train on pairs that do not belong together."""
    if tuple(input.shape) == tuple(target.shape):
        return
    remedy = "Make both the same shape."
    if input.ndim == target.ndim + 1 and tuple(input.shape[:-1]) == tuple(target.shape) and input.shape[-1] == 1:
        remedy = "Use input.squeeze(-1) or target.unsqueeze(-1)."
    elif target.ndim == input.ndim + 1 and tuple(target.shape[:-1]) == tuple(input.shape) and target.shape[-1] == 1:
        remedy = "Use target.squeeze(-1) or input.unsqueeze(-1)."
    raise ShapeError(
        f"{loss} compares numbers one by one, but the input is {format_shape(input.shape)} "
        f"and the target {format_shape(target.shape)}. {remedy}"
    )
