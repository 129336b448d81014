"""Base classes of losses."""

from __future__ import annotations

from typing import TypeAlias

from engine.nn.functional.reduction import Deprecated, Reduction, resolve_reduction
from engine.nn.module import Module
from engine.tensors import Tensor
from engine.tensors.creation import tensor


class Loss(Module):
    """Base of losses with a `reduction`."""

    def __init__(
        self, size_average: Deprecated = None, reduce: Deprecated = None, reduction: Reduction = "mean"
    ) -> None:
        super().__init__()
        self.reduction: Reduction = resolve_reduction(size_average, reduce, reduction)


Weights: TypeAlias = Tensor | tuple[float, ...] | None
"""A tensor of weights, or its values."""


class WeightedLoss(Loss):
    """Base of losses with a `weight` buffer."""

    def __init__(
        self,
        weight: Weights = None,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weights_of(weight))
        self.weight: Tensor | None


def weights_of(weights: Weights) -> Tensor | None:
    """Weights as a tensor."""
    return weights if weights is None or isinstance(weights, Tensor) else tensor([float(each) for each in weights])
