"""Training as a generator of events."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator, Mapping
from typing import Any, Literal

from engine import random
from engine.data.batches import Batches
from engine.data.loader import DataLoader
from engine.errors import DataError
from engine.events import Done, Epoch, Event, Started, Step, ValidationStep
from engine.fit.steps import Steps, modes_kept
from engine.fit.task import Task
from engine.modes import no_grad
from engine.optim.optimizer import Optimizer
from engine.tensor import Tensor


def fit(
    task: Task, *, epochs: int | None = None, steps: int | None = None, start: int = 0, compile: bool = True
) -> Generator[Event, None, None]:
    """Train until `epochs` epochs or `steps` batches are done, whichever comes first.

    Epoch ``e`` takes its samples in an order, and its random numbers from a stream, that follow from the task's seed
    and ``e`` alone. So a run that begins at `start` with the weights and optimizer state that another run had there
    goes on exactly as that one did.

    Args:
        task: what to train; set up on the first event if it is not yet
        epochs: the last epoch's number, counted from 1
        steps: the number of batches in all
        start: epochs that are already done
        compile: run steps as compiled plans, as `engine.compile` does; `task.step` tells what became of them

    Yields:
        Started; for each batch a Step, and a CompileState where steps begin to run in another way; after each epoch a
        ValidationStep for each batch and an Epoch; Done.

    Raises:
        ValueError: neither `epochs` nor `steps` is given, or one is negative.
        DataError: the data cannot be read, or give no training batch.
    """
    if epochs is None and steps is None:
        raise ValueError("fit needs epochs or steps, or it would never end.")
    if min(epochs or 0, steps or 0, start) < 0:
        raise ValueError(f"epochs, steps and start must not be negative, but are {epochs}, {steps} and {start}.")
    return _Run(task, Steps(task, compile=compile), epochs, steps, start).events()


class _Run:
    """The state of one `fit`."""

    def __init__(self, task: Task, steps_of: Steps, epochs: int | None, steps: int | None, start: int) -> None:
        self.task = task
        self.by = steps_of
        self.epochs = epochs
        self.steps = steps
        self.epoch = start
        self.step = 0
        self.seconds = 0.0

    def events(self) -> Generator[Event, None, None]:
        batches = self.task.setup()
        count = _count_batches(batches.train)
        self.step = self.epoch * count
        yield self._started(batches, count)
        with modes_kept(self.task):
            while not self._reason():
                yield from self._run_epoch(batches)
        yield Done(self.epoch, self.step, self.seconds, self._reason() or "epochs")

    def _reason(self) -> Literal["epochs", "steps"] | None:
        if self.steps is not None and self.step >= self.steps:
            return "steps"
        return "epochs" if self.epochs is not None and self.epoch >= self.epochs else None

    def _started(self, batches: Batches, count: int) -> Started:
        parameters = {id(p): p for module in self.task.modules.values() for p in module.parameters() if p.requires_grad}
        return Started(
            epochs=self.epochs,
            steps=self.steps,
            batches=count,
            train_samples=len(batches.train.dataset),
            validation_samples=0 if batches.validation is None else len(batches.validation.dataset),
            parameters=sum(parameter.numel() for parameter in parameters.values()),
            device=str(self.task.device),
            seed=self.task.seed,
            compiled=self.by.compiled,
        )

    def _run_epoch(self, batches: Batches) -> Iterator[Event]:
        batches.train.set_epoch(self.epoch, self.task.seed)
        random.set_rng_state(random.Generator(self.task.seed).fork("epoch", self.epoch).get_state())
        before = self.seconds
        train, val = _Mean(), _Mean()
        yield from self._train(batches.train, train)
        train_seconds = self.seconds - before
        train_metrics = self._read_metrics()
        if batches.validation is not None:
            yield from self._validate(batches.validation, val)
        complete = self.step % len(batches.train) == 0
        self.epoch += complete
        yield Epoch(
            epoch=self.epoch + (not complete),
            step=self.step,
            train_loss=train.value,
            val_loss=val.value if val.count else None,
            train_metrics=train_metrics,
            val_metrics=self._read_metrics() if val.count else {},
            seconds=self.seconds - before,
            samples_per_second=train.count / max(train_seconds, 1e-9),
            learning_rate=self._learning_rate(),
            finite=math.isfinite(train.value),
        )

    def _train(self, loader: DataLoader, mean: _Mean) -> Iterator[Event]:
        for module in self.task.modules.values():
            module.train()
        self._reset_metrics()
        timed = _Timed(loader, self.task)
        for number, batch in enumerate(timed, start=1):
            losses = self.by.train(self.task, batch)
            values = self._named(losses)
            loss, size = sum(values.values()), _batch_size(batch)
            mean.add(loss, size)
            metrics = self._read_metrics()
            seconds = timed.stop()
            self.seconds += seconds
            self.step += 1
            yield Step(
                epoch=self.epoch + 1,
                batch=number,
                step=self.step,
                loss=loss,
                losses=values,
                metrics=metrics,
                seconds=seconds,
                samples_per_second=size / max(seconds, 1e-9),
                learning_rate=self._learning_rate(),
                finite=math.isfinite(loss),
            )
            news = self.by.news(self.step)
            if news is not None:
                yield news
            if self.step == self.steps:
                return

    def _validate(self, loader: DataLoader, mean: _Mean) -> Iterator[Event]:
        self._reset_metrics()
        timed = _Timed(loader, self.task)
        for number, batch in enumerate(timed, start=1):
            # Mode and grad switch are back before the event goes out: its receiver may use the model as it likes.
            with modes_kept(self.task), no_grad():
                for module in self.task.modules.values():
                    module.eval()
                values = self._named(self.by.validate(self.task, batch))
            mean.add(sum(values.values()), _batch_size(batch))
            self.seconds += timed.stop()
            yield ValidationStep(self.epoch + 1, number, len(loader))

    def _named(self, losses: Mapping[Optimizer, Tensor]) -> dict[str, float]:
        return {name: float(losses[one].item()) for name, one in self.task.optimizers.items() if one in losses}

    def _reset_metrics(self) -> None:
        for metric in self.task.metrics.values():
            metric.reset()

    def _read_metrics(self) -> dict[str, float]:
        return {name: metric.compute() for name, metric in self.task.metrics.items()}

    def _learning_rate(self) -> float:
        first = next(iter(self.task.optimizers.values()), None)
        return float("nan") if first is None else float(first.param_groups[0]["lr"])


class _Mean:
    """A mean of batch losses, each weighing as many samples as it has."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def add(self, value: float, samples: int) -> None:
        self.sum += value * samples
        self.count += samples

    @property
    def value(self) -> float:
        return self.sum / self.count if self.count else float("nan")


class _Timed:
    """Batches on their device, and the time from asking for one until `stop`."""

    def __init__(self, loader: DataLoader, task: Task) -> None:
        self._loader = loader
        self._task = task

    def __iter__(self) -> Iterator[Any]:
        self._began = time.perf_counter()
        for batch in self._loader:
            yield self._task.to_device(batch)
            self._began = time.perf_counter()

    def stop(self) -> float:
        return time.perf_counter() - self._began


def _count_batches(loader: DataLoader) -> int:
    count = len(loader)
    if count == 0:
        samples = len(loader.dataset)
        raise DataError(
            f"{samples} training samples give no batch of {loader.batch_size}, as drop_last leaves out smaller ones. "
            f"Set batch_size to {samples} or less."
            if samples
            else "there are no training samples. Choose data that have some."
        )
    return count


def _batch_size(batch: Any) -> int:
    if isinstance(batch, Tensor):
        return batch.shape[0] if batch.ndim else 1
    parts = list(batch.values()) if isinstance(batch, Mapping) else batch
    return _batch_size(parts[0])


__all__ = ["fit"]
