"""What is trained on what."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from engine import random
from engine.backend import Device, resolve
from engine.compiler import Compiled
from engine.data.batches import Batches
from engine.metrics import Metric
from engine.nn.module import Module
from engine.optim.optimizer import Optimizer
from engine.tensor import Tensor

T = TypeVar("T")


class Task(ABC):
    """What is trained on what: data, model, optimizers and metrics. The last three are found among the attributes.

    Args:
        device: where the model lives and batches are brought to
        seed: initial weights, order of samples and every random number of the training follow from it
    """

    model: Module
    replays: bool = False
    """`losses` does nothing but call modules, functions and metrics of the engine, so that steps that are compiled may
    run without its Python."""
    step: Compiled | None = None
    """What trains with a batch, once `fit` has compiled it; it knows what became of it."""
    validation_step: Compiled | None = None

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


def _moved(batch: Any, device: Device) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {key: _moved(value, device) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_moved(value, device) for value in batch]
    return batch


__all__ = ["Task"]
