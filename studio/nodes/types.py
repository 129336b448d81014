"""Declaration of node types, from which palette, forms, canvas, checks and code are derived."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from engine.registry import Learns, Parameter


class PortType(StrEnum):
    """The type of value that a wire carries. Only ports of equal types connect."""

    SAMPLES = "samples"
    """Training and validation samples before batching (`engine.data.Splits`)."""
    TENSOR = "tensor"
    """A batch of numbers."""
    LOSS = "loss"
    """The scalar that training minimizes."""
    OPTIMIZER = "optimizer"
    """The optimizer; the input of schedules."""


class Role(StrEnum):
    """The role of a node in a program, which determines where its code is generated."""

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
    BLOCK = "block"
    """An instance of a block."""
    PORT = "port"
    """A port inside the definition of a block."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Port:
    name: str
    type: PortType
    help: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class NodeType:
    """A type of node. `key` is its path in the namespace of the engine: "nn.Linear" is `engine.nn.Linear`."""

    key: str
    title: str
    category: str
    """One of `CATEGORIES`; determines the color and the section of the palette."""
    group: str
    """Subheading within the category, such as "Convolution"."""
    summary: str
    help: str
    """The docstring without its Args section."""
    icon: str
    """Name of an SVG in assets/icons, without suffix."""
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    params: tuple[Parameter, ...]
    tags: tuple[str, ...] = ()
    was: tuple[str, ...] = field(default=())
    """Previous keys, which are still read from files."""
    learns: Learns = ""
    """For a loss: the kind of targets it expects, if there is only one."""
    role: Role = Role.UNKNOWN
    structural: frozenset[str] = frozenset()
    """Parameters that determine the ports, or whether an input needs a wire."""
    adapt: Callable[[NodeType, Mapping[str, Any], Set[str]], NodeType] | None = field(
        default=None, compare=False, repr=False
    )
    """Gives the type for the parameters of a node and its inputs that have a wire, if its ports depend on them."""
    keeps_wired_ports: bool = False
    """Whether its parameters do not tell the ports, so that a node has those that wires use."""
    target: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """The class or function that the node calls; None for types without one in the engine."""

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
    "block": "Blocks",
    "loss": "Losses",
    "metric": "Metrics",
    "optimizer": "Optimizers",
    "unknown": "Other",
}
"""Heading of each category, in the palette and in the reference."""
CATEGORIES = tuple(TITLES)
