"""All node types: lookup by key, by port type and by search text."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from engine import data, metrics, nn, optim
from engine.data import transforms
from engine.errors import RegistryError
from studio.nodes.derived_types import derived_types
from studio.nodes.loss_sum_node import loss_types
from studio.nodes.operation_nodes import OWNERS, operation_types
from studio.nodes.palette_search import rank_node_types
from studio.nodes.python_node import python_types
from studio.nodes.schedule_nodes import schedule_types
from studio.nodes.syntax_nodes import syntax_types
from studio.nodes.types import NodeType, Port, PortType

Direction = Literal["input", "output"]

NAMESPACES = {
    "data": data,
    "transforms": transforms,
    "nn": nn,
    "metrics": metrics,
    "optim": optim,
    "lr_scheduler": optim.lr_scheduler,
    **OWNERS,
}
"""Engine module by the first part of a key. Importing these modules fills the registries."""


class Catalogue:
    """Node types by key. Previous keys of a type are also found."""

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
        node_type = self.get(key)
        if node_type is None:
            raise KeyError(f"there is no node type {key!r}")
        return node_type

    def get(self, key: str) -> NodeType | None:
        node_type = self._types.get(key)
        return node_type if node_type is not None else self._types.get(self._old.get(key, ""))

    def __contains__(self, key: object) -> bool:
        return key in self._types or key in self._old

    def __iter__(self) -> Iterator[NodeType]:
        return iter(self._types.values())

    def __len__(self) -> int:
        return len(self._types)

    def fitting(
        self, port_type: PortType, direction: Direction, among: Iterable[NodeType] | None = None
    ) -> list[NodeType]:
        """The node types with an input or output of a port type."""
        types = self if among is None else among
        return [t for t in types if any(p.type is port_type for p in (t.inputs if direction == "input" else t.outputs))]

    def search(self, text: str, among: Iterable[NodeType] | None = None) -> list[NodeType]:
        """Node types that match a search text, best first."""
        return rank_node_types(self if among is None else among, text)


def placeholder(key: str, inputs: Mapping[str, PortType], outputs: Mapping[str, PortType]) -> NodeType:
    """A node type for an unknown key, with the ports that its wires use."""
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
    """All node types of this version, from the registries of the engine and from the studio."""
    return Catalogue(
        [*derived_types(), *schedule_types(), *loss_types(), *operation_types(), *syntax_types(), *python_types()]
    )
