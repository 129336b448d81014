"""Losses for answering yes or no."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.functional.reduction import Deprecated, Reduction
from engine.nn.losses.loss import Loss, WeightedLoss
from engine.registry import LOSSES
from engine.tensors import Tensor

GROUP = "Binary classification"


@LOSSES.register(category=GROUP, title="Binary cross entropy", learns="answers", tags=("bce", "sigmoid", "multi-label"))
class BCELoss(WeightedLoss):
    """How surprising yes or no is, ``-(y log x + (1 - y) log(1 - x))``, for probabilities such as `Sigmoid` gives.

    Input and target have one shape; `BCEWithLogitsLoss` is safer.

    Args:
        weight: a factor for each element, broadcast over the input
        reduction: mean or sum over the elements, or none
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


@LOSSES.register(
    category=GROUP, title="Binary cross entropy of logits", learns="answers", tags=("bce", "logits", "multi-label")
)
class BCEWithLogitsLoss(WeightedLoss):
    """How surprising yes or no is to the network, which gives scores (logits). Contains the sigmoid.

    Input and target have one shape.

    Args:
        weight: a factor for each element, broadcast over the input
        reduction: mean or sum over the elements, or none
        pos_weight: a factor for targets that are 1, broadcast over the input
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


@LOSSES.register(category=GROUP, title="Soft margin", learns="answers", tags=("logistic",))
class SoftMarginLoss(Loss):
    """``log(1 + exp(-y x))`` for scores and targets that are 1 or -1.

    Args:
        reduction: mean or sum over the elements, or none
    """

    def __init__(
        self, size_average: Deprecated = None, reduce: Deprecated = None, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Multi-label soft margin", learns="answers", tags=("logits", "several classes"))
class MultiLabelSoftMarginLoss(WeightedLoss):
    """Binary cross entropy of logits, averaged over the classes of each sample.

    Input and target are ``N×C``, scores and zeros and ones.

    Args:
        weight: a factor for each class
        reduction: mean or sum over the samples, or none
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)
