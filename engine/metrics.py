"""What a run is judged by. Metrics collect batches on their device and are read once at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from engine.creation import zeros
from engine.dtypes import float64, int64
from engine.errors import ShapeError
from engine.modes import no_grad
from engine.registry import METRICS, Size
from engine.shape import format_shape
from engine.tensor import Tensor


class Metric(ABC):
    """A mean over samples. Subclasses say what one batch adds to it.

    Its sums are tensors that stay the same ones, so that compiled steps find them and add to them.
    """

    higher_is_better: ClassVar[bool] = True
    is_costly: ClassVar[bool] = False
    """`compute` takes so long that it is called once an epoch, not after each batch."""

    def __init__(self) -> None:
        self._sum, self._count = zeros((), dtype=float64), zeros((), dtype=int64)

    def reset(self) -> None:
        """Forget all batches."""
        self._sum.zero_()
        self._count.zero_()

    def update(self, input: Tensor, target: Tensor) -> None:
        """Take in a batch.

        Args:
            input: what the network answered
            target: what it should have answered
        """
        with no_grad():
            total = self.total(input, target)
            if self._sum.device != total.device:
                self._sum, self._count = self._sum.to(total.device), self._count.to(total.device)
            self._sum.add_(total)
            self._count.add_(target.numel())

    def tensor_places(self) -> Iterator[tuple[str, Mapping[str, Any], str, Any]]:
        """What a compiled step depends on: name, table, key, and what is there now."""
        for name, value in vars(self).items():
            yield name, vars(self), name, value

    def compute(self) -> float:
        """The metric of all batches since `reset`; NaN if there were none."""
        count = self._count.item()
        return self.finish(self._sum.item() / count) if count else float("nan")

    def table(self) -> list[list[int]] | None:
        """What the metric knows beside its number, in rows."""
        return None

    @abstractmethod
    def total(self, input: Tensor, target: Tensor) -> Tensor:
        """The sum over the elements of `target` of what is averaged. Raises ShapeError for shapes that do not fit."""

    def finish(self, mean: float) -> float:
        """From the mean to the metric."""
        return mean


@METRICS.register(category="Classification", tags=("correct", "hit rate"))
class Accuracy(Metric):
    """Share of samples whose class has the highest score.

    `input` holds a score for each class, N×C or N×C×…; `target` holds the class, N or N×….
    """

    def total(self, input: Tensor, target: Tensor) -> Tensor:
        _check_classes(self, input, target)
        return (input.argmax(1) == target).sum()


@METRICS.register(category="Classification", title="Top-k accuracy", tags=("top-5", "top 5"))
class TopKAccuracy(Metric):
    """Share of samples whose class is among the `k` highest scores.

    `input` holds a score for each class, N×C or N×C×…; `target` holds the class, N or N×….

    Args:
        k: how many of the highest scores count
    """

    def __init__(self, k: Size = 5) -> None:
        super().__init__()
        self.k = k

    def total(self, input: Tensor, target: Tensor) -> Tensor:
        _check_classes(self, input, target)
        own = input.gather(1, target.unsqueeze(1))
        # Other classes with the same score count as higher: a network that scores all alike knows nothing.
        others = (input >= own).sum(1) - 1
        return (others < self.k).sum()


@METRICS.register(category="Classification", title="Binary accuracy", tags=("two classes", "logit"))
class BinaryAccuracy(Metric):
    """Share of elements on the right side of a threshold. `input` and `target` (0 or 1) have one shape.

    Args:
        threshold: a higher input means class 1; 0 for logits, 0.5 for probabilities
    """

    def __init__(self, threshold: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold

    def total(self, input: Tensor, target: Tensor) -> Tensor:
        _check_equal(self, input, target)
        return ((input > self.threshold) == (target > 0.5)).sum()


@METRICS.register(category="Regression", title="Mean absolute error", tags=("MAE", "L1"))
class MeanAbsoluteError(Metric):
    """Mean distance between `input` and `target` of one shape, in the units of the target."""

    higher_is_better = False

    def total(self, input: Tensor, target: Tensor) -> Tensor:
        _check_equal(self, input, target)
        return (input - target).abs().to(float64).sum()


@METRICS.register(category="Regression", title="Root mean squared error", tags=("RMSE", "MSE", "L2"))
class RootMeanSquaredError(Metric):
    """Root of the mean squared distance between `input` and `target` of one shape, in the units of the target."""

    higher_is_better = False

    def total(self, input: Tensor, target: Tensor) -> Tensor:
        _check_equal(self, input, target)
        difference = (input - target).to(float64)
        return (difference * difference).sum()

    def finish(self, mean: float) -> float:
        return mean**0.5


def _check_classes(metric: Metric, input: Tensor, target: Tensor) -> None:
    if input.ndim != target.ndim + 1 or (input.shape[0], *input.shape[2:]) != tuple(target.shape):
        raise ShapeError(
            f"{type(metric).__name__}: input must hold a score for each class, N×C, and target a class for each, N; "
            f"found {format_shape(input.shape)} and {format_shape(target.shape)}."
        )


def _check_equal(metric: Metric, input: Tensor, target: Tensor) -> None:
    if tuple(input.shape) != tuple(target.shape):
        raise ShapeError(
            f"{type(metric).__name__}: input and target must have one shape, but are {format_shape(input.shape)} and "
            f"{format_shape(target.shape)}."
        )
