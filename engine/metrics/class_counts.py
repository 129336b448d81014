"""Metrics computed from counts per class: precision, recall, F1, confusion matrix, AUC."""

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
"""Maximal number of classes for which a confusion matrix is shown as a table."""


class ClassCounts(Metric):
    """Base of metrics from the counts of predictions, targets and true positives per class.

    With `num_classes` = 1, the input is one score per sample, which is compared with `threshold`.

    Args:
        num_classes: number of classes; 1 for binary classification
        average: average over classes (macro), over samples (micro), or over classes weighted by their targets
        threshold: decision threshold if binary: 0 for logits, 0.5 for probabilities
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
            prediction, actual = input > self.threshold, target > 0.5
            self._same.add_((prediction & actual).sum())
            self._answers.add_(prediction.sum())
            self._targets.add_(actual.sum())
            return
        check_class_scores(self, input, target, self.num_classes)
        prediction, actual = input.argmax(1).reshape(-1), target.reshape(-1)
        self._same.index_add_(0, actual, (prediction == actual).to(int64))
        self._answers.index_add_(0, prediction, ones_like(prediction))
        self._targets.index_add_(0, actual, ones_like(prediction))

    def compute(self) -> float:
        """The averaged metric; NaN without samples."""
        counts = (self._same, self._answers, self._targets)
        correct, predicted, targets = (count.to(float64).numpy(force=True) for count in counts)
        present = predicted + targets > 0
        if not present.any():
            return float("nan")
        if self.average == "micro":
            return float(
                self.per_class(correct.sum(keepdims=True), predicted.sum(keepdims=True), targets.sum(keepdims=True))[0]
            )
        values = self.per_class(correct[present], predicted[present], targets[present])
        weights = targets[present] if self.average == "weighted" and targets.any() else None
        return float(np.average(values, weights=weights))

    @abstractmethod
    def per_class(self, correct: NDArray[Any], predicted: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        """Value of the metric for each class, from the counts of true positives, predictions and targets."""


@METRICS.register(category="Classification", tags=("positive predictive value", "false positives"))
class Precision(ClassCounts):
    """Precision: fraction of the predictions of a class that are correct; 0 without predictions.

    Input: scores ``(N, C, *)`` with class indices ``(N, *)`` as target; or, if binary, both of the same shape.
    """

    def per_class(self, correct: NDArray[Any], predicted: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        return _ratio(correct, predicted)


@METRICS.register(category="Classification", tags=("sensitivity", "hit rate", "false negatives"))
class Recall(ClassCounts):
    """Recall: fraction of the targets of a class that are predicted correctly; 0 without targets.

    Input: scores ``(N, C, *)`` with class indices ``(N, *)`` as target; or, if binary, both of the same shape.
    """

    def per_class(self, correct: NDArray[Any], predicted: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        return _ratio(correct, targets)


@METRICS.register(category="Classification", title="F1 score", tags=("harmonic mean", "dice"))
class F1(ClassCounts):
    """Harmonic mean of precision and recall.

    Input: scores ``(N, C, *)`` with class indices ``(N, *)`` as target; or, if binary, both of the same shape.
    """

    def per_class(self, correct: NDArray[Any], predicted: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        return _ratio(2 * correct, predicted + targets)


@METRICS.register(category="Classification", title="Confusion matrix", tags=("errors", "classes"))
class ConfusionMatrix(Metric):
    """Counts of samples by target class and predicted class. The scalar value is the accuracy.

    Input: scores ``(N, C, *)``. Target: class indices ``(N, *)``.

    Args:
        num_classes: number of classes
    """

    is_costly = True

    def __init__(self, num_classes: Annotated[int, Range(ge=1, le=10_000), FromInput(1)]) -> None:
        self.num_classes = num_classes
        self._counts = zeros(num_classes * num_classes, dtype=int64)

    def accumulate(self, input: Tensor, target: Tensor) -> None:
        check_class_scores(self, input, target, self.num_classes)
        bins = (target * self.num_classes + input.argmax(1)).reshape(-1)
        self._counts.index_add_(0, bins, ones_like(bins))

    def compute(self) -> float:
        matrix = self.matrix()
        return float(np.trace(matrix) / matrix.sum()) if matrix.any() else float("nan")

    def matrix(self) -> NDArray[np.int64]:
        """Counts ``(C, C)``: rows are target classes, columns predicted classes."""
        return self._counts.numpy(force=True).reshape(self.num_classes, self.num_classes).copy()

    def table(self) -> list[list[int]] | None:
        return self.matrix().tolist() if self.num_classes <= LARGEST_TABLE else None


@METRICS.register(category="Classification", title="Area under the ROC curve", tags=("AUROC", "ranking", "ROC"))
class AUC(Metric):
    """Area under the ROC curve: probability that a positive sample scores higher than a negative one.

    Input: scores. Target: 0 or 1, same shape. Scores are counted in 65,536 bins, so scores that differ by less than a
    thousandth (or 1e-6) count as ties, which contribute one half.
    """

    is_costly = True

    def __init__(self) -> None:
        self._yes, self._no = zeros(_BINS, dtype=int64), zeros(_BINS, dtype=int64)

    def accumulate(self, input: Tensor, target: Tensor) -> None:
        check_same_shape(self, input, target)
        scores = input.reshape(-1).to(float64)
        log_scores = scores.sign() * (scores.abs() * 1e6).log1p() / _LARGEST_LOG
        bins = ((log_scores + 1) * (_BINS / 2)).floor().clamp(0, _BINS - 1).to(int64)
        yes = (target.reshape(-1) > 0.5).to(int64)
        self._yes.index_add_(0, bins, yes)
        self._no.index_add_(0, bins, 1 - yes)

    def compute(self) -> float:
        """The area; NaN without positive or without negative targets."""
        yes, no = (count.to(float64).numpy(force=True) for count in (self._yes, self._no))
        negatives_below = np.cumsum(no) - no
        pairs = yes.sum() * no.sum()
        return float((yes * (negatives_below + no / 2)).sum() / pairs) if pairs else float("nan")


_BINS, _LARGEST_LOG = 65536, 28.0
"""Number of bins, and an upper bound of ``log1p(1e6 |score|)`` for scores up to a million."""


def _ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> NDArray[Any]:
    return numerator / np.maximum(denominator, 1)


__all__ = ["AUC", "F1", "ClassCounts", "ConfusionMatrix", "Precision", "Recall"]
