"""Training tasks: data, model, losses, optimizers, schedules and metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, TypeVar

from engine import random
from engine.amp import GradScaler
from engine.backend import Device, resolve
from engine.compiler import CompiledFunction
from engine.data.batches import Loaders
from engine.fit.gradient_accumulation import GradientAccumulator
from engine.metrics import Metric
from engine.nn.module import Module
from engine.optim.lr_scheduler import CyclicLR, LRScheduler, OneCycleLR
from engine.optim.optimizer import Optimizer
from engine.tensors import Tensor

T = TypeVar("T")

REPLAY_IGNORED = frozenset({"_found_attributes", "batches", "replay_classes", "step", "stream", "validation_step"})
"""Attributes that a training step does not depend on."""


class Task(ABC):
    """Base class of training tasks: data, model, optimizers, schedules and metrics.

    Except for the data, they are found among the attributes of the task. Class attributes configure the training step.

    Args:
        device: device of the model and the batches
        seed: random seed for initial weights, sample order and all random numbers of the training
    """

    model: Module
    replay_classes: tuple[type, ...] | None = None
    """Classes whose methods depend only on their object and arguments, so that compiled steps can replay without
    running Python. Set by generated code; leave it at None in handwritten classes."""
    accumulate: int = 1
    """Number of batches whose gradients are averaged per optimizer step."""
    clip_norm: float | None = None
    """Maximum gradient norm per optimizer, over all its parameters."""
    clip_value: float | None = None
    """Maximum absolute value of gradient elements."""
    mixed_precision: Literal["off", "bfloat16", "float16"] = "off"
    """Dtype of autocast ops; float16 enables loss scaling."""
    per_step: tuple[str, ...] = ()
    """Names of schedules that step after each optimizer step, as OneCycleLR and CyclicLR always do; others step after
    each epoch."""
    step: CompiledFunction | None = None
    """The compiled training step, set by `fit`."""
    validation_step: CompiledFunction | None = None
    scaler: GradScaler | None = None
    """Loss scaler, created by `setup` for float16."""
    sums: GradientAccumulator | None = None
    """Gradient accumulator, created by `setup` if `accumulate` is above 1."""

    stream: random.Generator
    """Random stream of the training, independent of other random numbers. The object is never replaced, because
    compiled steps refer to it."""

    def __init__(self, *, device: Device | str = "cpu", seed: int = 0) -> None:
        self.device = resolve(device)
        self.seed = seed
        self.stream = random.Generator(seed)
        self.batches: Loaders | None = None

    @abstractmethod
    def data(self) -> Loaders:
        """Return the training and validation batches: `data.Batches` of splits, or `data.Loaders`."""

    @abstractmethod
    def configure(self) -> None:
        """Create the model, optimizers, schedules and metrics as attributes."""

    @abstractmethod
    def losses(self, batch: Any) -> Mapping[Optimizer, Tensor]:
        """Compute the loss of each optimizer from a batch."""

    def setup(self) -> Loaders:
        """Read the data and create the model, once; called by `fit`. Returns the batches."""
        if self.batches is None:
            random.manual_seed(self.seed)
            batches = self.data()
            with self.device:
                self.configure()
            self._check()
            if self.mixed_precision == "float16":
                self.scaler = GradScaler(self.device.type)
            if self.accumulate > 1:
                trained = {id(p): p for one in self.optimizers.values() for g in one.param_groups for p in g["params"]}
                self.sums = GradientAccumulator(trained.values())
            self.batches = batches
        return self.batches

    def measure(self, metric: Metric, input: Tensor, target: Tensor) -> None:
        """Update a metric with a batch, detached from the autograd graph."""
        metric.update(input.detach(), target)

    def to_device(self, batch: Any) -> Any:
        """Move the tensors of a batch, in any nested structure, to the task's device."""
        return _move_to(batch, self.device)

    @property
    def modules(self) -> dict[str, Module]:
        return self._attributes(Module)

    @property
    def optimizers(self) -> dict[str, Optimizer]:
        return self._attributes(Optimizer)

    @property
    def schedulers(self) -> dict[str, LRScheduler]:
        return self._attributes(LRScheduler)

    @property
    def metrics(self) -> dict[str, Metric]:
        return self._attributes(Metric)

    def is_stepped_per_batch(self, schedule: str) -> bool:
        """Whether a schedule steps after each optimizer step instead of after each epoch."""
        return schedule in self.per_step or isinstance(self.schedulers[schedule], (OneCycleLR, CyclicLR))

    def _check(self) -> None:
        if self.accumulate < 1:
            raise ValueError(f"accumulate must be at least 1, not {self.accumulate}.")
        for name, bound in (("clip_norm", self.clip_norm), ("clip_value", self.clip_value)):
            if bound is not None and not bound > 0:
                raise ValueError(f"{name} must be above 0, not {bound}. Set it to None to disable clipping.")
        if self.mixed_precision not in ("off", "bfloat16", "float16"):
            raise ValueError(f"mixed_precision must be 'off', 'bfloat16' or 'float16', not {self.mixed_precision!r}.")
        with_closure = [name for name, optimizer in self.optimizers.items() if optimizer.needs_closure]
        if with_closure and (self.accumulate > 1 or self.mixed_precision == "float16"):
            raise ValueError(
                f"{with_closure[0]} evaluates the loss of a batch several times, so it does not support "
                "accumulate and float16. Choose another optimizer, or turn these off."
            )

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], Collection[str]]]:
        """State that replayed steps depend on: names, dicts, and keys whose values may change."""
        yield "", vars(self), REPLAY_IGNORED | self.schedulers.keys()

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        vars(self)["_found_attributes"] = {}

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        vars(self)["_found_attributes"] = {}

    def _attributes(self, kind: type[T]) -> dict[str, T]:
        """Attributes of a type, cached until an attribute is set, because each step needs them several times."""
        found: dict[type[Any], dict[str, Any]] = vars(self)["_found_attributes"]
        if kind not in found:
            # A copy: observers in other threads read while attributes are added.
            found[kind] = {name: value for name, value in vars(self).copy().items() if isinstance(value, kind)}
        return found[kind].copy()


def _move_to(batch: Any, device: Device) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {key: _move_to(value, device) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_move_to(value, device) for value in batch]
    return batch


__all__ = ["Task"]
