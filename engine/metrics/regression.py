"""Regression metrics, and perplexity."""

from __future__ import annotations

import math

from engine.dtypes import float64
from engine.metrics.metric import MeanMetric, Metric, check_class_scores, check_same_shape
from engine.ops.cross_entropy import cross_entropy_op
from engine.registry import METRICS
from engine.tensors import Tensor
from engine.tensors.creation import zeros


@METRICS.register(category="Regression", title="Mean absolute error", tags=("MAE", "L1"))
class MeanAbsoluteError(MeanMetric):
    """Mean absolute difference between input and target of the same shape, in the unit of the target."""

    higher_is_better = False

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_same_shape(self, input, target)
        return (input - target).abs().to(float64).sum()


@METRICS.register(category="Regression", title="Root mean squared error", tags=("RMSE", "MSE", "L2"))
class RootMeanSquaredError(MeanMetric):
    """Root mean squared difference between input and target of the same shape, in the unit of the target."""

    higher_is_better = False

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_same_shape(self, input, target)
        difference = (input - target).to(float64)
        return (difference * difference).sum()

    def from_mean(self, mean: float) -> float:
        return mean**0.5


@METRICS.register(category="Regression", title="R²", tags=("coefficient of determination", "explained variance", "r2"))
class R2(Metric):
    """Coefficient of determination: 1 − Σ(y − ŷ)² / Σ(y − mean y)².

    1 is perfect; 0 is as good as predicting the mean. Input and target have the same shape. Batches are combined as in
    Chan et al., Updating formulae for computing sample variances, 1979.
    """

    def __init__(self) -> None:
        self._count, self._mean, self._squares, self._errors = (zeros((), dtype=float64) for _ in range(4))

    def accumulate(self, input: Tensor, target: Tensor) -> None:
        check_same_shape(self, input, target)
        predictions, values = input.to(float64), target.to(float64)
        mean, size = values.mean(), values.numel()
        old_count, shift = self._count.clone(), mean - self._mean
        self._count.add_(size)
        self._mean.add_(shift * size / self._count)
        self._squares.add_((values - mean).square().sum() + shift * shift * size * old_count / self._count)
        self._errors.add_((values - predictions).square().sum())

    def compute(self) -> float:
        """Value of the metric; NaN if all targets are equal."""
        squares = self._squares.item()
        return 1 - self._errors.item() / squares if squares > 0 else float("nan")


@METRICS.register(category="Language", tags=("language model", "cross entropy", "bits"))
class Perplexity(MeanMetric):
    """Exponential of the mean cross entropy.

    Input: logits ``(N, C, *)``. Target: class indices ``(N, *)``.

    Args:
        ignore_index: target class that does not contribute
    """

    higher_is_better = False

    def __init__(self, ignore_index: int = -100) -> None:
        super().__init__()
        self.ignore_index = ignore_index

    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        check_class_scores(self, input, target)
        rows = input.movedim(1, -1).reshape(-1, input.shape[1])
        return cross_entropy_op(rows, target.reshape(-1), ignore_index=self.ignore_index, reduction="sum")[0].to(
            float64
        )

    def batch_count(self, target: Tensor) -> Tensor:
        return (target != self.ignore_index).sum()

    def from_mean(self, mean: float) -> float:
        return math.exp(mean) if mean < 700 else math.inf


__all__ = ["R2", "MeanAbsoluteError", "Perplexity", "RootMeanSquaredError"]
