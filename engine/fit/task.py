"""What is trained on what."""

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

REPLAY_IGNORED = frozenset({"_found_attributes", "batches", "replays", "step", "stream", "validation_step"})
"""Attributes of a task that are no part of what a step depends on."""


class Task(ABC):
    """What is trained on what: data, model, optimizers, schedules and metrics. All but the data are found among the
    attributes. How a step is made is said by attributes of the class.

    Args:
        device: where the model lives and batches are brought to
        seed: initial weights, order of samples and every random number of the training follow from it
    """

    model: Module
    replays: tuple[type, ...] | None = None
    """Not None: this task's class and further ones, whose methods go by nothing but their object and their arguments.
    Compiled steps may then run without their Python. The studio says it of the classes that it generates; leave it at
    None for classes written by hand."""
    accumulate: int = 1
    """Batches whose gradients are averaged for one step of the optimizers."""
    clip_norm: float | None = None
    """The largest norm that the gradients of an optimizer, taken as one vector, may have."""
    clip_value: float | None = None
    """The largest size that an element of a gradient may have."""
    mixed_precision: Literal["off", "bfloat16", "float16"] = "off"
    """What the ops that autocast knows compute in; with float16, losses are scaled."""
    per_step: tuple[str, ...] = ()
    """Schedules that go on after each step of the optimizers, as OneCycleLR and CyclicLR always do; others do after
    each epoch."""
    step: CompiledFunction | None = None
    """What trains with a batch, once `fit` has compiled it; it knows what became of it."""
    validation_step: CompiledFunction | None = None
    scaler: GradScaler | None = None
    """Of losses; there once `setup` has seen that `mixed_precision` needs it."""
    sums: GradientAccumulator | None = None
    """Of gradients; there if `accumulate` needs it."""

    stream: random.Generator
    """Where the random numbers of its trainings come from, whatever is drawn elsewhere meanwhile. It stays the same
    one, as compiled steps know it."""

    def __init__(self, *, device: Device | str = "cpu", seed: int = 0) -> None:
        self.device = resolve(device)
        self.seed = seed
        self.stream = random.Generator(seed)
        self.batches: Loaders | None = None

    @abstractmethod
    def data(self) -> Loaders:
        """The batches to train and validate with: `data.Batches` of splits, or `data.Loaders` of one's own."""

    @abstractmethod
    def configure(self) -> None:
        """Make model, optimizers, schedules and metrics, and keep them as attributes."""

    @abstractmethod
    def losses(self, batch: Any) -> Mapping[Optimizer, Tensor]:
        """For each optimizer the number that it is to make small, computed from a batch."""

    def setup(self) -> Loaders:
        """Read the data and make the model, once; `fit` calls it. Returns the batches."""
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
        """Let a metric take in a batch, without a place in the autograd graph."""
        metric.update(input.detach(), target)

    def to_device(self, batch: Any) -> Any:
        """A batch, whatever its structure, with its tensors on the task's device."""
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
        """Whether a schedule goes on after each step of the optimizers, not after each epoch."""
        return schedule in self.per_step or isinstance(self.schedulers[schedule], (OneCycleLR, CyclicLR))

    def _check(self) -> None:
        if self.accumulate < 1:
            raise ValueError(f"accumulate must be at least 1, not {self.accumulate}.")
        for name, bound in (("clip_norm", self.clip_norm), ("clip_value", self.clip_value)):
            if bound is not None and not bound > 0:
                raise ValueError(f"{name} must be above 0, not {bound}. Set it to None to leave gradients as they are.")
        if self.mixed_precision not in ("off", "bfloat16", "float16"):
            raise ValueError(f"mixed_precision must be 'off', 'bfloat16' or 'float16', not {self.mixed_precision!r}.")
        searching = [name for name, optimizer in self.optimizers.items() if optimizer.needs_closure]
        if searching and (self.accumulate > 1 or self.mixed_precision == "float16"):
            raise ValueError(
                f"{searching[0]} evaluates the loss of one batch several times, which does not go with accumulate or "
                "float16. Choose another optimizer, or leave these out."
            )

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], Collection[str]]]:
        """What a replayed step depends on: names, dicts, and keys whose values may change."""
        yield "", vars(self), REPLAY_IGNORED | self.schedulers.keys()

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        vars(self)["_found_attributes"] = {}

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        vars(self)["_found_attributes"] = {}

    def _attributes(self, kind: type[T]) -> dict[str, T]:
        """Looked for once, as each step asks several times, and anew when an attribute was set."""
        found: dict[type[Any], dict[str, Any]] = vars(self)["_found_attributes"]
        if kind not in found:
            # A copy: who watches the training asks in another thread, while attributes may be added.
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
