"""The best value of a metric during training, and early stopping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.fit.task import Task


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """Stop training when the monitored metric no longer improves.

    Args:
        patience: consecutive validations without improvement that are allowed
        min_change: smallest change of the metric that counts as an improvement
    """

    patience: int = 3
    min_change: float = 0.0

    def __post_init__(self) -> None:
        if self.patience < 0 or not self.min_change >= 0:
            raise ValueError(f"patience and min_change must be at least 0, not {self.patience} and {self.min_change}.")


class BestTracker:
    """Track the best value of one metric, such as "val_loss" or "val_accuracy", and decide when to stop early.

    Without validation data, the training metric of the same name is used.
    """

    def __init__(self, task: Task, name: str, stopping: EarlyStopping | None) -> None:
        names = [f"{part}_{metric}" for part in ("train", "val") for metric in ("loss", *task.metrics)]
        if name not in names:
            raise ValueError(f"unknown metric {name!r}. Choose one of: {', '.join(names)}.")
        self.name = name
        self._stopping = stopping
        self._sign = -1 if _is_higher_better(task, name) else 1
        self.best = math.inf
        """Lowest value so far; for metrics where higher is better, the negated highest."""
        self._threshold = math.inf
        """Values below this count as an improvement."""
        self._waited = 0

    def update(self, metrics: Mapping[str, float], *, complete: bool = True) -> bool:
        """Add the metrics of one validation. Returns True if the monitored metric is the best so far.

        The metrics of an incomplete epoch can be the best only if there are no others. They are not stored, because a
        longer run would not have computed them.
        """
        value = self._value(metrics)
        if not complete:
            return self.best == math.inf and value < math.inf
        is_best = value < self.best
        self.best = value if is_best else self.best
        if value < self._threshold:
            self._threshold = value - (self._stopping.min_change if self._stopping is not None else 0.0)
            self._waited = 0
        else:
            self._waited += 1
        return is_best

    @property
    def should_stop(self) -> bool:
        """Whether patience is used up."""
        return self._stopping is not None and self._waited > self._stopping.patience

    def reset_patience(self) -> None:
        """Restart counting validations without improvement."""
        self._waited = 0

    def _value(self, metrics: Mapping[str, float]) -> float:
        """The monitored metric, negated if higher is better."""
        found = metrics.get(self.name)
        return self._sign * (metrics[self.name.replace("val_", "train_", 1)] if found is None else found)

    def state_dict(self) -> dict[str, float]:
        return {"best": self.best, "mark": self._threshold, "waited": self._waited}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        self.best, self._threshold, self._waited = state["best"], state["mark"], int(state["waited"])


def _is_higher_better(task: Task, name: str) -> bool:
    metric = task.metrics.get(name.partition("_")[2])
    return metric is not None and metric.higher_is_better


__all__ = ["BestTracker", "EarlyStopping"]
