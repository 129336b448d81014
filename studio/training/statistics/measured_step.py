"""A measured step. Its figures are made when they are read: most steps are only stored, by another thread."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.tensors import Tensor
from studio.training.statistics.number_order import NumberOrder
from studio.training.statistics.step_statistics import StatisticsLayout, StepStatistics


class MeasuredStep:
    """The figures of a step as they are stored.

    Args:
        step: number of the step
        order: where figures are among the numbers
        first: the numbers from before the step, in memory
        norms: norms of the parameters before the step, and of their changes
        scale: the loss scale, by which gradients are divided
        has_gradients: whether gradients were measured
        gradients: the last step before this one whose gradients were measured
    """

    def __init__(
        self,
        step: int,
        order: NumberOrder,
        first: Tensor,
        norms: NDArray[np.float32],
        scale: float,
        *,
        has_gradients: bool,
        gradients: MeasuredStep | None,
    ) -> None:
        self.step, self.has_gradients = step, has_gradients
        self.layout: StatisticsLayout = order.layout
        self._order, self._first, self._norms, self._scale = order, first, norms, scale
        self._gradients = None if has_gradients else gradients

    @cached_property
    def numbers(self) -> NDArray[np.float32]:
        """The figures in the order of the layout. Those of gradients are 0 without gradients."""
        return self._order.sorted(self._first.numpy(), self._norms, self._scale)

    @property
    def statistics(self) -> StepStatistics:
        """The figures by name, with the gradients that were measured last."""
        at = self if self.has_gradients else self._gradients
        return self.layout.statistics(self.step, lambda: self._shown, None if at is None else at.step)

    @cached_property
    def _shown(self) -> NDArray[np.float32]:
        if self._gradients is None:
            return self.numbers
        return np.where(self.layout.gradient_columns, self._gradients.numbers, self.numbers)


__all__ = ["MeasuredStep"]
