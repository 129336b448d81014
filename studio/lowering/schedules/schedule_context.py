"""What flows from an optimizer through its schedules: whose learning rate it is, and how much training is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import engine


@dataclass(frozen=True, slots=True)
class TrainingLength:
    """How long a training is."""

    epochs: int | None
    """None if it ends after some steps of data of which nobody knows how many there are."""
    steps: int | None
    """Steps of the optimizers in an epoch; None if the graph does not tell."""
    ends: int | None = None
    """The step of the optimizers that is the last, if that is what ends it."""

    def total(self, *, per_step: bool) -> int | None:
        """Epochs, or steps, in all."""
        if not per_step:
            return self.epochs
        if self.ends is not None:
            return self.ends
        return None if self.steps is None or self.epochs is None else self.steps * self.epochs


@dataclass(frozen=True, slots=True)
class ScheduleContext:
    """An optimizer, as a schedule at some place behind it gets it."""

    optimizer: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]
    length: TrainingLength
    begins: int | None = 0
    """Epochs or steps that schedules before have; None if they do not say."""
    per_step: bool = False
    """Whether these were steps."""

    def __str__(self) -> str:
        rate = dict(self.arguments).get("lr")
        told = f"lr {rate:g}" if isinstance(rate, (int, float)) else "learning rate"
        if not self.begins:
            return told
        return f"{told} from {'step' if self.per_step else 'epoch'} {self.begins + 1}"

    def left(self, *, per_step: bool) -> int | None:
        """Epochs or steps that are left for a schedule; at least one. None if nobody knows."""
        total = self.length.total(per_step=per_step)
        if total is None or self.begins is None or (self.begins and per_step != self.per_step):
            return None
        return max(total - self.begins, 1)

    def after(self, lasts: int | None, *, per_step: bool) -> ScheduleContext:
        """What the next schedule gets, if this one lasts so long."""
        begins = None if lasts is None or self.begins is None else self.begins + lasts
        return replace(self, begins=begins, per_step=per_step)

    def make(self) -> Any:
        """Such an optimizer, of one number."""
        return self.optimizer([engine.zeros(1, requires_grad=True)], **dict(self.arguments))
