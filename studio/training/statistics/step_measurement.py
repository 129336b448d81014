"""Measures training steps: statistics of every output, gradient and parameter."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import random
from engine.fit.task import Task
from engine.tensors import Tensor
from studio.training.failures import error_message
from studio.training.statistics.measured_functions import Losses, measuring_functions, trained_parameters
from studio.training.statistics.number_order import NumberOrder
from studio.training.statistics.output_report import shapes_of
from studio.training.statistics.step_statistics import StatisticsLayout, StepStatistics

GRADIENT_INTERVAL = 10
"""Gradients are measured at every Nth measured step, because they need a backward pass; before the first of them also
at the 1st, 2nd, 4th and 8th, because gradients change most at the beginning."""
MAX_GRADIENT_STEPS = 200
"""Steps after which gradients are measured again, for longer intervals."""


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """The figures of a step as they are stored."""

    layout: StatisticsLayout
    numbers: NDArray[np.float32]
    """Those of gradients are 0 without gradients."""
    has_gradients: bool
    statistics: StepStatistics
    """With the gradients that were measured last."""


class StepMeasurer:
    """Measures every `interval` steps: step 1, and the multiples of the interval.

    The batch is computed once more, before its training step, by functions that are compiled beside that step. So the
    bits of the training are the same with and without measuring. The first failure ends measuring.

    Args:
        task: the task; its code must only change buffers, metrics and carried states
        losses: computes the losses of a batch and reports outputs
        interval: steps between measurements
        compile: compile the functions
    """

    def __init__(self, task: Task, losses: Losses, interval: int, *, compile: bool) -> None:
        self.problem: str | None = None
        """Why nothing is measured any more."""
        self._task = task
        self._interval = interval
        self._functions = measuring_functions(task, losses, compile=compile)
        self._orders: dict[Any, NumberOrder] = {}
        """By shapes of the batch, and whether gradients were measured."""
        self._first: NumberOrder | None = None
        """That of the first measured step, which has gradients."""
        self._layout: StatisticsLayout | None = None
        self._before: list[Tensor] | None = None
        self._pending: _PendingStep | None = None
        """Between the two calls of a step."""
        self._gradients: tuple[int, NDArray[np.float32]] | None = None
        """The last gradients."""
        self._found: deque[MeasuredStep] = deque()

    def is_due(self, step: int) -> bool:
        """Whether a step is measured."""
        return self.problem is None and (step == 1 or step % self._interval == 0)

    def take(self) -> MeasuredStep | None:
        """The next measured step."""
        return self._found.popleft() if self._found else None

    # -- for the training

    def before_step(self, batch: Any, step: int) -> None:
        """Measure a batch at the interval."""
        if self.is_due(step):
            self._guarded(step, lambda: self._measure(batch, step))

    def after_step(self) -> None:
        """Measure what the step has changed."""
        pending, self._pending = self._pending, None
        if pending is not None:
            self._guarded(pending.step, lambda: self._finish(pending))

    def _guarded(self, step: int, action: Callable[[], None]) -> None:
        """Any failure, as for lack of memory, ends measuring: the training may still succeed."""
        try:
            action()
        except Exception as error:  # noqa: BLE001
            self.problem = f"Step {step:,} could not be measured: {error_message(error)}"
            self._before = self._pending = None
            self._orders.clear()

    def _has_gradients(self, step: int) -> bool:
        if self._first is None:
            return True
        count = max(1, min(GRADIENT_INTERVAL, MAX_GRADIENT_STEPS // self._interval))
        measured = step // self._interval
        is_early = measured < count and measured.bit_count() == 1
        return is_early or step % (self._interval * count) == 0

    def _measure(self, batch: Any, step: int) -> None:
        task, has_gradients = self._task, self._has_gradients(step)
        if self._before is None:
            self._before = [each.detach().clone() for each in trained_parameters(task).values()]
        scale = 1.0 if task.scaler is None else task.scaler.get_scale()
        key = (shapes_of(batch), has_gradients)
        state = random.get_rng_state()
        try:
            function = self._functions.gradients if has_gradients else self._functions.outputs
            numbers = function(task, batch, self._before)
        finally:
            random.set_rng_state(state)
        columns = self._functions.sink.take()
        if columns is not None:
            differentiable = None if self._first is None else self._first.differentiable
            self._orders[key] = NumberOrder(columns, list(trained_parameters(task)), differentiable)
        order = self._orders[key]
        self._first = self._first or order
        self._layout = self._first.layout
        if order.layout.columns != self._layout.columns:
            raise RuntimeError("its outputs are not those of the steps before")
        self._pending = _PendingStep(step, has_gradients, order, numbers, scale)

    def _finish(self, pending: _PendingStep) -> None:
        modules = self._task.modules
        assert self._before is not None
        assert self._layout is not None
        updates = self._functions.updates(tuple(modules.values()), self._before, tuple(modules))
        first, after = (each.cpu().numpy() for each in (pending.numbers, updates))
        numbers = pending.order.sorted(first, after, pending.scale)
        if pending.has_gradients:
            self._gradients = pending.step, numbers
        shown, gradient_step = numbers, None
        if self._gradients is not None:
            gradient_step, found = self._gradients
            shown = np.where(self._layout.gradient_columns, found, numbers)
        statistics = self._layout.statistics(pending.step, shown, gradient_step)
        self._found.append(MeasuredStep(self._layout, numbers, pending.has_gradients, statistics))


@dataclass(frozen=True, slots=True)
class _PendingStep:
    """What was measured before a step."""

    step: int
    has_gradients: bool
    order: NumberOrder
    numbers: Tensor
    scale: float


__all__ = ["MeasuredStep", "StepMeasurer"]
