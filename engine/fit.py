"""Training as a generator of events. Whoever asks for the next event lets training go on; whoever closes it ends it.

class Digits(fit.Task):
    def data(self):
        return data.Batches(data.Digits().map(transforms.Normalize(0.0, 16.0)))

    def configure(self):
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        self.accuracy = metrics.Accuracy()
        self.adam = optim.Adam(self.model.parameters())

    def losses(self, batch):
        images, labels = batch
        logits = self.model(images)
        self.measure(self.accuracy, logits, labels)
        return {self.adam: functional.cross_entropy(logits, labels)}

for event in fit.fit(Digits(seed=1), epochs=5):
    ...
"""

from __future__ import annotations

import functools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from engine import random
from engine.backend import Device, resolve
from engine.data.batches import Batches
from engine.data.loader import DataLoader
from engine.errors import DataError
from engine.events import Done, Epoch, Event, Started, Step, ValidationStep
from engine.metrics import Metric
from engine.modes import no_grad
from engine.nn.module import Module
from engine.optim.optimizer import Optimizer
from engine.tensor import Tensor

__all__ = ["Done", "Epoch", "Event", "Started", "Step", "Task", "ValidationStep", "fit", "step", "untouched"]

T = TypeVar("T")
Closure = Callable[[], Tensor]


class Task(ABC):
    """What is trained on what: data, model, optimizers and metrics. The last three are found among the attributes.

    Args:
        device: where the model lives and batches are brought to
        seed: initial weights, order of samples and every random number of the training follow from it
    """

    model: Module

    def __init__(self, *, device: Device | str = "cpu", seed: int = 0) -> None:
        self.device = resolve(device)
        self.seed = seed
        self.batches: Batches | None = None

    @abstractmethod
    def data(self) -> Batches:
        """The batches to train and validate with."""

    @abstractmethod
    def configure(self) -> None:
        """Make model, optimizers and metrics, and keep them as attributes."""

    @abstractmethod
    def losses(self, batch: Any) -> Mapping[Optimizer, Tensor]:
        """For each optimizer the number that it is to make small, computed from a batch."""

    def setup(self) -> Batches:
        """Read the data and make the model, once; `fit` calls it. Returns the batches."""
        if self.batches is None:
            random.manual_seed(self.seed)
            batches = self.data()
            with self.device:
                self.configure()
            self.batches = batches
        return self.batches

    def measure(self, metric: Metric, input: Tensor, target: Tensor) -> None:
        """Let a metric take in a batch, without a place in the autograd graph."""
        metric.update(input.detach(), target)

    def to_device(self, batch: Any) -> Any:
        """A batch, whatever its structure, with its tensors on the task's device."""
        return _moved(batch, self.device)

    @property
    def modules(self) -> dict[str, Module]:
        return self._attributes(Module)

    @property
    def optimizers(self) -> dict[str, Optimizer]:
        return self._attributes(Optimizer)

    @property
    def metrics(self) -> dict[str, Metric]:
        return self._attributes(Metric)

    def _attributes(self, kind: type[T]) -> dict[str, T]:
        return {name: value for name, value in vars(self).items() if isinstance(value, kind)}


