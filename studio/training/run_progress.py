"""How far a run is, from the events that it yields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine import fit

_DECAY = 0.95


@dataclass(frozen=True, slots=True)
class RunProgress:
    """What the top bar says of a run."""

    epochs: int | None = None
    batches: int | None = None
    """In an epoch, if known: of a stream after it has ended once."""
    steps: int | None = None
    """In the whole run, if known."""
    ends: int | None = None
    """The number of steps that was asked for, if one was."""
    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Of the batches of this epoch so far."""
    val_loss: float | None = None
    val_metrics: Mapping[str, float] = field(default_factory=dict)
    """Of the last validation."""
    samples_per_second: float = 0.0
    learning_rate: float | None = None
    waiting: float | None = None
    """Share of the time that is spent waiting for data."""
    pace: float | None = None
    """Seconds for one batch; once an epoch is done, its share of the validation included."""

    @property
    def fraction(self) -> float:
        """Share of the run that is done, 0 to 1; 0 as long as nobody knows."""
        return min(self.step / self.steps, 1.0) if self.steps else 0.0

    @property
    def seconds_left(self) -> float | None:
        """None while too little is done to say."""
        if self.pace is None or self.steps is None or self.step < 5:
            return None
        return self.pace * max(self.steps - self.step, 0)

    def after(self, event: fit.Event) -> RunProgress:
        """The progress once `event` has happened."""
        match event:
            case fit.Started():
                steps = total_steps(event.epochs, event.batches, event.steps)
                return RunProgress(epochs=event.epochs, batches=event.batches, steps=steps, ends=event.steps)
            case fit.Step():
                return replace(
                    self,
                    epoch=event.epoch,
                    batch=event.batch,
                    step=event.step,
                    loss=event.loss,
                    metrics=event.metrics,
                    pace=_moving_average(self.pace, event.seconds),
                    samples_per_second=event.samples_per_second,
                    learning_rate=event.learning_rate,
                    waiting=_moving_average(self.waiting, event.waiting / event.seconds if event.seconds > 0 else 0.0),
                )
            case fit.Epoch():
                batches = self.batches if event.batches is None else event.batches
                return replace(
                    self,
                    batches=batches,
                    steps=total_steps(self.epochs, batches, self.ends),
                    val_loss=event.val_loss,
                    val_metrics=event.val_metrics,
                    pace=event.seconds / max(self.batch, 1),
                    samples_per_second=event.samples_per_second,
                )
            case _:
                return self


def _moving_average(mean: float | None, value: float) -> float:
    """A mean that forgets slowly."""
    return value if mean is None else _DECAY * mean + (1 - _DECAY) * value


def total_steps(epochs: int | None, batches: int | None, steps: int | None) -> int | None:
    """Batches in a whole run of so many epochs of so many batches, or so many steps; None if that is not known."""
    by_epochs = None if epochs is None or batches is None else epochs * batches
    known = [count for count in (by_epochs, steps) if count is not None]
    return min(known) if known else None
