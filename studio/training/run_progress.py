"""Progress of a run, computed from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine import fit

_DECAY = 0.95


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress of a run: position, latest values, speed and time left."""

    epochs: int | None = None
    batches: int | None = None
    """Batches per epoch; for streams known after the first epoch."""
    steps: int | None = None
    """Batches of the whole run, if known."""
    requested_steps: int | None = None
    """Requested number of steps, if any."""
    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Training metrics of the current epoch so far."""
    val_loss: float | None = None
    val_metrics: Mapping[str, float] = field(default_factory=dict)
    """Metrics of the last validation."""
    samples_per_second: float = 0.0
    learning_rate: float | None = None
    waiting_fraction: float | None = None
    """Fraction of the step time spent waiting for data."""
    seconds_per_batch: float | None = None
    """Seconds per batch; after the first epoch including validation time."""

    @property
    def fraction(self) -> float:
        """Completed fraction of the run, 0 to 1; 0 if the length is unknown."""
        return min(self.step / self.steps, 1.0) if self.steps else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated time left; None without enough steps for an estimate."""
        if self.seconds_per_batch is None or self.steps is None or self.step < 5:
            return None
        return self.seconds_per_batch * max(self.steps - self.step, 0)

    def after(self, event: fit.TrainingEvent) -> RunProgress:
        """The progress after `event`."""
        match event:
            case fit.Started():
                steps = total_steps(event.epochs, event.batches, event.steps)
                return RunProgress(epochs=event.epochs, batches=event.batches, steps=steps, requested_steps=event.steps)
            case fit.Step():
                return replace(
                    self,
                    epoch=event.epoch,
                    batch=event.batch,
                    step=event.step,
                    loss=event.loss,
                    metrics=event.metrics,
                    seconds_per_batch=_moving_average(self.seconds_per_batch, event.seconds),
                    samples_per_second=event.samples_per_second,
                    learning_rate=event.learning_rate,
                    waiting_fraction=_moving_average(
                        self.waiting_fraction, event.waiting / event.seconds if event.seconds > 0 else 0.0
                    ),
                )
            case fit.Epoch():
                batches = self.batches if event.batches is None else event.batches
                return replace(
                    self,
                    batches=batches,
                    steps=total_steps(self.epochs, batches, self.requested_steps),
                    val_loss=event.val_loss,
                    val_metrics=event.val_metrics,
                    seconds_per_batch=event.seconds / max(self.batch, 1),
                    samples_per_second=event.samples_per_second,
                )
            case _:
                return self


def _moving_average(mean: float | None, value: float) -> float:
    """Exponential moving average."""
    return value if mean is None else _DECAY * mean + (1 - _DECAY) * value


def total_steps(epochs: int | None, batches: int | None, steps: int | None) -> int | None:
    """Total batches of a run, limited by epochs, by steps or by both; None if unknown."""
    by_epochs = None if epochs is None or batches is None else epochs * batches
    limits = [count for count in (by_epochs, steps) if count is not None]
    return min(limits) if limits else None