def fit(
    task: Task, *, epochs: int | None = None, steps: int | None = None, start: int = 0
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

    Yields:
        Started; for each batch a Step; after each epoch a ValidationStep for each batch and an Epoch; Done.

    Raises:
        ValueError: neither `epochs` nor `steps` is given, or one is negative.
        DataError: the data cannot be read, or give no training batch.
    """
    if epochs is None and steps is None:
        raise ValueError("fit needs epochs or steps, or it would never end.")
    if min(epochs or 0, steps or 0, start) < 0:
        raise ValueError(f"epochs, steps and start must not be negative, but are {epochs}, {steps} and {start}.")
    return _Run(task, epochs, steps, start).events()


def step(task: Task, batch: Any) -> Mapping[Optimizer, Tensor]:
    """Trains with one batch: losses, gradients, a step of each optimizer. Reads no numbers; returns the losses."""
    random_state = random.get_rng_state()
    losses = task.losses(batch)
    _improve(losses, functools.partial(_again, task, batch, random_state))
    return losses


@contextmanager
def untouched(task: Task) -> Iterator[None]:
    """Losses may be computed and differentiated inside, for a look at them: the training goes on as if nothing was.

    Gradients, buffers such as running means, metrics and the default random stream are put back at the end. The tensors
    in `.grad` are None inside at first.
    """
    state = random.get_rng_state()
    metrics = [(metric, dict(vars(metric))) for metric in task.metrics.values()]
    modules = task.modules.values()
    gradients = [(parameter, parameter.grad) for module in modules for parameter in module.parameters()]
    buffers = [(buffer, buffer.detach().clone()) for module in modules for buffer in module.buffers()]
    for parameter, _ in gradients:
        parameter.grad = None
    try:
        yield
    finally:
        random.set_rng_state(state)
        for metric, values in metrics:
            vars(metric).update(values)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        with no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)


class _Run:
    """The state of one `fit`."""

    def __init__(self, task: Task, epochs: int | None, steps: int | None, start: int) -> None:
        self.task = task
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
        with _modes_kept(self.task):
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
            losses = step(self.task, batch)
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
            if self.step == self.steps:
                return

    def _validate(self, loader: DataLoader, mean: _Mean) -> Iterator[Event]:
        self._reset_metrics()
        timed = _Timed(loader, self.task)
        for number, batch in enumerate(timed, start=1):
            # Mode and grad switch are back before the event goes out: its receiver may use the model as it likes.
            with _modes_kept(self.task), no_grad():
                for module in self.task.modules.values():
                    module.eval()
                values = self._named(self.task.losses(batch))
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


@contextmanager
def _modes_kept(task: Task) -> Iterator[None]:
    """Each module is put back into the mode, train or eval, that it had before."""
    modes = [(module, module.training) for root in task.modules.values() for module in root.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _improve(losses: Mapping[Optimizer, Tensor], closure: Callable[[Optimizer, Tensor], Closure] | None = None) -> None:
    """One step of each optimizer. Gradients of one's loss do not reach the parameters of another.

    `closure` makes what an optimizer evaluates its loss by, if it does that several times.
    """
    found: list[tuple[Tensor, Tensor | None]] = []
    for place, (optimizer, loss) in enumerate(losses.items(), start=1):
        for other in losses:
            other.zero_grad()
        loss.backward(retain_graph=place < len(losses))
        if len(losses) > 1:
            # All losses are differentiated before the first step changes what their graphs have saved.
            found += [(parameter, parameter.grad) for group in optimizer.param_groups for parameter in group["params"]]
    for parameter, gradient in found:
        parameter.grad = gradient
    for optimizer, loss in losses.items():
        optimizer.step(closure(optimizer, loss) if closure is not None and optimizer.needs_closure else None)


def _again(task: Task, batch: Any, random_state: random.State, optimizer: Optimizer, loss: Tensor) -> Closure:
    """What gives the loss of a batch and its gradients for the parameters as they are.

    The first time that is `loss`, whose gradients are there. Later ones draw the same random numbers, and metrics,
    buffers and the other gradients do not notice them.
    """
    first = [loss]

    def evaluated() -> Tensor:
        if first:
            return first.pop()
        with untouched(task):
            random.set_rng_state(random_state)
            found = task.losses(batch)[optimizer]
            found.backward()
            own = [(parameter, parameter.grad) for group in optimizer.param_groups for parameter in group["params"]]
        for parameter, gradient in own:
            parameter.grad = gradient
        return found

    return evaluated


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


def _moved(batch: Any, device: Device) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {key: _moved(value, device) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_moved(value, device) for value in batch]
    return batch
