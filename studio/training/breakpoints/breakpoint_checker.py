"""Checks the breakpoints of a training at each step."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine import fit
from studio.document.breakpoints.condition import (
    Condition,
    NanOrigin,
    RecentMedian,
    needs_nan_check,
    needs_statistics,
    parts_of,
)
from studio.document.breakpoints.condition_parser import parse_condition
from studio.training.breakpoints.condition_values import ConditionValues, NotMeasured, Statistics
from studio.training.breakpoints.origin import Origin

FindOrigin = Callable[[], Origin | None]


@dataclass(frozen=True, slots=True)
class Found:
    """A condition that holds at a step, and did not at the one before."""

    condition: str
    reason: str


class BreakpointChecker:
    """Evaluates conditions. One that holds is found once, and again after a step at which it did not hold.

    Args:
        conditions: texts of the enabled breakpoints; each can be parsed
    """

    def __init__(self, conditions: Mapping[str, bool] | None = None) -> None:
        self._conditions: dict[str, Condition] = {}
        self._held: set[str] = set()
        self._losses: deque[float] = deque()
        self._step: fit.Step | None = None
        self._nan: bool | None = None
        self._origin: Origin | None = None
        self.set_conditions(conditions or {})

    def set_conditions(self, conditions: Mapping[str, bool]) -> None:
        """Replace the breakpoints, also while a training runs."""
        self._conditions = {text: parse_condition(text) for text, enabled in conditions.items() if enabled}
        self._held &= self._conditions.keys()
        parts = [part for condition in self._conditions.values() for part in parts_of(condition)]
        longest = max((part.steps for part in parts if isinstance(part, RecentMedian)), default=0)
        self._losses = deque(self._losses, maxlen=longest)
        self.needs_statistics = any(map(needs_statistics, self._conditions.values()))
        """Whether each step must be measured."""
        self.needs_nan_check = any(map(needs_nan_check, self._conditions.values()))
        """Whether the weights must be searched for NaN after each step."""

    def __bool__(self) -> bool:
        return bool(self._conditions)

    def check_step(self, step: fit.Step, *, wrong_parameters: bool, find_origin: FindOrigin) -> list[Found]:
        """The conditions on the step itself that begin to hold.

        Args:
            wrong_parameters: whether a parameter is NaN or infinite after the step
            find_origin: finds the node where that arose; called at most once
        """
        if self._step is not None and math.isfinite(self._step.loss):
            self._losses.append(self._step.loss)
        was_wrong = self._nan
        self._step = step
        self._nan = wrong_parameters or not step.finite if self.needs_nan_check else None
        named = any(
            isinstance(part, NanOrigin) and part.node is not None
            for condition in self._conditions.values()
            for part in parts_of(condition)
        )
        if not self._nan:
            self._origin = None
        elif named and not was_wrong:
            self._origin = find_origin()
        return self._found(None)

    def check_statistics(self, statistics: Statistics) -> list[Found]:
        """The conditions on statistics of the same step that begin to hold."""
        return self._found(statistics)

    def _found(self, statistics: Statistics | None) -> list[Found]:
        step = self._step
        if step is None:
            return []
        quantities = {
            "loss": step.loss,
            "step": float(step.step),
            "epoch": float(step.epoch),
            "learning_rate": step.learning_rate,
        }
        node = None if self._origin is None else self._origin.node
        values = ConditionValues(quantities, tuple(self._losses), statistics, self._nan, node)
        found: list[Found] = []
        for text, condition in self._conditions.items():
            if needs_statistics(condition) is not (statistics is not None):
                continue
            try:
                holds = values.holds(condition)
            except NotMeasured:
                continue
            if not holds:
                self._held.discard(text)
            elif text not in self._held:
                self._held.add(text)
                found.append(Found(text, values.reason(condition)))
        return found


__all__ = ["BreakpointChecker", "Found"]
