"""Losses of yes-or-no predictions. Input and target have one shape."""

from __future__ import annotations

import math

from engine.nn.functional.activation import logsigmoid
from engine.nn.functional.reduction import Reduction, reduce, require_same_shape
from engine.tensor import Tensor


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``-(p y log σ(x) + (1 - y) log(1 - σ(x)))`` with ``p = pos_weight``, safe for large ``|x|``.

    `weight` and `pos_weight` broadcast over the input.
    """
    require_same_shape("binary_cross_entropy_with_logits", input, target)
    surprise = -logsigmoid(input)
    positive = surprise if pos_weight is None else ((pos_weight - 1) * target + 1) * surprise
    loss = (1 - target) * input + positive
    return reduce(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: Reduction = "mean"
) -> Tensor:
    """``-(y log x + (1 - y) log(1 - x))`` for probabilities ``x``; logarithms stop at -100, so that it stays finite."""
    require_same_shape("binary_cross_entropy", input, target)
    least = math.exp(-100)
    loss = (target - 1) * (1 - input).clamp(min=least).log() - target * input.clamp(min=least).log()
    return reduce(loss if weight is None else loss * weight, reduction)
