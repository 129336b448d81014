"""Node types under headings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studio.nodes.types import CATEGORIES, NodeType

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


@dataclass(frozen=True, slots=True)
class Group:
    category: str
    types: tuple[NodeType, ...]

    @property
    def title(self) -> str:
        return TITLES[self.category]


def in_order(types: Iterable[NodeType]) -> tuple[Group, ...]:
    """Categories in the order in which data flows; within one, what belongs together stands together."""
    by_category: dict[str, dict[str, list[NodeType]]] = {category: {} for category in CATEGORIES}
    for kind in types:
        by_category[kind.category].setdefault(kind.group, []).append(kind)
    return tuple(
        Group(category, tuple(kind for kinds in groups.values() for kind in kinds))
        for category, groups in by_category.items()
        if groups
    )


def by_rank(types: Iterable[NodeType]) -> tuple[Group, ...]:
    """Categories in the order of their best type; `types` come best first."""
    groups: dict[str, list[NodeType]] = {}
    for kind in types:
        groups.setdefault(kind.category, []).append(kind)
    return tuple(Group(category, tuple(kinds)) for category, kinds in groups.items())
