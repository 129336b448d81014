"""The value of optimizer wires: the optimizer, and the remaining training for the next schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import engine


@dataclass(frozen=True, slots=True)
class TrainingLength:
    """The length of a training."""

    epochs: int | None
    """None if training ends after a number of steps on data of unknown length."""
    steps: int | None
    """Optimizer steps per epoch; None if unknown."""
    ends: int | None = None
    """The last optimizer step, if training ends after a number of steps."""
    batches: int | None = None
    """Batches per epoch; None if unknown."""

    def total(self, *, per_step: bool) -> int | None:
        """Total number of epochs or steps."""
        if not per_step:
            return self.epochs
        if self.ends is not None:
            return self.ends
        return None if self.steps is None or self.epochs is None else self.steps * self.epochs


@dataclass(frozen=True, slots=True)
class ScheduleContext:
    """The optimizer and the elapsed schedules at a schedule's input."""

    optimizer: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]
    length: TrainingLength
    begins: int | None = 0
    """Epochs or steps before this schedule starts; None if unknown."""
    per_step: bool = False
    """Whether `begins` counts steps."""

    def __str__(self) -> str:
        rate = dict(self.arguments).get("lr")
        text = f"lr {rate:g}" if isinstance(rate, (int, float)) else "learning rate"
        if not self.begins:
            return text
        return f"{text} from {'step' if self.per_step else 'epoch'} {self.begins + 1}"

    def remaining(self, *, per_step: bool) -> int | None:
        """Remaining epochs or steps for a schedule, at least 1. None if unknown."""
        total = self.length.total(per_step=per_step)
        if total is None or self.begins is None or (self.begins and per_step != self.per_step):
            return None
        return max(total - self.begins, 1)

    def after(self, lasts: int | None, *, per_step: bool) -> ScheduleContext:
        """The context of the next schedule, given the length of this one."""
        begins = None if lasts is None or self.begins is None else self.begins + lasts
        return replace(self, begins=begins, per_step=per_step)

    def make(self) -> Any:
        """Construct the optimizer with a single scalar parameter."""
        return self.optimizer([engine.zeros(1, requires_grad=True)], **dict(self.arguments))
