"""Base classes of losses."""

from __future__ import annotations

from engine.nn.functional.reduction import Deprecated, Reduction, resolve_reduction
from engine.nn.module import Module
from engine.tensors import Tensor


class Loss(Module):
    """Base of losses with a `reduction`."""

    def __init__(
        self, size_average: Deprecated = None, reduce: Deprecated = None, reduction: Reduction = "mean"
    ) -> None:
        super().__init__()
        self.reduction: Reduction = resolve_reduction(size_average, reduce, reduction)


class WeightedLoss(Loss):
    """Base of losses with a `weight` buffer."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.weight: Tensor | None
