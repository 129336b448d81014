"""What the source of a module class says: plain data, from which a graph is made or changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the constructor, used as a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Each:
    """One value per copy of a repeated instance."""

    values: tuple[object, ...] | Argument


Value: TypeAlias = object
"""A literal, an `Argument` or an `Each`."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in `forward`: an output of a node, or an argument if `node` is empty."""

    node: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class NodeSource:
    """One layer, operation or instance of a block, with the call that computes it."""

    name: str
    """Attribute of a layer. Of an operation the variable, or a text that is no identifier if it has none."""
    target: str
    """Key in the catalogue, or the name of a class in the same source."""
    inputs: Mapping[str, Tensor]
    """By name of the port; for an instance, of the argument of `forward`."""
    arguments: Mapping[str, Value]
    line: int
    """Line of the call."""
    made_line: int
    """Line of the constructor; for an operation, that of the call."""
    is_operation: bool = False
    is_instance: bool = False
    copies: Value = None
    """Number of copies; None if it is not repeated."""
    frozen: bool = False
    recomputed: bool = False
    shares: str = ""
    """The node whose weights it uses, and whose arguments if it has its type."""
    output_names: tuple[str, ...] = ()
    """For an instance of a block: names of its outputs, from variables such as `block_mask`."""


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """One module class."""

    name: str
    line: int
    arguments: Mapping[str, Value]
    """Arguments of the constructor with their defaults; `REQUIRED` if there is none."""
    inputs: tuple[str, ...]
    """Arguments of `forward`."""
    nodes: Mapping[str, NodeSource]
    """In the order of computation."""
    results: tuple[Tensor, ...]
    result_names: tuple[str, ...] = ()
    """Names of the returned variables; empty texts for expressions."""
    return_line: int = 1
    frozen_paths: Mapping[str, int] = field(default_factory=dict[str, int])
    """Lines of statements that freeze layers inside instances, by path: "encoder.3.query"."""
    description: str = ""
    initial_paths: Mapping[str, int] = field(default_factory=dict[str, int])
    """Lines of statements that set initial weights inside instances, by their text."""

    def unused(self) -> list[NodeSource]:
        """Nodes that no result depends on."""
        used: set[str] = set()
        waiting = [tensor.node for tensor in self.results]
        while waiting:
            name = waiting.pop()
            if name and name not in used:
                used.add(name)
                waiting += [tensor.node for tensor in self.nodes[name].inputs.values()]
        return [node for node in self.nodes.values() if node.name not in used]


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Value = _Required()


def same(first: Value, second: Value) -> bool:
    """Whether two values are written alike: 1, 1.0 and True differ."""
    return repr(first) == repr(second)


__all__ = ["REQUIRED", "Argument", "Each", "ModuleSource", "NodeSource", "Tensor", "Value", "same"]
