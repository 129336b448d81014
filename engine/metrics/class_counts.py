"""Metrics of which class was taken for which."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.dtypes import float64, int64
from engine.metrics.metric import Metric, check_class_scores, check_same_shape
from engine.registry import METRICS, FromInput, Range
from engine.tensors import Tensor
from engine.tensors.creation import ones_like, zeros

Average: TypeAlias = Literal["macro", "micro", "weighted"]
Classes: TypeAlias = Annotated[int, Range(ge=1, le=1_000_000), FromInput(1)]

LARGEST_TABLE = 100
"""Classes up to which a confusion matrix is told as a table."""


class ClassCounts(Metric):
    """Counts for each class: answers, targets, and how many of them are the same samples.

    With `num_classes` 1 there are no scores of classes: an answer is yes if it is above a threshold.

    Args:
        num_classes: of the scores; 1 for yes or no
        average: over the classes that there are, over all samples, or over classes by how many targets they have
        threshold: of yes or no: a higher input means yes; 0 for logits, 0.5 for probabilities
    """

    is_costly = True

    def __init__(self, num_classes: Classes, average: Average = "macro", threshold: float = 0.0) -> None:
        self.num_classes = num_classes
        self.average: Average = average
        self.threshold = threshold
        self._same, self._answers, self._targets = (zeros(num_classes, dtype=int64) for _ in range(3))

    def accumulate(self, input: Tensor, target: Tensor) -> None:
        if self.num_classes == 1:
            check_same_shape(self, input, target)
            answer, truth = input > self.threshold, target > 0.5
            self._same.add_((answer & truth).sum())
            self._answers.add_(answer.sum())
            self._targets.add_(truth.sum())
            return
        check_class_scores(self, input, target, self.num_classes)
        answer, truth = input.argmax(1).reshape(-1), target.reshape(-1)
        self._same.index_add_(0, truth, (answer == truth).to(int64))
        self._answers.index_add_(0, answer, ones_like(answer))
        self._targets.index_add_(0, truth, ones_like(answer))

    def compute(self) -> float:
        """NaN if there were no samples of any class."""
        counts = (self._same, self._answers, self._targets)
        same, answers, targets = (count.to(float64).numpy(force=True) for count in counts)
        known = answers + targets > 0
        if not known.any():
            return float("nan")
        if self.average == "micro":
            return float(
                self.per_class(same.sum(keepdims=True), answers.sum(keepdims=True), targets.sum(keepdims=True))[0]
            )
        shares = self.per_class(same[known], answers[known], targets[known])
        weights = targets[known] if self.average == "weighted" and targets.any() else None
        return float(np.average(shares, weights=weights))

    @abstractmethod
    def per_class(self, same: NDArray[Any], answers: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        """The figure of each class."""


@METRICS.register(category="Classification", tags=("positive predictive value", "false positives"))
class Precision(ClassCounts):
    """Share of the answers for a class that are right; 0 where there are none.

    `input` holds a score for each class, N×C or N×C×…, and `target` the class; or, for yes or no, both have one shape.
    """

    def per_class(self, same: NDArray[Any], answers: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        return _ratio(same, answers)


@METRICS.register(category="Classification", tags=("sensitivity", "hit rate", "false negatives"))
class Recall(ClassCounts):
    """Share of the targets of a class that are found; 0 where there are none.

    `input` holds a score for each class, N×C or N×C×…, and `target` the class; or, for yes or no, both have one shape.
    """

    def per_class(self, same: NDArray[Any], answers: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        return _ratio(same, targets)


@METRICS.register(category="Classification", title="F1 score", tags=("harmonic mean", "dice"))
class F1(ClassCounts):
    """Harmonic mean of precision and recall.

    `input` holds a score for each class, N×C or N×C×…, and `target` the class; or, for yes or no, both have one shape.
    """

    def per_class(self, same: NDArray[Any], answers: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        return _ratio(2 * same, answers + targets)


@METRICS.register(category="Classification", title="Confusion matrix", tags=("errors", "classes"))
class ConfusionMatrix(Metric):
    """How often which class was taken for which. As a number it is the share of correct answers.

    `input` holds a score for each class, N×C or N×C×…; `target` holds the class, N or N×….

    Args:
        num_classes: how many classes the scores are for
    """

    is_costly = True

    def __init__(self, num_classes: Annotated[int, Range(ge=1, le=10_000), FromInput(1)]) -> None:
        self.num_classes = num_classes
        self._counts = zeros(num_classes * num_classes, dtype=int64)

    def accumulate(self, input: Tensor, target: Tensor) -> None:
        check_class_scores(self, input, target, self.num_classes)
        places = (target * self.num_classes + input.argmax(1)).reshape(-1)
        self._counts.index_add_(0, places, ones_like(places))

    def compute(self) -> float:
        matrix = self.matrix()
        return float(np.trace(matrix) / matrix.sum()) if matrix.any() else float("nan")

    def matrix(self) -> NDArray[np.int64]:
        """C×C: rows are targets, columns answers."""
        return self._counts.numpy(force=True).reshape(self.num_classes, self.num_classes).copy()

    def table(self) -> list[list[int]] | None:
        return self.matrix().tolist() if self.num_classes <= LARGEST_TABLE else None


@METRICS.register(category="Classification", title="Area under the ROC curve", tags=("AUROC", "ranking", "ROC"))
class AUC(Metric):
    """How likely a random yes has a higher score than a random no; equal ones count one half.

    `input` holds scores of any kind, `target`, of the same shape, 0 or 1. Scores are counted in 65,536 places, so that
    those count as equal which are closer than a thousandth of their size (or 1e-6).
    """

    is_costly = True

    def __init__(self) -> None:
        self._yes, self._no = zeros(_BINS, dtype=int64), zeros(_BINS, dtype=int64)

    def accumulate(self, input: Tensor, target: Tensor) -> None:
        check_same_shape(self, input, target)
        scores = input.reshape(-1).to(float64)
        log_scores = scores.sign() * (scores.abs() * 1e6).log1p() / _LARGEST_LOG
        places = ((log_scores + 1) * (_BINS / 2)).floor().clamp(0, _BINS - 1).to(int64)
        yes = (target.reshape(-1) > 0.5).to(int64)
        self._yes.index_add_(0, places, yes)
        self._no.index_add_(0, places, 1 - yes)

    def compute(self) -> float:
        """NaN without both kinds of targets."""
        yes, no = (count.to(float64).numpy(force=True) for count in (self._yes, self._no))
        below = np.cumsum(no) - no
        pairs = yes.sum() * no.sum()
        return float((yes * (below + no / 2)).sum() / pairs) if pairs else float("nan")


_BINS, _LARGEST_LOG = 65536, 28.0
"""log1p of a million times the score is below 28 for scores up to a million."""


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[Any]:
    return part / np.maximum(whole, 1)


__all__ = ["AUC", "F1", "ClassCounts", "ConfusionMatrix", "Precision", "Recall"]
