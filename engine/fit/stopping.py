"""Figures that a training is judged by, and ending one that no longer gets better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.fit.task import Task


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """Ends a training whose figure no longer improves.

    Args:
        patience: validations without improvement that are let pass
        min_change: by how much a figure must be better than the best to count as better
    """

    patience: int = 3
    min_change: float = 0.0

    def __post_init__(self) -> None:
        if self.patience < 0 or not self.min_change >= 0:
            raise ValueError(f"patience and min_change must be at least 0, not {self.patience} and {self.min_change}.")


class Judge:
    """Follows one figure, such as "val_loss" or "val_accuracy": which value was the best, and is it time to stop?

    Without validation, the figure of the training samples is followed in its place.
    """

    def __init__(self, task: Task, figure: str, stopping: EarlyStopping | None) -> None:
        known = [f"{part}_{name}" for part in ("train", "val") for name in ("loss", *task.metrics)]
        if figure not in known:
            raise ValueError(f"there is no figure {figure!r} to follow. There are: {', '.join(known)}.")
        self.figure = figure
        self._stopping = stopping
        self._sign = -1 if _rises(task, figure) else 1
        self.best = math.inf
        """The lowest value so far, or minus the highest."""
        self._mark = math.inf
        """What the next value must be below to count as an improvement."""
        self._waited = 0

    def take(self, figures: Mapping[str, float], *, whole: bool = True) -> bool:
        """Look at the figures of a validation. Returns whether the one that is followed is the best so far.

        Those of a part of an epoch (not `whole`) are the best for want of others, and leave no trace: a longer training
        would not have had them.
        """
        value = self._value(figures)
        if not whole:
            return self.best == math.inf and value < math.inf
        is_best = value < self.best
        self.best = value if is_best else self.best
        if value < self._mark:
            self._mark = value - (self._stopping.min_change if self._stopping is not None else 0.0)
            self._waited = 0
        else:
            self._waited += 1
        return is_best

    @property
    def stops(self) -> bool:
        return self._stopping is not None and self._waited > self._stopping.patience

    def wait_anew(self) -> None:
        """Count from here the validations that are let pass."""
        self._waited = 0

    def _value(self, figures: Mapping[str, float]) -> float:
        """Of which a lower one is better."""
        found = figures.get(self.figure)
        return self._sign * (figures[self.figure.replace("val_", "train_", 1)] if found is None else found)

    def state_dict(self) -> dict[str, float]:
        return {"best": self.best, "mark": self._mark, "waited": self._waited}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        self.best, self._mark, self._waited = state["best"], state["mark"], int(state["waited"])


def _rises(task: Task, figure: str) -> bool:
    """Whether a higher value is better."""
    metric = task.metrics.get(figure.partition("_")[2])
    return metric is not None and metric.higher_is_better


__all__ = ["EarlyStopping", "Judge"]
