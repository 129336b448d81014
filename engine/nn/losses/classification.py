"""Classification losses."""

from __future__ import annotations

from typing import Literal

from engine.dtypes import int64
from engine.nn import functional as F
from engine.nn.functional.reduction import Deprecated, Reduction
from engine.nn.losses.loss import Loss, WeightedLoss, Weights
from engine.nn.module import Module
from engine.registry import LOSSES, Probability
from engine.tensors import Tensor
from engine.tensors.creation import full

GROUP = "Classification"


@LOSSES.register(category=GROUP, title="Cross entropy", learns="classes", tags=("classification", "softmax", "logits"))
class CrossEntropyLoss(WeightedLoss):
    """Cross entropy of logits and target classes, ``-log softmax(input)[target]``; includes the softmax.

    Input: logits ``(N, C, *)``. Target: class indices ``(N, *)``, or class probabilities ``(N, C, *)``. The mean is
    weighted by `weight`.

    Args:
        weight: weight of each class
        ignore_index: target class that does not contribute to the loss
        reduction: reduction over the samples: mean, sum, or none for the unreduced losses
        label_smoothing: probability mass of each target that is spread over all classes (Szegedy et al., arXiv
            1512.00567)
    """

    def __init__(
        self,
        weight: Weights = None,
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
    """Negative log likelihood of log probabilities, for example from `LogSoftmax`: ``-input[target]``.

    Input: ``(N, C, *)``. Target: class indices ``(N, *)``. The mean is weighted by `weight`.

    Args:
        weight: weight of each class
        ignore_index: target class that does not contribute to the loss
        reduction: reduction over the samples: mean, sum, or none for the unreduced losses
    """

    def __init__(
        self,
        weight: Weights = None,
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
"""Deprecated name in PyTorch."""


@LOSSES.register(category=GROUP, title="Multi-class margin", learns="classes", tags=("svm", "margin"))
class MultiMarginLoss(WeightedLoss):
    """Multi-class hinge loss: ``Σᵢ max(0, margin - x[y] + x[i])ᵖ / C`` over the classes ``i ≠ y``.

    Input: scores ``(N, C)``. Target: class indices ``N``.

    Args:
        p: exponent, 1 or 2
        margin: margin between the score of the target class and other scores
        weight: weight of each class
        reduction: reduction over the samples: mean, sum, or none for the unreduced losses
    """

    def __init__(
        self,
        p: Literal[1, 2] = 1,
        margin: float = 1.0,
        weight: Weights = None,
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


@LOSSES.register(category=GROUP, title="Multi-label margin", tags=("svm", "margin", "multi-label"))
class MultiLabelMarginLoss(Loss):
    """Multi-label hinge loss: ``Σ max(0, 1 - (x[y] - x[i])) / C`` over target classes ``y`` and other classes ``i``.

    Input: scores ``(N, C)``. Target: ``(N, C)``, target classes in each row, terminated by -1.

    Args:
        reduction: reduction over the samples: mean, sum, or none for the unreduced losses
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


@LOSSES.register(
    category="Sequences",
    title="Connectionist temporal classification",
    tags=("ctc", "alignment", "speech", "handwriting", "recognition"),
)
class CTCLoss(Module):
    """Connectionist temporal classification: negative log likelihood of a label sequence over all alignments.

    `log_probs`: log probabilities of labels and blank per frame, ``(T, N, C)`` or ``(T, C)``. `targets`: ``(N, S)``, or
    all label sequences concatenated. Lengths: ``N`` each, all frames and labels by default. Source: Graves et al., ICML
    2006.

    Args:
        blank: index of the blank label
        reduction: reduction over the samples; the mean first divides each loss by its target length
        zero_infinity: replace infinite losses of targets that are too long for their input by 0
    """

    def __init__(self, blank: int = 0, reduction: Reduction = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank = blank
        self.reduction: Reduction = reduction
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | None = None,
        target_lengths: Tensor | None = None,
    ) -> Tensor:
        """Loss of label sequences.

        Args:
            log_probs: log probabilities, (T, N, C)
            targets: labels, (N, S)
            input_lengths: number of frames of each sample (default: T)
            target_lengths: number of labels of each sample (default: S)
        """
        frames = _whole(log_probs, log_probs.shape[0]) if input_lengths is None else input_lengths
        labels = _whole(log_probs, targets.shape[-1]) if target_lengths is None else target_lengths
        return F.ctc_loss(log_probs, targets, frames, labels, self.blank, self.reduction, self.zero_infinity)


def _whole(log_probs: Tensor, length: int) -> Tensor:
    """The same length for each sample."""
    samples = log_probs.shape[1] if log_probs.ndim == 3 else 1
    return full((samples,), length, dtype=int64, device=log_probs.device)
