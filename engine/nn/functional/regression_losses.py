"""Regression losses. Inputs and targets of different shapes broadcast with a warning."""

from __future__ import annotations

import math

from engine.amp.cast_policy import cast_by_name
from engine.errors import ShapeError
from engine.nn.functional.reduction import Deprecated, Reduction, reduce_loss, resolve_reduction, warn_of_broadcast
from engine.ops.elementwise.selection import where
from engine.shape import format_shape
from engine.tensors import Tensor


@cast_by_name
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared error ``(x - y)²``; the mean is weighted by `weight`."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    warn_of_broadcast("mse_loss", input, target)
    difference = input - target
    return _weighted(difference * difference, input, weight, reduction)


@cast_by_name
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute error ``|x - y|``; the mean is weighted by `weight`."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    warn_of_broadcast("l1_loss", input, target)
    return _weighted((input - target).abs(), input, weight, reduction)


@cast_by_name
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``(x - y)² / (2 beta)`` where ``|x - y| < beta``, else ``|x - y| - beta / 2`` (Girshick, arXiv 1504.08083)."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    warn_of_broadcast("smooth_l1_loss", input, target)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta must be ≥ 0, not {beta}")
    distance = (input - target).abs()
    if beta == 0:
        return reduce_loss(distance, reduction)
    quadratic = distance * distance * (0.5 / beta)
    return reduce_loss(where(distance < beta, quadratic, distance - 0.5 * beta), reduction)


@cast_by_name
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: Reduction = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``(x - y)² / 2`` where ``|x - y| ≤ delta``, else ``delta (|x - y| - delta / 2)`` (Huber, 1964).

    The mean is over all elements, also with `weight`, as in PyTorch.
    """
    warn_of_broadcast("huber_loss", input, target)
    if delta <= 0:
        raise ValueError(f"huber_loss: delta must be > 0, not {delta}")
    distance = (input - target).abs()
    linear = (distance - 0.5 * delta) * delta
    loss = where(distance <= delta, distance * distance * 0.5, linear)
    return reduce_loss(loss if weight is None else loss * _check_weight(weight, input), reduction)


@cast_by_name
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Deprecated = None,
    eps: float = 1e-8,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Poisson negative log likelihood ``exp(x) - y x``; `full` adds Stirling's approximation of ``log y!``.

    `input` is the logarithm of the expected count; without `log_input`, the expected count, to which `eps` is added.
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        safe = where(target > 1, target, 1.0)
        stirling = safe * safe.log() - safe + (safe * (2 * math.pi)).log() * 0.5
        loss = loss + where(target > 1, stirling, 0.0)
    return reduce_loss(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: Reduction = "mean",
) -> Tensor:
    """Gaussian negative log likelihood ``(log v + (x - y)² / v) / 2`` with the variance `var`.

    `var` has the shape of `input`, with size 1 in one dimension or without the last dimension. It is clamped to at
    least `eps`, which gradients ignore. `full` adds the constant ``log(2π) / 2``.
    """
    variance = _variance(input, var)
    if not variance.is_meta and bool((variance < 0).any()):
        raise ValueError("gaussian_nll_loss: var must not be negative")
    # As in PyTorch, the clamp is invisible to autograd: variances below eps get the gradient at eps.
    variance = variance + (variance.detach().clamp(min=eps) - variance.detach())
    difference = input - target
    loss = (variance.log() + difference * difference / variance) * 0.5
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def _variance(input: Tensor, var: Tensor | float) -> Tensor:
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: var must not be negative, but is {var}")
        return input.new_full(input.shape, var)
    if tuple(var.shape) == tuple(input.shape):
        return var
    if tuple(var.shape) == tuple(input.shape[:-1]):
        return var.unsqueeze(-1)
    if var.ndim == input.ndim:
        different = [var_size for var_size, size in zip(var.shape, input.shape, strict=True) if var_size != size]
        if different == [1]:
            return var
    raise ShapeError(
        f"gaussian_nll_loss: var must have the shape of the input {format_shape(input.shape)}, without the "
        f"last dimension or with size 1 in one dimension, not {format_shape(var.shape)}"
    )


def _weighted(loss: Tensor, input: Tensor, weight: Tensor | None, reduction: Reduction) -> Tensor:
    """Reduce weighted losses; the mean divides by the sum of the weights."""
    if weight is None:
        return reduce_loss(loss, reduction)
    loss = loss * _check_weight(weight, input)
    return loss.sum() / weight.sum() if reduction == "mean" else reduce_loss(loss, reduction)


def _check_weight(weight: Tensor, input: Tensor) -> Tensor:
    if tuple(weight.shape) != tuple(input.shape):
        raise ShapeError(
            f"weight must have the shape of the input, {format_shape(input.shape)}, not {format_shape(weight.shape)}"
        )
    return weight
