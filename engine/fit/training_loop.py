"""Training as an iterator of events."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping
from typing import Any, Literal

from engine import random
from engine.data.batches import AnyLoader, Loaders
from engine.errors import DataError
from engine.fit.batch_iteration import (
    LossMean,
    TimedBatches,
    batch_count,
    batch_size,
    check_finite,
    count_batches,
    count_samples,
    empty_stream_error,
    is_stream,
    nonfinite_values,
)
from engine.fit.carried_states import reset_states, restore_states, save_states
from engine.fit.early_stopping import BestTracker, EarlyStopping
from engine.fit.events import Done, Epoch, Started, Step, TrainingEvent, Validated, ValidationStep
from engine.fit.metric_values import (
    learning_rate,
    learning_rates,
    losses_by_name,
    metric_tables,
    prefixed_metrics,
    read_metrics,
    reset_metrics,
)
from engine.fit.observation import Observation, Observer
from engine.fit.step_functions import StepFunctions, preserve_modes, step_schedules
from engine.fit.step_probe import StepProbe
from engine.fit.step_rewind import KeptStep, StepRewind
from engine.fit.task import Task
from engine.fit.task_state import restore_metrics, restore_task, save_metrics, save_task
from engine.modes import no_grad


def fit(
    task: Task,
    *,
    epochs: int | None = None,
    steps: int | None = None,
    validate_epochs: int = 1,
    validate_steps: int | None = None,
    follow: str = "val_loss",
    early_stopping: EarlyStopping | None = None,
    compile: bool = True,
    observe: bool = False,
    rewind: StepRewind | None = None,
    probe: StepProbe | None = None,
) -> Training:
    """Train until `epochs` epochs or `steps` batches are done, whichever comes first.

    An epoch is one pass over the data; for a stream, until it ends. The task configures the step: accumulation,
    clipping, mixed precision.

    Args:
        task: what to train; set up on the first event if it is not yet
        epochs: total number of epochs
        steps: total number of batches
        validate_epochs: validate every N epochs; 0 for never
        validate_steps: also validate every N batches within an epoch
        follow: the metric to monitor, which decides the best weights, such as "val_loss" or "val_accuracy"
        early_stopping: when to stop if the monitored metric no longer improves
        compile: compile training steps as `engine.compile` does; `task.step` is the compiled function
        observe: measure layers and gradients now and then, in less than 1 % of the time and without changing results;
            only for tasks whose losses change nothing but buffers, metrics and carried states
        rewind: keeps what `Training.undo_step` needs
        probe: called before and after each step; step times exclude it

    Yields Started; a Step per batch, an Observed after an observed one, and a CompileState when the state of
    compilation changes; a ValidationStep per validation batch, and a Validated for validations within epochs; an Epoch
    per epoch; Done.

    Raises:
        ValueError: neither `epochs` nor `steps` is given, or a number is negative.
        DataError: the data cannot be read, or there is no training batch.
    """
    if epochs is None and steps is None:
        raise ValueError("fit needs epochs or steps: without a limit, training would never end.")
    if min(epochs or 0, steps or 0, validate_epochs) < 0:
        raise ValueError(
            f"epochs, steps and validate_epochs must not be negative, but are {epochs}, {steps} and {validate_epochs}."
        )
    if validate_steps is not None and validate_steps < 1:
        raise ValueError(f"validate_steps must be at least 1, not {validate_steps}. Leave it out for whole epochs.")
    return Training(
        task,
        epochs,
        steps,
        validate_epochs,
        validate_steps,
        follow,
        early_stopping,
        compile=compile,
        observe=observe,
        rewind=rewind,
        probe=probe,
    )


def evaluate(task: Task, *, compile: bool = True) -> Generator[TrainingEvent, None, None]:
    """Evaluate a task on its validation data: yields a ValidationStep per batch, then a Validated.

    Raises DataError if there are no validation samples.
    """
    yield from fit(task, epochs=0, compile=compile).validation()


class Training(Iterator[TrainingEvent]):
    """A running training, as an iterator of events. Closing it stops the training.

    Between two events, `state_dict` returns the complete state. A new training that loads it continues with identical
    results, bit for bit.
    """

    def __init__(
        self,
        task: Task,
        epochs: int | None,
        steps: int | None,
        validate_epochs: int,
        validate_steps: int | None,
        follow: str,
        stopping: EarlyStopping | None,
        *,
        compile: bool,
        observe: bool = False,
        rewind: StepRewind | None = None,
        probe: StepProbe | None = None,
    ) -> None:
        self.task = task
        self.rewind = rewind
        """Keeps what `undo_step` needs; None if nothing is kept."""
        self._undone: tuple[KeptStep, float, float] | None = None
        """The undone step, and the seconds of training and of the epoch after it."""
        self._probe = probe
        self._observer = Observer(task) if observe else None
        self._step_functions = StepFunctions(task, compile=compile)
        self._epochs, self._steps = epochs, steps
        self._validate_epochs, self._validate_steps = validate_epochs, validate_steps
        self._follow, self._stopping = follow, stopping
        self.epoch = 0
        """Completed epochs. `batch` counts completed batches of the current epoch, `step` all batches."""
        self.batch = 0
        self.step = 0
        self._last_batch: Any = None
        self._seconds = 0.0
        self._epoch_seconds = 0.0
        self._step_seconds = 0.0
        self._mean = LossMean()
        self._count: int | None = None
        """Batches per epoch, if known; for a stream after its first epoch."""
        self._validation_pending = False
        """Whether a validation within the epoch runs next or is running."""
        self._before_validation: dict[str, Any] | None = None
        """During a validation: metric state, carried states and random state from before it."""
        self._tracker: BestTracker | None = None
        self._events = self._run()

    def __iter__(self) -> Training:
        return self

    def __next__(self) -> TrainingEvent:
        with random.drawing_from(self.task.stream):
            return next(self._events)

    def validation(self) -> Generator[TrainingEvent, None, None]:
        """Validate now, without affecting the training."""
        batches, _ = self._set_up()
        if batches.validation is None or count_samples(batches.validation) == 0:
            raise DataError("there are no validation samples to evaluate on. Split off a part of the data.")
        sums = save_metrics(self.task)
        val, losses = yield from self._validate(batches.validation)
        tables = metric_tables(self.task)
        restore_metrics(self.task, sums)
        yield Validated(self.epoch, self.step, val.pop("loss"), val, best=False, tables=tables, val_losses=losses)

    def close(self) -> None:
        """Stop the training and restore the modes of the modules."""
        self._events.close()

    # -- one step back

    @property
    def last_batch(self) -> Any:
        """The batch of the last step, on the device; None before the first."""
        return self.rewind.steps[-1].batch if self.rewind is not None and self.rewind.steps else self._last_batch

    @property
    def is_undone(self) -> bool:
        """Whether the last step is undone."""
        return self._undone is not None

    def undo_step(self) -> bool:
        """Return to the state before the last step: weights, optimizers, schedules, metrics, counters, random numbers.

        Call it after a Step or a later event of that step, and `redo_step` before the next event is requested. Returns
        False if there is no last step, or nothing is kept.
        """
        if self.rewind is None or not self.rewind.can_undo or self._undone is not None:
            return False
        after = self._seconds, self._epoch_seconds
        with random.drawing_from(self.task.stream):
            step = self.rewind.restore(self.task, self._repeat)
        self._set_position(step.position)
        self._undone = (step, *after)
        return True

    def redo_step(self) -> None:
        """Train the undone step again, to the same bits. Without one, nothing happens."""
        if self._undone is not None:
            step, *seconds = self._undone
            self._undone = None
            with random.drawing_from(self.task.stream):
                self._repeat(step)
            self._seconds, self._epoch_seconds = seconds

    def _repeat(self, step: KeptStep) -> None:
        self._set_position(step.position)
        self._advance(step.batch, step.accumulation)

    def _position(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "batch": self.batch,
            "step": self.step,
            "mean": self._mean.state,
            "seconds": self._seconds,
            "epoch_seconds": self._epoch_seconds,
            "pending": self._validation_pending,
        }

    def _set_position(self, position: Mapping[str, Any]) -> None:
        self.epoch, self.batch, self.step = position["epoch"], position["batch"], position["step"]
        self._mean = LossMean(*position["mean"])
        self._seconds, self._epoch_seconds = position["seconds"], position["epoch_seconds"]
        self._validation_pending = position["pending"]

    # -- saving and loading

    def state_dict(self) -> dict[str, Any]:
        """The complete training state for `engine.save`. Tensors are copies."""
        with random.drawing_from(self.task.stream):
            tracker = self._set_up()[1]
        task, before = self.task, self._before_validation
        state = save_task(task)
        if before is not None:  # a validation in progress is repeated
            state["metrics"], state["states"] = before["metrics"], before["states"]
        return {
            "task": state,
            "epoch": self.epoch,
            "batch": self.batch,
            "batches": self._count,
            "step": self.step,
            "mean": self._mean.state,
            "judge": tracker.state_dict(),
            "pending": self._validation_pending,
            "random": list(task.stream.get_state() if before is None else before["random"]),
            "seconds": [self._seconds, self._epoch_seconds],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`. Raises WeightsError if it does not fit the task."""
        with random.drawing_from(self.task.stream):
            tracker = self._set_up()[1]
            restore_task(self.task, state["task"])
        self.epoch, self.batch, self.step = state["epoch"], state["batch"], state["step"]
        self._mean = LossMean(*state["mean"])
        tracker.load_state_dict(state["judge"])
        self.task.stream.set_state(state["random"])
        self._seconds, self._epoch_seconds = state["seconds"]
        self._validation_pending, self._count = state["pending"], state.get("batches")
        if self.rewind is not None:
            self.rewind.forget()

    def reset_patience(self) -> bool:
        """Reset early-stopping patience. Returns whether early stopping had ended the training."""
        with random.drawing_from(self.task.stream):
            tracker = self._set_up()[1]
        had_ended = tracker.should_stop
        tracker.reset_patience()
        return had_ended

    # -- the loop

    def _set_up(self) -> tuple[Loaders, BestTracker]:
        batches = self.task.setup()
        if self._tracker is None:
            self._tracker = BestTracker(self.task, self._follow, self._stopping)
        return batches, self._tracker

    def _run(self) -> Generator[TrainingEvent, None, None]:
        batches, tracker = self._set_up()
        counted = count_batches(batches.train)
        self._count = self._count if counted is None else counted
        yield self._started(batches)
        with preserve_modes(self.task):
            while not self._end_reason():
                yield from self._run_epoch(batches, tracker)
        yield Done(self.epoch, self.step, self._seconds, self._end_reason() or "epochs")

    def _end_reason(self) -> Literal["epochs", "steps", "early"] | None:
        if self._steps is not None and self.step >= self._steps:
            return "steps"
        if self._epochs is not None and self.epoch >= self._epochs:
            return "epochs"
        return "early" if self._tracker is not None and self._tracker.should_stop else None

    def _started(self, batches: Loaders) -> Started:
        parameters = {id(p): p for module in self.task.modules.values() for p in module.parameters() if p.requires_grad}
        return Started(
            epochs=self._epochs,
            steps=self._steps,
            batches=self._count,
            train_samples=count_samples(batches.train),
            validation_samples=0 if batches.validation is None else count_samples(batches.validation),
            parameters=sum(parameter.numel() for parameter in parameters.values()),
            device=str(self.task.device),
            seed=self.task.seed,
            compiled=self._step_functions.compiled,
            epoch=self.epoch,
            step=self.step,
        )

    def _run_epoch(self, batches: Loaders, tracker: BestTracker) -> Iterator[TrainingEvent]:
        remaining = None if self._count is None or is_stream(batches.train) else self._count - self.batch
        timed = TimedBatches(self._batches(batches.train), self.task, remaining)
        if not self.batch and not timed.remaining():
            raise empty_stream_error(batches.train, self.epoch)
        while timed.remaining():
            if self._validation_pending and batches.validation is not None:
                yield from self._validate_within(batches.validation, tracker)
            if self._end_reason():
                break
            yield from self._train(timed)
        self._validation_pending = False
        complete = not timed.remaining()
        if complete:
            self._count = self.batch
        yield from self._end_epoch(batches, tracker, complete=complete)

    def _batches(self, loader: AnyLoader) -> Iterator[Any]:
        """The remaining batches of the current epoch."""
        resumed_at = random.get_rng_state()
        loader.set_epoch(self.epoch, self.task.seed, skip=self.batch)
        random.set_rng_state(random.Generator(self.task.seed).fork("epoch", self.epoch).get_state())
        if self.batch == 0:
            self._mean, self._epoch_seconds = LossMean(), 0.0
            reset_metrics(self.task)
            reset_states(self.task)
        batches = iter(loader)
        if self.batch:
            random.set_rng_state(resumed_at)
        return batches

    def _train(self, timed: TimedBatches) -> Iterator[TrainingEvent]:
        """Train one batch."""
        accumulation = self._accumulation_position(timed)
        batch = self._last_batch = timed.next()
        if self.rewind is not None:
            with timed.excluded():
                self.rewind.record(self.task, self._position(), batch, accumulation)
        observation = self._observe(batch, timed)
        if self._probe is not None:
            with timed.excluded():
                self._probe.before_step(batch, self.step + 1)
        values, rates, rate = self._advance(batch, accumulation)
        metrics = read_metrics(self.task)
        seconds = self._step_seconds = timed.stop()
        self._seconds += seconds
        self._epoch_seconds += seconds
        if self._probe is not None:
            self._probe.after_step()
        loss, size = sum(values.values()), batch_size(batch)
        reports_first = self.rewind is not None and self.rewind.reports_nonfinite_batches
        if not math.isfinite(loss) and not reports_first:
            check_finite(batch)
        yield Step(
            epoch=self.epoch + 1,
            batch=self.batch,
            step=self.step,
            loss=loss,
            losses=values,
            metrics=metrics,
            seconds=seconds,
            samples_per_second=size / max(seconds, 1e-9),
            learning_rate=rate,
            finite=math.isfinite(loss),
            waiting=timed.waiting,
            learning_rates=rates,
            ended=timed.stopped,
        )
        if not math.isfinite(loss):
            check_finite(batch)
        if observation is not None and self._observer is not None:
            yield self._observer.finish(observation)
        if (compile_state := self._step_functions.new_compile_state(self.step)) is not None:
            yield compile_state

    def _advance(self, batch: Any, accumulation: tuple[Any, ...]) -> tuple[dict[str, float], dict[str, float], float]:
        """Train on a batch and count it. Returns losses and learning rates by optimizer, and the main learning rate."""
        for module in self.task.modules.values():
            module.train()
        losses = self._step_functions.train(self.task, batch, *accumulation)
        values = losses_by_name(self.task, losses)
        self._mean.add(values, batch_size(batch))
        rate, rates = learning_rate(self.task), learning_rates(self.task)
        self.step += 1
        self.batch += 1
        if not accumulation or accumulation[1]:
            step_schedules(self.task, self._mean.value, per_batch=True)
        interval = self._validate_steps
        self._validation_pending = interval is not None and self.batch % interval == 0
        return values, rates, rate

    def _observe(self, batch: Any, timed: TimedBatches) -> Observation | None:
        """Measure the layers on a batch, if it is time for that. The step's time excludes it."""
        if self._observer is None or not self._observer.is_due(self.step + 1, self._step_seconds):
            return None
        with timed.excluded():
            return self._observer.observe(batch, self.step + 1)

    def _accumulation_position(self, timed: TimedBatches) -> tuple[Any, ...]:
        """Position of the next batch in its accumulation group: first, last, share.

        Batches of a stream are read ahead for a whole group, because the stream may end within it.
        """
        group = self.task.accumulate
        if group == 1:
            return ()
        position = self.batch % group
        size = position + timed.remaining(group - position)
        return position == 0, position == size - 1, 1 / size

    def _end_epoch(self, batches: Loaders, tracker: BestTracker, *, complete: bool) -> Iterator[TrainingEvent]:
        sums, state, mean = save_metrics(self.task), random.get_rng_state(), self._mean
        train = {"loss": mean.value, **read_metrics(self.task, costly=True)}
        tables, train_seconds = metric_tables(self.task), self._epoch_seconds
        val, val_losses = dict[str, float](), dict[str, float]()
        if batches.validation is not None and self._should_validate(complete=complete):
            val, val_losses = yield from self._validate(batches.validation)
            tables = metric_tables(self.task) or tables
        is_tracked = bool(val) or batches.validation is None or self._follow.startswith("train_")
        best = is_tracked and tracker.update(prefixed_metrics(train, val), complete=complete)
        rate = learning_rate(self.task)
        if complete:
            step_schedules(self.task, val.get("loss", mean.value), per_batch=False)
            self.epoch += 1
            self.batch = 0
        else:  # a resumed training may continue from here
            restore_metrics(self.task, sums)
            random.set_rng_state(state)
        yield Epoch(
            epoch=self.epoch + (not complete),
            step=self.step,
            train_loss=train.pop("loss"),
            val_loss=val.pop("loss", None),
            train_metrics=train,
            val_metrics=val,
            seconds=self._epoch_seconds,
            samples_per_second=mean.count / max(train_seconds, 1e-9),
            learning_rate=rate,
            finite=math.isfinite(mean.value),
            best=best,
            tables=tables,
            batches=self._count,
            train_losses=mean.by_name,
            val_losses=val_losses,
        )

    def _should_validate(self, *, complete: bool) -> bool:
        """Whether to validate after this epoch; the last epoch is always validated."""
        interval, number = self._validate_epochs, self.epoch + 1
        return interval > 0 and (number % interval == 0 or number == self._epochs or not complete)

    def _validate_within(self, loader: AnyLoader, tracker: BestTracker) -> Iterator[TrainingEvent]:
        """Validate within an epoch, without affecting the training."""
        train = {"loss": self._mean.value, **read_metrics(self.task, costly=True)}
        sums, state = save_metrics(self.task), random.get_rng_state()
        val, losses = yield from self._validate(loader)
        tables = metric_tables(self.task)
        restore_metrics(self.task, sums)
        random.set_rng_state(state)
        self._validation_pending = False
        best = tracker.update(prefixed_metrics(train, val))
        yield Validated(self.epoch + 1, self.step, val.pop("loss"), val, best, tables, losses)

    def _validate(self, loader: AnyLoader) -> Generator[TrainingEvent, None, tuple[dict[str, float], dict[str, float]]]:
        """Loss and metrics of the validation data, and losses by optimizer; empty without validation data."""
        states = save_states(self.task)
        self._before_validation = {
            "metrics": save_metrics(self.task),
            "states": states,
            "random": random.get_rng_state(),
        }
        reset_metrics(self.task)
        reset_states(self.task)
        count = batch_count(loader)
        mean, timed, number = LossMean(), TimedBatches(iter(loader), self.task, None if is_stream(loader) else count), 0
        while timed.remaining():
            batch, number = timed.next(), number + 1
            # Modes are restored before the event is yielded: its receiver may use the model.
            with preserve_modes(self.task), no_grad():
                for module in self.task.modules.values():
                    module.eval()
                values = losses_by_name(self.task, self._step_functions.validate(self.task, batch))
            mean.add(values, batch_size(batch))
            seconds = timed.stop()
            self._seconds += seconds
            self._epoch_seconds += seconds
            is_finite = math.isfinite(sum(values.values()))
            found = "" if is_finite else nonfinite_values(batch)
            yield ValidationStep(self.epoch + 1, number, count, finite=is_finite, nonfinite_values=found)
        if not number and is_stream(loader):
            raise empty_stream_error(loader, self.epoch, "validation")
        self._before_validation = None
        restore_states(self.task, states)
        return ({"loss": mean.value, **read_metrics(self.task, costly=True)} if mean.count else {}), mean.by_name


__all__ = ["Training", "evaluate", "fit"]
