"""Measures training steps: statistics of every output, gradient and parameter."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine import random
from engine.fit.parameter_changes import ParameterChanges
from engine.fit.task import Task
from engine.tensors import Tensor
from studio.training.failures import error_message
from studio.training.statistics.measured_functions import Columns, Losses, measuring_functions, trained_parameters
from studio.training.statistics.measured_step import MeasuredStep
from studio.training.statistics.number_order import NumberOrder
from studio.training.statistics.output_report import shapes_of

GRADIENT_INTERVAL = 10
"""Gradients are measured at every Nth measured step, because they need a backward pass; before the first of them also
at the 1st, 2nd, 4th and 8th, because gradients change most at the beginning."""
MAX_GRADIENT_STEPS = 200
"""Steps after which gradients are measured again, for longer intervals."""


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
        self._compile = compile
        self._changes: ParameterChanges | None = None
        self._pending: _PendingStep | None = None
        """Between the two calls of a step."""
        self._gradients: MeasuredStep | None = None
        """The last step whose gradients were measured."""
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
            self._pending = self._changes = self._gradients = None
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
        scale = 1.0 if task.scaler is None else task.scaler.get_scale()
        key = (shapes_of(batch), has_gradients)
        state = random.get_rng_state()
        try:
            function = self._functions.gradients if has_gradients else self._functions.outputs
            numbers = function(task, batch)
        finally:
            random.set_rng_state(state)
        columns = self._functions.sink.take()
        if columns is not None:
            self._add_order(key, columns)
        assert self._changes is not None
        self._changes.begin()
        self._pending = _PendingStep(step, self._orders[key], numbers, scale, has_gradients)

    def _add_order(self, key: Any, columns: Columns) -> None:
        parameters = trained_parameters(self._task)
        known, changes = self._orders.get(key), self._changes
        is_known = known is not None and known.columns == columns
        if is_known and changes is not None and changes.is_of(parameters.values()):
            return  # Python has run again, as in each step with a graph break
        differentiable = None if self._first is None else self._first.differentiable
        order = self._orders[key] = NumberOrder(columns, list(parameters), differentiable)
        self._first = self._first or order
        self._changes = ParameterChanges(list(parameters.values()), compile=self._compile)
        if order.layout.columns != self._first.layout.columns:
            raise RuntimeError("its outputs are not those of the steps before")

    def _finish(self, pending: _PendingStep) -> None:
        assert self._changes is not None
        found = MeasuredStep(
            pending.step,
            pending.order,
            pending.numbers if pending.numbers.is_cpu else pending.numbers.cpu(),
            self._changes.norms(),
            pending.scale,
            has_gradients=pending.has_gradients,
            gradients=self._gradients,
        )
        if found.has_gradients:
            self._gradients = found
        self._found.append(found)


@dataclass(frozen=True, slots=True)
class _PendingStep:
    """What was measured before a step."""

    step: int
    order: NumberOrder
    numbers: Tensor
    scale: float
    has_gradients: bool


__all__ = ["StepMeasurer"]
