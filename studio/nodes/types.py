"""What a node type is: the declaration that palette, form, canvas, checks and code are derived from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from engine.registry import Learns, Parameter


class PortType(StrEnum):
    """What flows through a wire. Only equal types connect."""

    SAMPLES = "samples"
    """Training and validation samples before batching (`engine.data.Splits`)."""
    TENSOR = "tensor"
    """A batch of numbers."""
    LOSS = "loss"
    """The scalar that training makes small."""
    OPTIMIZER = "optimizer"
    """What changes the parameters; feeds schedulers."""


class Role(StrEnum):
    """What a node does in a program, and so where its code goes."""

    SOURCE = "source"
    TRANSFORM = "transform"
    DIVISION = "division"
    LOADER = "loader"
    LAYER = "layer"
    OPERATION = "operation"
    LOSS = "loss"
    LOSS_SUM = "loss sum"
    METRIC = "metric"
    OPTIMIZER = "optimizer"
    SCHEDULER = "scheduler"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Port:
    name: str
    type: PortType
    help: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class NodeType:
    """One kind of node. `key` is also the path in the engine's namespace: "nn.Linear" is `engine.nn.Linear`."""

    key: str
    title: str
    category: str
    """One of `CATEGORIES`; picks the colour and the palette's section."""
    group: str
    """Finer heading inside the category, for instance "Convolution"."""
    summary: str
    help: str
    """The whole docstring, without its Args section."""
    icon: str
    """Name of an SVG in assets/icons, without suffix."""
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    params: tuple[Parameter, ...]
    tags: tuple[str, ...] = ()
    was: tuple[str, ...] = field(default=())
    """Keys it had in the past; still read from files."""
    learns: Learns = ""
    """Of a loss: what its targets are, if only one thing makes sense."""
    role: Role = Role.UNKNOWN
    target: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """The class or function that the node calls; None for what only the studio knows."""

    def input(self, name: str) -> Port | None:
        return next((port for port in self.inputs if port.name == name), None)

    def output(self, name: str) -> Port | None:
        return next((port for port in self.outputs if port.name == name), None)

    def param(self, name: str) -> Parameter | None:
        return next((param for param in self.params if param.name == name), None)


TITLES = {
    "data": "Data",
    "transform": "Transforms",
    "layer": "Layers",
    "activation": "Activations",
    "operation": "Operations",
    "loss": "Losses",
    "metric": "Metrics",
    "optimizer": "Optimizers",
    "unknown": "Other",
}
"""Heading of each category, in the palette and in the reference."""
CATEGORIES = tuple(TITLES)
