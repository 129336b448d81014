"""Losses for choosing one of several classes."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.functional.reduction import Reduction
from engine.nn.module import Module
from engine.registry import LOSSES, Probability
from engine.tensor import Tensor


@LOSSES.register(category="Classification", title="Cross entropy", tags=("classification", "softmax", "logits"))
class CrossEntropyLoss(Module):
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
        *,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        label_smoothing: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction: Reduction = reduction
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


@LOSSES.register(category="Classification", title="Negative log likelihood", tags=("classification", "log softmax"))
class NLLLoss(Module):
    """How surprising the right class is, ``-input[target]``, for log-probabilities such as `LogSoftmax` gives.

    `input` is ``N×C×…``, `target` the classes, whole numbers ``N×…``. The mean is weighted by `weight`.

    Args:
        weight: a factor for each class
        ignore_index: targets of this class do not count
        reduction: mean or sum over the samples, or none
    """

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: Reduction = "mean"
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction: Reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)
