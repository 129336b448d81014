"""Binary classification losses."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.functional.reduction import Deprecated, Reduction
from engine.nn.losses.loss import Loss, WeightedLoss, Weights, weights_of
from engine.registry import LOSSES
from engine.tensors import Tensor

GROUP = "Binary classification"


@LOSSES.register(category=GROUP, title="Binary cross entropy", learns="answers", tags=("bce", "sigmoid", "multi-label"))
class BCELoss(WeightedLoss):
    """Binary cross entropy of probabilities: ``-(y log x + (1 - y) log(1 - x))``.

    Input (for example from `Sigmoid`) and target have the same shape. `BCEWithLogitsLoss` is numerically more stable.

    Args:
        weight: weight of each element, broadcast to the input
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


@LOSSES.register(
    category=GROUP, title="Binary cross entropy with logits", learns="answers", tags=("bce", "logits", "multi-label")
)
class BCEWithLogitsLoss(WeightedLoss):
    """Binary cross entropy of logits, ``-(y log σ(x) + (1 - y) log(1 - σ(x)))``; includes the sigmoid.

    Input and target have the same shape.

    Args:
        weight: weight of each element, broadcast to the input
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
        pos_weight: weight of positive targets, broadcast to the input
    """

    def __init__(
        self,
        weight: Weights = None,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
        pos_weight: Weights = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", weights_of(pos_weight))
        self.pos_weight: Tensor | None

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


@LOSSES.register(category=GROUP, title="Soft margin", learns="answers", tags=("logistic",))
class SoftMarginLoss(Loss):
    """Logistic loss for targets 1 and -1: ``log(1 + exp(-y x))``.

    Args:
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Multi-label soft margin", learns="answers", tags=("logits", "several classes"))
class MultiLabelSoftMarginLoss(WeightedLoss):
    """Binary cross entropy of logits for several labels per sample, averaged over the classes.

    Input: logits ``(N, C)``. Target: 0 or 1, ``(N, C)``.

    Args:
        weight: weight of each class
        reduction: reduction over the samples: mean, sum, or none for the unreduced losses
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)
