"""Losses for yes-or-no answers."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.functional.reduction import Reduction
from engine.nn.module import Module
from engine.registry import LOSSES
from engine.tensor import Tensor


@LOSSES.register(
    category="Classification", title="Binary cross entropy with logits", tags=("sigmoid", "multi-label", "yes or no")
)
class BCEWithLogitsLoss(Module):
    """How surprising the right yes-or-no answers are, for scores: ``-(p y log σ(x) + (1 - y) log(1 - σ(x)))``.

    Targets ``y`` are from 0 to 1; ``p`` is `pos_weight`. Contains the sigmoid, and is safe for large scores.
    Input and target have one shape.

    Args:
        weight: a factor for each element; broadcasts over the input
        reduction: mean or sum over the elements, or none
        pos_weight: a factor for the positive answers of each class
    """

    def __init__(
        self, weight: Tensor | None = None, *, reduction: Reduction = "mean", pos_weight: Tensor | None = None
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)
        self.reduction: Reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(input, target, self.weight, self.reduction, self.pos_weight)


@LOSSES.register(category="Classification", title="Binary cross entropy", tags=("probability", "yes or no"))
class BCELoss(Module):
    """How surprising the right yes-or-no answers are, for probabilities: ``-(y log x + (1 - y) log(1 - x))``.

    Probabilities are what `Sigmoid` gives; `BCEWithLogitsLoss` on the scores themselves is more exact. Input and
    target have one shape.

    Args:
        weight: a factor for each element; broadcasts over the input
        reduction: mean or sum over the elements, or none
    """

    def __init__(self, weight: Tensor | None = None, *, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.reduction: Reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, self.reduction)
