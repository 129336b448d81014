"""Base classes of metrics, which accumulate sums over batches on the device."""

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
    """Base class of metrics over all batches since `reset`.

    A subclass keeps its sums in tensor attributes, adds to them in place in `accumulate`, and computes the value in
    `compute`. Checkpoints store exactly these tensors.
    """

    higher_is_better: ClassVar[bool] = True
    is_costly: ClassVar[bool] = False
    """`compute` is slow, so it is called once per epoch instead of after each batch."""

    def reset(self) -> None:
        """Reset the sums to zero."""
        for _, value in self._tensors():
            value.zero_()

    def update(self, input: Tensor, target: Tensor) -> None:
        """Add a batch.

        Args:
            input: outputs of the network
            target: targets
        """
        with no_grad():
            self._move_to(input.device)
            self.accumulate(input, target)

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], tuple[str, ...]]]:
        """State that replayed steps guard: names, dicts, and keys whose values may change."""
        yield "", vars(self), ()

    @abstractmethod
    def accumulate(self, input: Tensor, target: Tensor) -> None:
        """Add a batch to the sums with in-place ops. Raises ShapeError if the shapes do not match."""

    @abstractmethod
    def compute(self) -> float:
        """Value of the metric; NaN without samples."""

    def table(self) -> list[list[int]] | None:
        """Details beside the value, as rows of a table; None if there are none."""
        return None

    def _tensors(self) -> list[tuple[str, Tensor]]:
        return [(name, value) for name, value in vars(self).items() if isinstance(value, Tensor)]

    def _move_to(self, device: Device) -> None:
        for name, value in self._tensors():
            if value.device != device:
                setattr(self, name, value.to(device))


class MeanMetric(Metric):
    """Base of metrics that are a mean over samples."""

    def __init__(self) -> None:
        self._sum, self._count = zeros((), dtype=float64), zeros((), dtype=int64)

    def accumulate(self, input: Tensor, target: Tensor) -> None:
        self._sum.add_(self.batch_sum(input, target))
        self._count.add_(self.batch_count(target))

    def compute(self) -> float:
        """Value of the metric over all batches since `reset`; NaN without samples."""
        count = self._count.item()
        return self.from_mean(self._sum.item() / count) if count else float("nan")

    @abstractmethod
    def batch_sum(self, input: Tensor, target: Tensor) -> Tensor:
        """Sum of the averaged quantity over a batch. Raises ShapeError if the shapes do not match."""

    def batch_count(self, target: Tensor) -> Any:
        """Number of summands of `batch_sum`."""
        return target.numel()

    def from_mean(self, mean: float) -> float:
        """Convert the mean to the metric."""
        return mean


def check_class_scores(metric: Metric, input: Tensor, target: Tensor, num_classes: int | None = None) -> None:
    """Raise ShapeError unless input ``(N, C, *)`` and target ``(N, *)`` match, and C equals `num_classes` if given."""
    if input.ndim != target.ndim + 1 or (input.shape[0], *input.shape[2:]) != tuple(target.shape):
        raise ShapeError(
            f"{type(metric).__name__}: input must be scores N×C and target class indices N, but they are "
            f"{format_shape(input.shape)} and {format_shape(target.shape)}."
        )
    if num_classes is not None and input.shape[1] != num_classes:
        raise ShapeError(
            f"{type(metric).__name__}: num_classes is {num_classes}, but the input has scores for {input.shape[1]} "
            f"classes. Set num_classes to {input.shape[1]}."
        )


def check_same_shape(metric: Metric, input: Tensor, target: Tensor) -> None:
    if tuple(input.shape) != tuple(target.shape):
        raise ShapeError(
            f"{type(metric).__name__}: input and target must have the same shape, not {format_shape(input.shape)} and "
            f"{format_shape(target.shape)}."
        )


__all__ = ["MeanMetric", "Metric", "check_class_scores", "check_same_shape"]
