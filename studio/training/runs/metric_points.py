"""Points of metric curves, from events or from the lines of metrics.jsonl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, TypeAlias

import numpy as np

from engine import fit
from studio.training.run_progress import RunProgress
from studio.training.runs.curves import Array
from studio.training.runs.event_json import event_from_json

MetricKind = Literal["train", "validation"]
MetricSource = Literal["steps", "epochs", "validation"]
"""Origin of values: training batches, training epochs or validations."""

LEARNING_RATE, THROUGHPUT = "learning_rate", "samples_per_second"
AUXILIARY = (LEARNING_RATE, THROUGHPUT)
"""Quantities of steps other than losses and metrics."""
_PER_OPTIMIZER = {"losses": "loss", "learning_rates": LEARNING_RATE}
"""Fields of lines with one value per optimizer, and their quantity, as in loss/adam."""

JsonLine: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetricPoints:
    """Values at common steps, with the seconds of training up to each step."""

    source: MetricSource
    steps: Array
    seconds: Array
    values: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Rewind:
    """The run resumed from this step; later points are replaced."""

    step: int


class PointReader:
    """Convert events or lines to points, in order, and track the progress of the run."""

    def __init__(self) -> None:
        self.progress = RunProgress()
        self.damaged = 0
        """Number of damaged lines."""
        self._samples = 0.0
        """Samples per batch."""
        self._step, self._time = 0, 0.0
        self._epoch_began: float | None = 0.0

    def take(self, events: Iterable[fit.TrainingEvent]) -> Iterator[MetricPoints | Rewind]:
        """Convert events to points; steps are combined, also across epochs."""
        steps: list[fit.Step] = []
        times: list[float] = []
        for event in events:
            if isinstance(event, fit.Step):
                self._time += (event.step - self._step) * event.seconds
                self._step = event.step
                steps.append(event)
                times.append(self._time)
                continue
            if steps:
                self.progress = self.progress.after(steps[-1])
            if isinstance(event, fit.Started) and steps:  # earlier points may be removed
                yield _of_steps(steps, times)
                steps, times = [], []
            yield from self._other(event)
        if steps:
            self.progress = self.progress.after(steps[-1])
            yield _of_steps(steps, times)

    def take_lines(self, lines: Iterable[Any]) -> Iterator[MetricPoints | Rewind]:
        """Convert decoded lines to points. Damaged lines are counted and skipped."""
        for is_step, group in groupby(lines, _is_step):
            if is_step:
                yield from self._step_lines(list(group))
                continue
            for line in group:
                try:
                    event = event_from_json(line)
                except ValueError:
                    self.damaged += 1
                    continue
                if event is not None:
                    yield from self._other(event)

    def _other(self, event: fit.TrainingEvent) -> Iterator[MetricPoints | Rewind]:
        self.progress = self.progress.after(event)
        match event:
            case fit.Started():
                self._samples = (event.train_samples or 0) / max(event.batches or 1, 1)
                if event.step:
                    yield Rewind(event.step)
            case fit.Epoch():
                if self._epoch_began is not None:
                    self._time = max(self._time, self._epoch_began + event.seconds)
                self._epoch_began = self._time
                yield self._single("epochs", event.step, event.train_loss, event.train_losses, event.train_metrics)
                if event.val_loss is not None:
                    yield self._single("validation", event.step, event.val_loss, event.val_losses, event.val_metrics)
            case fit.Validated():
                yield self._single("validation", event.step, event.val_loss, event.val_losses, event.val_metrics)
            case _:
                pass

    def resume_at(self, step: int, time: float) -> None:
        """After a Rewind: continue from a step and its training time."""
        self._step, self._time, self._epoch_began = step, time, None

    def _single(
        self, source: MetricSource, step: int, loss: float, losses: Mapping[str, float], metrics: Mapping[str, float]
    ) -> MetricPoints:
        values = {"loss": loss, **losses_by_optimizer(losses), **metrics}
        return MetricPoints(source, _one(step), _one(self._time), {name: _one(value) for name, value in values.items()})

    def _step_lines(self, lines: list[JsonLine]) -> Iterator[MetricPoints]:
        try:
            last = event_from_json(lines[-1])
            found = self._from_lines(lines)
        except (TypeError, ValueError, OverflowError):
            middle = len(lines) // 2
            if not middle:
                self.damaged += 1
                return
            yield from self._step_lines(lines[:middle])  # bisect to skip only the damaged lines
            yield from self._step_lines(lines[middle:])
        else:
            if last is not None:
                self.progress = self.progress.after(last)
            yield found

    def _from_lines(self, lines: list[JsonLine]) -> MetricPoints:
        """Raises TypeError or ValueError if a line is damaged."""
        names = [name for name in lines[-1] if name in ("loss", *AUXILIARY) or name.startswith("train_")]
        each = _by_optimizer(lines) if "losses" in lines[-1] else {}
        if any(name.startswith(f"{LEARNING_RATE}/") for name in each):
            names.remove(LEARNING_RATE)
        columns = {name: _array([line.get(name) for line in lines]) for name in names}
        columns |= {name: _array(values) for name, values in each.items()}
        steps = _array([line.get("step") for line in lines])
        if np.isnan(steps).any() or "loss" not in columns or (np.diff(steps, prepend=self._step) < 0).any():
            raise ValueError("steps must be increasing numbers")
        speed = columns.get(THROUGHPUT, np.full(len(steps), np.nan))
        with np.errstate(divide="ignore", invalid="ignore"):
            times = _array([line.get("seconds") for line in lines]) if "seconds" in lines[-1] else self._samples / speed
            seconds = np.nan_to_num(times, nan=0.0, posinf=0.0)
        values = {name.removeprefix("train_"): column for name, column in columns.items()}
        return MetricPoints("steps", steps, self._times(steps, seconds), values)

    def _times(self, steps: Array, seconds: Array) -> Array:
        """Training time at each step. Steps without a line count with the duration of the next step."""
        times = self._time + np.cumsum(np.diff(steps, prepend=self._step) * seconds)
        self._step, self._time = int(steps[-1]), float(times[-1])
        return times


def _of_steps(events: Sequence[fit.Step], times: list[float]) -> MetricPoints:
    last = events[-1]
    values: dict[str, list[float]] = {
        "loss": [event.loss for event in events],
        **{name: [event.metrics.get(name, np.nan) for event in events] for name in last.metrics},
    }
    if len(last.losses) > 1:
        values |= _by_optimizer([{"losses": event.losses, "learning_rates": event.learning_rates} for event in events])
    else:
        values[LEARNING_RATE] = [event.learning_rate for event in events]
    values[THROUGHPUT] = [event.samples_per_second for event in events]
    columns = {name: _array(column) for name, column in values.items()}
    return MetricPoints("steps", _array([event.step for event in events]), _array(times), columns)


def losses_by_optimizer(losses: Mapping[str, float]) -> dict[str, float]:
    """Losses by optimizer as loss/NAME, if there are several optimizers."""
    return {f"{_PER_OPTIMIZER['losses']}/{name}": value for name, value in losses.items()} if len(losses) > 1 else {}


def is_auxiliary(quantity: str) -> bool:
    """Whether a quantity is neither a loss nor a metric."""
    return quantity.partition("/")[0] in AUXILIARY


def _by_optimizer(lines: Sequence[JsonLine]) -> dict[str, list[Any]]:
    """Losses and learning rates by optimizer, if there are several. Raises TypeError if a line is damaged."""
    found: dict[str, list[Any]] = {}
    for key, quantity in _PER_OPTIMIZER.items():
        parts = [line.get(key, {}) for line in lines]
        if not all(isinstance(part, Mapping) for part in parts):
            raise TypeError(f"{key} must be an object")
        if len(parts[-1]) > 1:
            found |= {f"{quantity}/{name}": [part.get(name) for part in parts] for name in parts[-1]}
    return found


def _is_step(line: object) -> bool:
    return isinstance(line, dict) and line.get("event") == "step"


def _one(value: float) -> Array:
    return np.array([value], dtype=np.float64)


def _array(values: list[Any]) -> Array:
    return np.array(values, dtype=np.float64)


__all__ = [
    "AUXILIARY",
    "LEARNING_RATE",
    "THROUGHPUT",
    "Rewind",
    "MetricKind",
    "JsonLine",
    "MetricPoints",
    "PointReader",
    "MetricSource",
    "losses_by_optimizer",
    "is_auxiliary",
]
