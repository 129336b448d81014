"""Events of a training run: plain records in the order in which `engine.fit.fit` yields them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from engine.compiler.compile_progress import CompileState


@dataclass(frozen=True, slots=True)
class Started:
    """First event, before the first batch."""

    epochs: int | None
    """Number of epochs; None if only `steps` limits the run."""
    steps: int | None
    batches: int | None
    """In one epoch; None for a stream that has not ended yet."""
    train_samples: int | None
    """None for a stream."""
    validation_samples: int | None
    parameters: int
    """Number of trainable parameters."""
    device: str
    seed: int
    compiled: bool = False
    """Whether steps run as compiled plans, possibly after some eager steps."""
    epoch: int = 0
    """Epochs completed before the run was resumed; `step` is the number of completed batches."""
    step: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A training step has finished."""

    epoch: int
    """Counted from 1, like `batch` and `step`."""
    batch: int
    """Batch within the epoch."""
    step: int
    """Step within the run."""
    loss: float
    """Sum of `losses`."""
    losses: Mapping[str, float]
    """Loss of this batch by the name of the optimizer that minimizes it."""
    metrics: Mapping[str, float]
    """Metrics of this epoch so far."""
    seconds: float
    """Duration of the step, including loading of the batch."""
    samples_per_second: float
    learning_rate: float
    """Learning rate of the first optimizer with a schedule; without schedules, of the first optimizer."""
    finite: bool
    """False if the loss is NaN or infinite, which makes the weights unusable."""
    waiting: float = 0.0
    """The part of `seconds` spent waiting for the batch."""
    learning_rates: Mapping[str, float] = field(default_factory=dict)
    """By the name of the optimizer."""
    ended: float = field(default=0.0, compare=False)
    """Time at the end of the step, of `time.perf_counter` in this process; 0 for a step that was read from a file."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Statistics of layers and parameters at a training step. Sent after its Step, if training is observed."""

    step: int
    """Number of the step; its batch and the weights before it were measured."""
    layers: Mapping[str, Mapping[str, float]]
    """Figures of the output of each layer by its path: `mean` and `std`; `saturated`, the share of values on the flat
    parts of a tanh or sigmoid; `dead`, the share of the `units` of a ReLU that were 0 in all observations so far.
    Paths in the model have no prefix, others that of the task's attribute."""
    parameters: Mapping[str, Mapping[str, float]]
    """Figures of each trained parameter by its path: `norm`; `gradient`, the norm of its gradient before clipping;
    `gradient_zeros`, the share of gradient elements that are 0; `update`, the norm of the change in the step. Missing
    if the parameter has no gradient."""
    loss_scale: float
    """Scale of the loss in float16; 1 without scaling."""
    seconds: float
    """Duration of the observation."""


@dataclass(frozen=True, slots=True)
class ValidationStep:
    """A validation batch has finished."""

    epoch: int
    batch: int
    batches: int | None
    """None for a stream."""
    finite: bool = True
    """False if the loss of the batch is NaN or infinite."""
    nonfinite_values: str = ""
    """If the loss is not finite: how many values of the batch are NaN or infinite; empty if all are finite."""


@dataclass(frozen=True, slots=True)
class Validated:
    """A validation within an epoch has finished."""

    epoch: int
    step: int
    val_loss: float
    val_metrics: Mapping[str, float]
    best: bool
    """Whether the monitored metric is the best so far."""
    tables: Mapping[str, list[list[int]]] = field(default_factory=dict)
    """Results of metrics that are not a single number, such as a confusion matrix."""
    val_losses: Mapping[str, float] = field(default_factory=dict)
    """Validation loss by the name of the optimizer; `val_loss` is the sum."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch and its validation have finished. Also sent for an incomplete epoch in which `steps` ends the run."""

    epoch: int
    step: int
    train_loss: float
    """Mean over the samples of the epoch, measured while the weights changed."""
    val_loss: float | None
    """None without validation samples, or if this epoch is not validated."""
    train_metrics: Mapping[str, float]
    val_metrics: Mapping[str, float]
    seconds: float
    """Seconds of training and validation, without the time between events."""
    samples_per_second: float
    """Training samples per second."""
    learning_rate: float
    finite: bool
    best: bool = False
    """Whether the monitored metric is the best so far. For an incomplete epoch: whether it is the only value."""
    tables: Mapping[str, list[list[int]]] = field(default_factory=dict)
    """As in Validated; of the training samples if there is no validation."""
    batches: int | None = None
    """In one epoch; None for a stream that has not ended yet."""
    train_losses: Mapping[str, float] = field(default_factory=dict)
    """Training loss by the name of the optimizer. Empty for an epoch resumed from a checkpoint of an old version."""
    val_losses: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """Last event."""

    epochs: int
    """Total number of completed epochs."""
    steps: int
    seconds: float
    reason: Literal["epochs", "steps", "early", "stopped"]
    """Why training ended: "early" for early stopping, "stopped" for a request of the caller."""


TrainingEvent: TypeAlias = Started | Step | Observed | CompileState | ValidationStep | Validated | Epoch | Done
