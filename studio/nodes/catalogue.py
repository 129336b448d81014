"""All node types by key, and the ways to find one."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import engine
from engine import data, metrics, nn, optim
from engine.data import transforms
from engine.errors import RegistryError
from studio.nodes.derived_types import derived_types
from studio.nodes.loss_sum_node import loss_types
from studio.nodes.operation_nodes import operation_types
from studio.nodes.palette_search import rank_node_types
from studio.nodes.schedule_nodes import schedule_types
from studio.nodes.types import NodeType, Port, PortType

Direction = Literal["input", "output"]

NAMESPACES = {
    "data": data,
    "transforms": transforms,
    "nn": nn,
    "metrics": metrics,
    "optim": optim,
    "lr_scheduler": optim.lr_scheduler,
    "ops": engine,
}
"""The module that the first part of a key stands for. Importing them is also what fills the registries."""


class Catalogue:
    """Node types by key. Old keys still find their type."""

    def __init__(self, types: Iterable[NodeType]) -> None:
        self._types: dict[str, NodeType] = {}
        self._old: dict[str, str] = {}
        for node_type in types:
            for key in (node_type.key, *node_type.was):
                if key in self._types or key in self._old:
                    raise RegistryError(f"node type {key} is declared twice. Rename one of the two.")
            self._types[node_type.key] = node_type
            self._old.update(dict.fromkeys(node_type.was, node_type.key))

    def __getitem__(self, key: str) -> NodeType:
        found = self.get(key)
        if found is None:
            raise KeyError(f"there is no node type {key!r}")
        return found

    def get(self, key: str) -> NodeType | None:
        found = self._types.get(key)
        return found if found is not None else self._types.get(self._old.get(key, ""))

    def __contains__(self, key: object) -> bool:
        return key in self._types or key in self._old

    def __iter__(self) -> Iterator[NodeType]:
        return iter(self._types.values())

    def __len__(self) -> int:
        return len(self._types)

    def fitting(self, port_type: PortType, direction: Direction) -> list[NodeType]:
        """The types with a free port of this type: `direction` says on which side they have it."""
        return [t for t in self if any(p.type is port_type for p in (t.inputs if direction == "input" else t.outputs))]

    def search(self, text: str, among: Iterable[NodeType] | None = None) -> list[NodeType]:
        """What the typed text may mean, best first."""
        return rank_node_types(self if among is None else among, text)


def placeholder(key: str, inputs: Mapping[str, PortType], outputs: Mapping[str, PortType]) -> NodeType:
    """Stands for a type that this version does not know, with the ports that its wires mention."""
    return NodeType(
        key=key,
        title=key.rpartition(".")[2] or key,
        category="unknown",
        group="Unknown",
        summary="This version of Gradwire does not support this node type.",
        help="",
        icon="unknown",
        inputs=tuple(Port(name, kind) for name, kind in inputs.items()),
        outputs=tuple(Port(name, kind) for name, kind in outputs.items()),
        params=(),
    )


@functools.cache
def catalogue() -> Catalogue:
    """Every node type of this version: what the engine declares, and what the studio adds."""
    return Catalogue([*derived_types(), *schedule_types(), *loss_types(), *operation_types()])
