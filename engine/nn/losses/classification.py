"""Losses for choosing one of several classes."""

from __future__ import annotations

from typing import Literal

from engine.nn import functional as F
from engine.nn.functional.reduction import Deprecated, Reduction
from engine.nn.losses.loss import Loss, WeightedLoss
from engine.nn.module import Module
from engine.registry import LOSSES, Probability
from engine.tensors import Tensor

GROUP = "Classification"


@LOSSES.register(category=GROUP, title="Cross entropy", learns="classes", tags=("classification", "softmax", "logits"))
class CrossEntropyLoss(WeightedLoss):
    """How surprising the right class is to the network, ``-log softmax(input)[target]``.

    `input` holds scores (logits) ``N×C×…``; `target` the classes, whole numbers ``N×…``, or a probability for each
    class, ``N×C×…``. Contains softmax. The mean is weighted by `weight`.

    Args:
        weight: a factor for each class
        ignore_index: targets of this class do not count
        reduction: mean or sum over the samples, or none
        label_smoothing: how much of each target is spread over all classes (Szegedy et al., arXiv 1512.00567)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Deprecated = None,
        ignore_index: int = -100,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
        label_smoothing: Probability = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


@LOSSES.register(
    category=GROUP, title="Negative log likelihood", learns="classes", tags=("classification", "log softmax")
)
class NLLLoss(WeightedLoss):
    """How surprising the right class is, ``-input[target]``, for log-probabilities such as `LogSoftmax` gives.

    `input` is ``N×C×…``, `target` the classes, whole numbers ``N×…``. The mean is weighted by `weight`.

    Args:
        weight: a factor for each class
        ignore_index: targets of this class do not count
        reduction: mean or sum over the samples, or none
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Deprecated = None,
        ignore_index: int = -100,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


NLLLoss2d = NLLLoss
"""PyTorch's old name of it for images."""


@LOSSES.register(category=GROUP, title="Multi-class hinge", learns="classes", tags=("svm", "margin"))
class MultiMarginLoss(WeightedLoss):
    """How much less than a margin the right class is ahead of the others, ``Σ max(0, margin - x[y] + x[i])ᵖ / C``.

    `input` holds scores ``N×C``, `target` the classes, whole numbers ``N``.

    Args:
        p: 1, or 2 for squares
        margin: how far ahead is enough
        weight: a factor for each class
        reduction: mean or sum over the samples, or none
    """

    def __init__(
        self,
        p: Literal[1, 2] = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: p must be 1 or 2, not {p}")
        super().__init__(weight, size_average, reduce, reduction)
        self.p: Literal[1, 2] = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(Loss):
    """How much less than 1 the right classes are ahead of the wrong ones, where several are right.

    `input` holds scores ``N×C``; `target` of the same shape begins with the right classes, and the first -1 ends them.

    Args:
        reduction: mean or sum over the samples, or none
    """

    def __init__(
        self, size_average: Deprecated = None, reduce: Deprecated = None, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class CTCLoss(Module):
    """How surprising a sequence of labels is, whatever its alignment with the frames of the input.

    `log_probs` is ``T×N×C`` or ``T×C``, log-probabilities of the labels and the blank in each frame; `targets` is
    ``N×S``, or all labels in a row; the lengths are ``N`` each. Source: Graves et al., ICML 2006.

    Args:
        blank: the label that stands for no label
        reduction: the mean divides each loss by its target's length first
        zero_infinity: targets that are too long for their input count as 0 instead of ∞
    """

    def __init__(self, blank: int = 0, reduction: Reduction = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank = blank
        self.reduction: Reduction = reduction
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
