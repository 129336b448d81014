"""Reductions of losses, and shape checks of their inputs."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, TypeVar

from engine.errors import EngineWarning, ShapeError
from engine.shape import format_shape
from engine.tensors import Tensor

Reduction: TypeAlias = Literal["mean", "sum", "none"]

Deprecated: TypeAlias = Any
"""`size_average` and `reduce`, which PyTorch replaced by `reduction`."""

R = TypeVar("R", bound=str)


def reduce_loss(loss: Tensor, reduction: Reduction) -> Tensor:
    """Mean or sum of `loss`, or `loss` unchanged for "none"."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")


def resolve_reduction(size_average: Deprecated, reduce: Deprecated, reduction: R) -> R:
    """`reduction`, or the equivalent of the deprecated arguments, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    equivalent: Reduction = "none" if reduce is not None and not reduce else "mean"
    if equivalent == "mean" and size_average is not None and not size_average:
        equivalent = "sum"
    text = "size_average and reduce were replaced by reduction."
    warnings.warn(EngineWarning(text, in_code=f"Pass reduction={equivalent!r}."), stacklevel=3)
    return equivalent  # pyright: ignore[reportReturnType] - every loss supports these three


def require_same_shape(loss: str, input: Tensor, target: Tensor) -> None:
    """Raise ShapeError unless input and target have the same shape."""
    if tuple(input.shape) != tuple(target.shape):
        message, remedy = _different_shapes(loss, input, target)
        raise ShapeError(message, in_code=remedy)


def warn_of_broadcast(loss: str, input: Tensor, target: Tensor) -> None:
    """Warn if input and target broadcast, as PyTorch does; within `exact_shapes`, raise ShapeError."""
    if tuple(input.shape) == tuple(target.shape):
        return
    message, remedy = _different_shapes(loss, input, target)
    if _SHAPES.exact or not _can_broadcast(input, target):
        raise ShapeError(message, in_code=remedy)
    text = f"{message} They broadcast, so the result is likely to be wrong."
    warnings.warn(EngineWarning(text, in_code=remedy), stacklevel=4)


class _Shapes(threading.local):
    """Thread-local flag: losses raise an error instead of broadcasting with a warning."""

    exact = False


_SHAPES = _Shapes()


@contextlib.contextmanager
def exact_shapes() -> Iterator[None]:
    """Context in which losses raise ShapeError instead of broadcasting input and target."""
    outer, _SHAPES.exact = _SHAPES.exact, True
    try:
        yield
    finally:
        _SHAPES.exact = outer


def _can_broadcast(input: Tensor, target: Tensor) -> bool:
    pairs = zip(reversed(input.shape), reversed(target.shape), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def _different_shapes(loss: str, input: Tensor, target: Tensor) -> tuple[str, str]:
    """Error message and remedy."""
    remedy = "Make both the same shape."
    if input.ndim == target.ndim + 1 and tuple(input.shape[:-1]) == tuple(target.shape) and input.shape[-1] == 1:
        remedy = "Use input.squeeze(-1) or target.unsqueeze(-1)."
    elif target.ndim == input.ndim + 1 and tuple(target.shape[:-1]) == tuple(input.shape) and target.shape[-1] == 1:
        remedy = "Use target.squeeze(-1) or input.unsqueeze(-1)."
    return (
        f"{loss} compares input and target elementwise, but the input is {format_shape(input.shape)} "
        f"and the target {format_shape(target.shape)}."
    ), remedy
