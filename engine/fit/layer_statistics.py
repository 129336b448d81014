"""Figures that an observation computes from the outputs, parameters and gradients of the layers of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine import functions as F
from engine.dtypes import float32
from engine.modes import no_grad
from engine.nn.layers.rectifiers import ReLU, ReLU6
from engine.nn.layers.smooth_activations import Sigmoid, Tanh
from engine.nn.module import Module
from engine.nn.module_hooks import Hook, ModuleHooks
from engine.tensors import Tensor

Figures: TypeAlias = Mapping[str, float]
"""Figures of a tensor by name."""

_MAX_ELEMENTS = 2**20
"""Larger parameters are measured by elements at a regular distance."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A figure of a tensor, such as its mean."""

    name: str
    compute: Callable[[Tensor], Tensor]
    """Returns a tensor with one element."""
    layers: tuple[type[Module], ...] = (Module,)
    """The layers whose outputs have this figure."""


@dataclass(frozen=True, slots=True)
class Reductions:
    """What an observation computes. More figures are added here, or passed to `fit`."""

    outputs: tuple[Reduction, ...]
    parameters: tuple[Reduction, ...]
    gradients: tuple[Reduction, ...]


def _std(values: Tensor) -> Tensor:
    return ((values - values.mean()) ** 2).mean().sqrt()


def norm(values: Tensor) -> Tensor:
    """Euclidean norm."""
    return (values * values).sum().sqrt()


def _share(condition: Tensor) -> Tensor:
    return condition.to(float32).mean()


LAYER_STATISTICS = Reductions(
    outputs=(
        Reduction("mean", lambda values: values.mean()),
        Reduction("std", _std),
        # Where the derivative is below a tenth of its maximum.
        Reduction("saturated", lambda values: _share(values.abs() > 0.949), (Tanh,)),
        Reduction("saturated", lambda values: _share((values - 0.5).abs() > 0.474), (Sigmoid,)),
    ),
    parameters=(Reduction("norm", norm),),
    gradients=(Reduction("gradient", norm), Reduction("gradient_zeros", lambda values: _share(values == 0))),
)
"""Outputs: `mean`, `std`; `saturated`, the share of values on the flat parts of a tanh or sigmoid. Parameters: `norm`;
`gradient`, the norm of the gradient before clipping; `gradient_zeros`, the share of its elements that are 0."""

RECTIFIERS = (ReLU, ReLU6)
CHANNEL_LAYERS = ("Conv", "BatchNorm", "InstanceNorm", "GroupNorm")
"""Beginnings of the names of layers whose units are along dimension 1."""


@dataclass(slots=True)
class PendingFigures:
    """Figures as tensors, which are read together: reading a value waits for a GPU."""

    values: dict[str, list[tuple[str, Tensor]]] = field(default_factory=dict)

    def add(self, path: str, tensor: Tensor, reductions: Sequence[Reduction]) -> None:
        values = tensor.detach().to(float32)
        self.values.setdefault(path, []).extend((each.name, each.compute(values)) for each in reductions)

    def read(self) -> dict[str, Figures]:
        """The figures by path. Those of a layer that ran several times are averaged."""
        tensors = [value.reshape(1) for found in self.values.values() for _, value in found]
        numbers = iter(F.cat(tensors).tolist() if tensors else ())
        return {path: _means((name, next(numbers)) for name, _ in found) for path, found in self.values.items()}


def _means(figures: Iterator[tuple[str, float]]) -> Figures:
    by_name: dict[str, list[float]] = {}
    for name, value in figures:
        by_name.setdefault(name, []).append(value)
    return {name: sum(values) / len(values) for name, values in by_name.items()}


class OutputFigures:
    """Figures of the outputs of modules while they run, and which units of rectifiers were 0 in all observations."""

    def __init__(self, reductions: Sequence[Reduction]) -> None:
        self.figures = PendingFigures()
        self._reductions = reductions
        self._dead: dict[str, Tensor] = {}
        """Units that were 0 for all samples of all observed batches."""
        self._has_channels = False
        """Whether the last layer with weights counts its units along dimension 1."""

    @contextmanager
    def observing(self, modules: Mapping[str, Module]) -> Iterator[None]:
        """Compute figures of the given modules by path, while they run in the block."""
        self.figures = PendingFigures()
        before = [(module, module._hooks) for module in modules.values()]  # pyright: ignore[reportPrivateUsage]
        try:
            for path, module in modules.items():
                # Compiled steps guard the hooks of modules, so the same objects come back afterwards.
                vars(module)["_hooks"] = _with_hook(module, self._hook(path))
            yield
        finally:
            for module, hooks in before:
                vars(module)["_hooks"] = hooks

    def read(self) -> dict[str, Figures]:
        found = self.figures.read()
        for path, dead in self._dead.items():
            if path in found:
                found[path] = {**found[path], "dead": float(_share(dead).item()), "units": float(dead.numel())}
        return found

    def _hook(self, path: str) -> Callable[[Module, Any, Any], None]:
        def hook(module: Module, _: Any, output: Any) -> None:
            tensor = _first_tensor(output)
            if tensor is None or not tensor.dtype.is_floating_point or not tensor.numel():
                return
            with no_grad():
                self._add(path, module, tensor.detach())

        return hook

    def _add(self, path: str, module: Module, output: Tensor) -> None:
        self.figures.add(path, output, [each for each in self._reductions if isinstance(module, each.layers)])
        if next(iter(module.parameters()), None) is not None:
            self._has_channels = type(module).__name__.startswith(CHANNEL_LAYERS)
        elif isinstance(module, RECTIFIERS) and output.ndim >= 2:
            dimension = 1 if self._has_channels else output.ndim - 1
            dead = (output == 0).movedim(dimension, 0).flatten(1).all(dim=1)
            before = self._dead.get(path)
            self._dead[path] = dead if before is None or before.shape != dead.shape else before & dead


def _with_hook(module: Module, function: Callable[..., Any]) -> ModuleHooks:
    hooks = module._hooks or ModuleHooks()  # pyright: ignore[reportPrivateUsage]
    forward = {**hooks.forward, max(hooks.forward, default=0) + 1: Hook(function)}
    return ModuleHooks(hooks.forward_pre, forward, hooks.backward_pre, hooks.backward)


def _first_tensor(output: Any) -> Tensor | None:
    while isinstance(output, (list, tuple)) and output:
        output = output[0]
    return output if isinstance(output, Tensor) else None


def sample_elements(tensor: Tensor) -> Tensor:
    """At most 2**20 elements of a tensor at a regular distance."""
    flat = tensor.detach().reshape(-1)
    return flat if flat.numel() <= _MAX_ELEMENTS else flat[:: -(-flat.numel() // _MAX_ELEMENTS)]


__all__ = [
    "CHANNEL_LAYERS",
    "LAYER_STATISTICS",
    "RECTIFIERS",
    "Figures",
    "OutputFigures",
    "PendingFigures",
    "Reduction",
    "Reductions",
    "norm",
    "sample_elements",
]
