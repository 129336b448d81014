"""What all metrics have in common: sums over batches, on their device, which are read at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from engine.backend import Device
from engine.dtypes import float64, int64
from engine.errors import ShapeError
from engine.modes import no_grad
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros


class Metric(ABC):
    """A figure of the batches since `reset`.

    A subclass keeps sums as attributes that are tensors, adds to them in `accumulate`, and makes a number of them in
    `compute`. They stay the same tensors, so that compiled steps find them, and are all that a checkpoint keeps.
    """

    higher_is_better: ClassVar[bool] = True
    is_costly: ClassVar[bool] = False
    """`compute` takes so long that it is called once an epoch, not after each batch."""

    def reset(self) -> None:
        """Forget all batches."""
        for _, value in self._tensors():
            value.zero_()

    def update(self, input: Tensor, target: Tensor) -> None:
        """Take in a batch.

        Args:
            input: what the network answered
            target: what it should have answered
        """
        with no_grad():
            self._move_to(input.device)
            self.accumulate(input, target)

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], tuple[str, ...]]]:
        """What a replayed step depends on: names, dicts, and keys whose values may change."""
        yield "", vars(self), ()

    @abstractmethod
    def accumulate(self, input: Tensor, target: Tensor) -> None:
        """Add a batch to the sums, by in-place ops. Raises ShapeError for shapes that do not fit."""

    @abstractmethod
    def compute(self) -> float:
        """The figure; NaN if there is none yet."""

    def table(self) -> list[list[int]] | None:
        """What the metric knows beside its number, in rows."""
        return None

    def _tensors(self) -> list[tuple[str, Tensor]]:
        return [(name, value) for name, value in vars(self).items() if isinstance(value, Tensor)]

    def _move_to(self, device: Device) -> None:
        for name, value in self._tensors():
            if value.device != device:
                setattr(self, name, value.to(device))


class MeanMetric(Metric):
    """A mean over samples. Subclasses say what one batch adds to it."""

    def __init__(self) -> None:
        self._sum, self._count = zeros((), dtype=float64), zeros((), dtype=int64)

    def accumulate(self, input: Tensor, target: Tensor) -> None:
        self._sum.add_(self.batch_sum(input, target))
        self._count.add_(self.batch_count(target))

    def compute(self) -> float:
        """The metric of all batches since `reset`; NaN if there were none."""
        count = self._count.item()
        return self.from_mean(self._sum.item() / count) if count else float("nan")

    @abstractmethod
    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        """The sum over the elements of `target` of what is averaged. Raises ShapeError for shapes that do not fit."""

    def batch_count(self, target: Tensor) -> Any:
        """How many elements `batch_sum` is a sum of."""
        return target.numel()

    def from_mean(self, mean: float) -> float:
        """From the mean to the metric."""
        return mean


def check_class_scores(metric: Metric, input: Tensor, target: Tensor, num_classes: int | None = None) -> None:
    """Raises ShapeError unless there is a target for the scores, and a score for each of `num_classes` classes."""
    if input.ndim != target.ndim + 1 or (input.shape[0], *input.shape[2:]) != tuple(target.shape):
        raise ShapeError(
            f"{type(metric).__name__}: input must hold a score for each class, N×C, and target a class for each, N; "
            f"found {format_shape(input.shape)} and {format_shape(target.shape)}."
        )
    if num_classes is not None and input.shape[1] != num_classes:
        raise ShapeError(
            f"{type(metric).__name__}: num_classes is {num_classes}, but the input has scores for {input.shape[1]} "
            f"classes. Set num_classes to {input.shape[1]}."
        )


def check_same_shape(metric: Metric, input: Tensor, target: Tensor) -> None:
    if tuple(input.shape) != tuple(target.shape):
        raise ShapeError(
            f"{type(metric).__name__}: input and target must have one shape, but are {format_shape(input.shape)} and "
            f"{format_shape(target.shape)}."
        )


__all__ = ["MeanMetric", "Metric", "check_class_scores", "check_same_shape"]
