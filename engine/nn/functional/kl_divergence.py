"""Kullback-Leibler divergence."""

from __future__ import annotations

import warnings
from typing import Literal

from engine.amp.cast_policy import cast_by_name
from engine.nn.functional.reduction import Deprecated, Reduction, reduce_loss, resolve_reduction
from engine.ops.elementwise.selection import where
from engine.tensors import Tensor


@cast_by_name
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction | Literal["batchmean"] = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence ``y (log y - x)`` of log probabilities ``x`` from a target ``y``.

    Args:
        input: log probabilities
        target: probabilities, or log probabilities with `log_target`
        reduction: "batchmean" divides the sum by the batch size (the divergence), "mean" by the number of elements
        log_target: the target contains log probabilities
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        positive = target > 0
        entropy = where(positive, target * where(positive, target, 1.0).log(), target * 0)
        loss = where(target < 0, float("nan"), entropy) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss
    if reduction == "mean":
        warnings.warn(
            "kl_div with reduction='mean' divides by the number of elements, which is not the divergence. "
            "Set reduction to batchmean.",
            stacklevel=2,
        )
    return reduce_loss(loss, reduction)
