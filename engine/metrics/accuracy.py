"""Shares of correct answers."""

from __future__ import annotations

from engine.metrics.metric import MeanMetric, check_class_scores, check_same_shape
from engine.registry import METRICS, Size
from engine.tensors import Tensor


@METRICS.register(category="Classification", tags=("correct", "hit rate"))
class Accuracy(MeanMetric):
    """Share of samples whose class has the highest score.

    `input` holds a score for each class, N×C or N×C×…; `target` holds the class, N or N×….
    """

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_class_scores(self, input, target)
        return (input.argmax(1) == target).sum()


@METRICS.register(category="Classification", title="Top-k accuracy", tags=("top-5", "top 5"))
class TopKAccuracy(MeanMetric):
    """Share of samples whose class is among the `k` highest scores.

    `input` holds a score for each class, N×C or N×C×…; `target` holds the class, N or N×….

    Args:
        k: how many of the highest scores count
    """

    def __init__(self, k: Size = 5) -> None:
        super().__init__()
        self.k = k

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_class_scores(self, input, target)
        own = input.gather(1, target.unsqueeze(1))
        # Other classes with the same score count as higher: a network that scores all alike knows nothing.
        others = (input >= own).sum(1) - 1
        return (others < self.k).sum()


@METRICS.register(category="Classification", title="Binary accuracy", tags=("two classes", "logit"))
class BinaryAccuracy(MeanMetric):
    """Share of elements on the right side of a threshold. `input` and `target` (0 or 1) have one shape.

    Args:
        threshold: a higher input means class 1; 0 for logits, 0.5 for probabilities
    """

    def __init__(self, threshold: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_same_shape(self, input, target)
        return ((input > self.threshold) == (target > 0.5)).sum()


__all__ = ["Accuracy", "BinaryAccuracy", "TopKAccuracy"]
