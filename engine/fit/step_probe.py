"""What a training calls before and after each step, to look at it."""

from __future__ import annotations

from typing import Any, Protocol


class StepProbe(Protocol):
    """Looks at training steps. It must leave everything that the training depends on as it is, and raise nothing."""

    def before_step(self, batch: Any, step: int) -> None:
        """Called before a step is trained on a batch. Modules are in training mode."""
        ...

    def after_step(self) -> None:
        """Called after the step."""
        ...


__all__ = ["StepProbe"]
