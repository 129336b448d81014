"""Losses and observations of a run so far, and figures of them that diagnoses compare."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from engine import fit

_FIRST = 5
"""Steps whose mean loss is that of the untrained network."""
_LARGE = 0.2
"""Ratio of an update to the weights after which the next losses are those of another network."""
WINDOWS = 12
"""Parts of a run whose mean losses are compared: enough for a trend, and few enough to average the noise of batches."""
_MIN_WINDOW = 10
_MAX_OBSERVATIONS = 200


@dataclass(slots=True)
class TrainingCurves:
    """What the events of a run have shown so far."""

    losses: array[float] = field(default_factory=lambda: array("d"))
    """Loss of each step of this session."""
    rates: array[float] = field(default_factory=lambda: array("d"))
    """Learning rate of each step."""
    epochs: list[fit.Epoch] = field(default_factory=list[fit.Epoch])
    observations: list[fit.Observed] = field(default_factory=list[fit.Observed])
    planned: int | None = None
    """Steps of the whole run, if known."""
    batches: int | None = None
    """Steps of an epoch, if known."""

    def add(self, event: fit.TrainingEvent) -> None:
        match event:
            case fit.Started():
                self.batches = event.batches
                by_epochs = None if event.epochs is None or not event.batches else event.epochs * event.batches
                limits = [limit for limit in (by_epochs, event.steps) if limit is not None]
                self.planned = min(limits) - event.step if limits else None
            case fit.Step():
                self.losses.append(event.loss)
                self.rates.append(event.learning_rate)
            case fit.Epoch():
                self.epochs.append(event)
            case fit.Observed():
                self.observations.append(event)
                if len(self.observations) > _MAX_OBSERVATIONS:
                    del self.observations[1]  # the first shows the initial weights
            case _:
                pass

    @property
    def steps(self) -> int:
        return len(self.losses)

    @property
    def first(self) -> float:
        """Loss of the untrained network: of the first steps, or of the very first if its update was large."""
        if not self.losses:
            return math.nan
        early = self.observations[0] if self.observations else None
        is_changed = early is not None and early.step == 1 and update_ratio(early) > _LARGE
        return self.losses[0] if is_changed else fmean(self.losses[:_FIRST])

    @property
    def highest(self) -> float:
        """Highest loss after the first step."""
        return max(self.losses[1:], default=math.nan)

    def recent(self) -> float:
        """Mean loss of the last tenth of the steps, of 10 to 200."""
        return fmean(self.losses[-self._window :])

    def recent_error(self) -> float:
        """Standard error of the difference between the first and the recent loss."""
        last = self.losses[-self._window :]
        return math.hypot(_std(last) / math.sqrt(len(last)), _std(last) / math.sqrt(_FIRST))

    def is_late(self, share: float) -> bool:
        """Whether a share of the planned run is over; of long or endless runs, 2000 steps."""
        return self.steps >= (2000 if self.planned is None else min(self.planned * share, 2000))

    @property
    def _window(self) -> int:
        return min(max(self.steps // 10, 10), 200)

    def window(self, start: int, end: int) -> Window:
        """Some steps, counted from 0."""
        return Window.of(self.losses[start:end], self.rates[start:end])

    def windows(self) -> list[Window]:
        """The run in equal parts; empty if they would be too short. With epochs, whole epochs."""
        length = self.steps // WINDOWS
        if self.batches and length > self.batches:
            length -= length % self.batches
        if length < _MIN_WINDOW:
            return []
        start = self.steps - WINDOWS * length
        bounds = [(start + number * length, start + (number + 1) * length) for number in range(WINDOWS)]
        return [self.window(low, high) for low, high in bounds]

    def update_ratio(self, observations: Sequence[fit.Observed] | None = None) -> float | None:
        """Median ratio of the norm of an update to that of the weights; None without observations."""
        found = self.observations if observations is None else observations
        return median(map(update_ratio, found)) if found else None

    @property
    def later_half(self) -> list[fit.Observed]:
        """Observations in the later half of the steps; the last one if there is none."""
        if not self.observations:
            return []
        middle = self.observations[-1].step - self.steps / 2
        return [each for each in self.observations if each.step >= middle] or self.observations[-1:]


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the curve."""

    mean: float
    error: float
    """Standard error of the mean."""
    rate: float
    """Mean learning rate."""

    @classmethod
    def of(cls, losses: Sequence[float], rates: Sequence[float]) -> Window:
        return cls(fmean(losses), _std(losses) / math.sqrt(len(losses)), fmean(rates))


def _std(values: Sequence[float]) -> float:
    mean = fmean(values)
    return math.sqrt(fmean((value - mean) ** 2 for value in values))


def update_ratio(observed: fit.Observed) -> float:
    """Norm of the update of all parameters, divided by the norm of their values before."""
    updates = math.hypot(*(each.get("update", 0.0) for each in observed.parameters.values()), 0.0)
    weights = weight_norm(observed)
    return updates / weights if weights else math.inf if updates else 0.0


def weight_norm(observed: fit.Observed) -> float:
    """Norm of all trained parameters."""
    return math.hypot(*(each.get("norm", 0.0) for each in observed.parameters.values()), 0.0)


def gradient_norm(observed: fit.Observed) -> float:
    """Norm of all gradients."""
    return math.hypot(*(each.get("gradient", 0.0) for each in observed.parameters.values()), 0.0)


def relative_gradients(observed: fit.Observed) -> Mapping[str, float]:
    """Norm of the gradient of each weight divided by that of the weight, from the input to the output."""
    return {
        path: each["gradient"] / each["norm"]
        for path, each in observed.parameters.items()
        if "gradient" in each and each.get("norm") and path.rpartition(".")[2].startswith("weight")
    }


__all__ = ["TrainingCurves", "Window", "gradient_norm", "relative_gradients", "update_ratio", "weight_norm"]
