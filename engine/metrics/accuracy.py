"""Accuracy metrics."""

from __future__ import annotations

from engine.metrics.metric import MeanMetric, check_class_scores, check_same_shape
from engine.registry import METRICS, Size
from engine.tensors import Tensor


@METRICS.register(category="Classification", tags=("correct", "hit rate"))
class Accuracy(MeanMetric):
    """Fraction of samples whose target class has the highest score.

    Input: scores ``(N, C, *)``. Target: class indices ``(N, *)``.
    """

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_class_scores(self, input, target)
        return (input.argmax(1) == target).sum()


@METRICS.register(category="Classification", title="Top-k accuracy", tags=("top-5", "top 5"))
class TopKAccuracy(MeanMetric):
    """Fraction of samples whose target class is among the `k` highest scores.

    Input: scores ``(N, C, *)``. Target: class indices ``(N, *)``.

    Args:
        k: number of highest scores to consider
    """

    def __init__(self, k: Size = 5) -> None:
        super().__init__()
        self.k = k

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_class_scores(self, input, target)
        target_scores = input.gather(1, target.unsqueeze(1))
        # Ties count against the target class, so that constant scores give an accuracy of 0.
        n_higher = (input >= target_scores).sum(1) - 1
        return (n_higher < self.k).sum()


@METRICS.register(category="Classification", title="Binary accuracy", tags=("two classes", "logit"))
class BinaryAccuracy(MeanMetric):
    """Fraction of elements on the correct side of a threshold. Input and target (0 or 1) have the same shape.

    Args:
        threshold: inputs above it count as class 1; use 0 for logits and 0.5 for probabilities
    """

    def __init__(self, threshold: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_same_shape(self, input, target)
        return ((input > self.threshold) == (target > 0.5)).sum()


__all__ = ["Accuracy", "BinaryAccuracy", "TopKAccuracy"]
