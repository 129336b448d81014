"""Losses between numbers and numbers. Input and target have one shape; PyTorch would broadcast them."""

from __future__ import annotations

from engine.nn.functional.reduction import Reduction, reduce, require_same_shape
from engine.ops.choice import where
from engine.tensor import Tensor


def mse_loss(input: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """Squared error ``(x - y)²``."""
    require_same_shape("mse_loss", input, target)
    difference = input - target
    return reduce(difference * difference, reduction)


def l1_loss(input: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """Absolute error ``|x - y|``."""
    require_same_shape("l1_loss", input, target)
    return reduce((input - target).abs(), reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: Reduction = "mean", beta: float = 1.0) -> Tensor:
    """``(x - y)² / (2 beta)`` where ``|x - y| < beta``, else ``|x - y| - beta / 2`` (Girshick, arXiv 1504.08083)."""
    require_same_shape("smooth_l1_loss", input, target)
    if beta < 0:
        raise ValueError(f"beta must be ≥ 0, not {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    distance = (input - target).abs()
    quadratic = distance * distance * (0.5 / beta)
    return reduce(where(distance < beta, quadratic, distance - 0.5 * beta), reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: Reduction = "mean", delta: float = 1.0) -> Tensor:
    """``(x - y)² / 2`` where ``|x - y| ≤ delta``, else ``delta (|x - y| - delta / 2)`` (Huber, 1964)."""
    require_same_shape("huber_loss", input, target)
    if delta <= 0:
        raise ValueError(f"delta must be > 0, not {delta}")
    distance = (input - target).abs()
    linear = (distance - 0.5 * delta) * delta
    return reduce(where(distance <= delta, distance * distance * 0.5, linear), reduction)
