"""What training tells of itself: plain records, in the order of `engine.fit.fit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from engine.compiler.compile_progress import CompileState


@dataclass(frozen=True, slots=True)
class Started:
    """First event, before the first batch."""

    epochs: int | None
    """How many are asked for; None if only `steps` says when to end."""
    steps: int | None
    batches: int | None
    """In one epoch; None for a stream that has not ended yet."""
    train_samples: int | None
    """None for a stream."""
    validation_samples: int | None
    parameters: int
    """Trained numbers of the model."""
    device: str
    seed: int
    compiled: bool = False
    """Steps run as compiled plans, if not from the first on."""
    epoch: int = 0
    """Epochs that are done already, where a training is continued; as are `step` batches."""
    step: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One training batch is done."""

    epoch: int
    """Counted from 1, as are `batch` and `step`."""
    batch: int
    """In this epoch."""
    step: int
    """In the whole run."""
    loss: float
    """Sum of `losses`."""
    losses: Mapping[str, float]
    """Of this batch, by the name of the optimizer that makes it small."""
    metrics: Mapping[str, float]
    """Of this epoch so far."""
    seconds: float
    """That this batch took, the time to load it included."""
    samples_per_second: float
    learning_rate: float
    """Of the first optimizer that has a schedule, or of the first one."""
    finite: bool
    """False if the loss is NaN or infinite: the weights are, or will be, spoilt."""
    waiting: float = 0.0
    """Of the `seconds`, those in which there was nothing to do but to wait for the batch."""
    learning_rates: Mapping[str, float] = field(default_factory=dict)
    """By the name of the optimizer."""


@dataclass(frozen=True, slots=True)
class ValidationStep:
    """One validation batch is done."""

    epoch: int
    batch: int
    batches: int | None
    """None for a stream."""


@dataclass(frozen=True, slots=True)
class Validated:
    """A validation in the midst of an epoch is done."""

    epoch: int
    step: int
    val_loss: float
    val_metrics: Mapping[str, float]
    best: bool
    """The figure that is followed was never better."""
    tables: Mapping[str, list[list[int]]] = field(default_factory=dict)
    """Of metrics that are more than a number, such as a confusion matrix."""
    val_losses: Mapping[str, float] = field(default_factory=dict)
    """By the name of the optimizer; `val_loss` is their sum."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch and its validation are done. Also sent for the unfinished epoch in which `steps` ends the run."""

    epoch: int
    step: int
    train_loss: float
    """Mean over the samples of the epoch, measured while the weights changed."""
    val_loss: float | None
    """None without validation samples, or if this epoch was not to be validated."""
    train_metrics: Mapping[str, float]
    val_metrics: Mapping[str, float]
    seconds: float
    """Seconds of training and validation, without the time between events."""
    samples_per_second: float
    """Of training."""
    learning_rate: float
    finite: bool
    best: bool = False
    """The figure that is followed was never better. Of an unfinished epoch: there was no other to compare it with."""
    tables: Mapping[str, list[list[int]]] = field(default_factory=dict)
    """As in Validated; of the training samples if there was no validation."""
    batches: int | None = None
    """In one epoch; None for a stream that has not ended yet."""
    train_losses: Mapping[str, float] = field(default_factory=dict)
    """By the name of the optimizer, as `val_losses`. Of an epoch that goes on from an old checkpoint, empty."""
    val_losses: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """Last event."""

    epochs: int
    """Finished in all."""
    steps: int
    seconds: float
    reason: Literal["epochs", "steps", "early", "stopped"]
    """Why training ended: "early" is early stopping, "stopped" is a request of the caller."""


Event: TypeAlias = Started | Step | CompileState | ValidationStep | Validated | Epoch | Done
