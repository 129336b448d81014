"""Binary classification losses."""

from __future__ import annotations

import math

from engine.amp.cast_policy import cast_by_name
from engine.nn.functional.activation import logsigmoid, softplus
from engine.nn.functional.reduction import Deprecated, Reduction, reduce_loss, require_same_shape, resolve_reduction
from engine.ops.probabilities import smallest_probability
from engine.tensors import Tensor


@cast_by_name
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``-(p y log σ(x) + (1 - y) log(1 - σ(x)))`` with ``p = pos_weight``, numerically stable.

    `weight` and `pos_weight` are broadcast to the input.
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    require_same_shape("binary_cross_entropy_with_logits", input, target)
    positive_loss = -logsigmoid(input)
    positive = positive_loss if pos_weight is None else ((pos_weight - 1) * target + 1) * positive_loss
    loss = (1 - target) * input + positive
    return reduce_loss(loss if weight is None else loss * weight, reduction)


@cast_by_name
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """``-(y log x + (1 - y) log(1 - x))`` for probabilities ``x``; logarithms are clamped to at least -100.

    Raises:
        RangeError: `input` has a value that is NaN or not between 0 and 1; also raised by compiled steps
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    require_same_shape("binary_cross_entropy", input, target)
    minimum = smallest_probability(input)
    loss = (target - 1) * (1 - input).clamp(min=minimum).log() - target * input.clamp(min=minimum).log()
    return reduce_loss(loss if weight is None else loss * weight, reduction)


@cast_by_name
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """``log(1 + exp(-y x))`` for targets 1 and -1, which are broadcast to the input."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    margins = -target * input
    if margins.shape != input.shape:
        require_same_shape("soft_margin_loss", input, target)
    return reduce_loss(softplus(margins, threshold=math.inf), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """`binary_cross_entropy_with_logits` averaged over the classes (last dimension)."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return reduce_loss((loss if weight is None else loss * weight).mean(-1), reduction)
