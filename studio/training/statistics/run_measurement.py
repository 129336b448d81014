"""Measures the steps of a run for its observers and its record."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from studio.lowering.problems.problem import Problem
from studio.training.session_events import Measured, SessionEvent, Warned
from studio.training.statistics.measured_step import MeasuredStep
from studio.training.statistics.step_measurement import StepMeasurer


class RunMeasurement:
    """Reports measured steps, and once why measuring has ended.

    Args:
        measurer: measures the steps; the probe of the training
        put: receives events
        write: records a step
    """

    def __init__(
        self, measurer: StepMeasurer, put: Callable[[SessionEvent], None], write: Callable[[MeasuredStep], None]
    ) -> None:
        self.measurer = measurer
        self._put, self._write = put, write
        self._has_ended = False

    def report(self) -> None:
        """Report what was measured since the last call."""
        while (found := self.measurer.take()) is not None:
            self._put(Measured(partial(getattr, found, "statistics")))
            self._write(found)
        if self.measurer.problem is not None and not self._has_ended:
            self._has_ended = True
            message = f"{self.measurer.problem} Measuring ended; the training continues."
            self._put(Warned(Problem("warning", "not-measured", message)))


__all__ = ["RunMeasurement"]
