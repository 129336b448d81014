"""Node types under headings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from studio.nodes.types import CATEGORIES, TITLES, NodeType

_GROUPS = (
    "Linear",
    "Convolution",
    "Pooling",
    "Normalisation",
    "Dropout",
    "Embedding",
    "Recurrent",
    "Attention",
    "Shape",
    "Classification",
    "Binary classification",
    "Regression",
)
"""The order of groups in a category, from what everybody needs; others follow as they are declared."""

_FIRST = (
    "nn.Linear",
    "nn.MaxPool2d",
    "nn.LSTM",
    "nn.ReLU",
    "nn.GELU",
    "nn.SiLU",
    "nn.Sigmoid",
    "nn.Tanh",
    "nn.Softmax",
    "optim.Adam",
    "optim.AdamW",
    "optim.SGD",
)
"""What is looked for most stands first under its heading."""

_LARGE = 16
"""A category of more types than this gets a heading for each of its groups."""


@dataclass(frozen=True, slots=True)
class Group:
    """Node types under one heading: a category, or one of the groups of a large category."""

    category: str
    types: tuple[NodeType, ...]
    name: str = ""
    is_open: bool = True
    """Whether its types are shown before anybody has opened or closed it."""

    @property
    def title(self) -> str:
        return f"{TITLES[self.category]} · {self.name}" if self.name else TITLES[self.category]


def in_order(types: Iterable[NodeType]) -> tuple[Group, ...]:
    """Categories in the order in which data flows; within one, what belongs together stands together."""
    by_category: dict[str, dict[str, list[NodeType]]] = {category: {} for category in CATEGORIES}
    for kind in sorted(types, key=lambda kind: _place(_FIRST, kind.key)):
        by_category[kind.category].setdefault(kind.group, []).append(kind)
    return tuple(group for category, groups in by_category.items() for group in _headings(category, groups))


def _headings(category: str, groups: Mapping[str, Sequence[NodeType]]) -> Iterator[Group]:
    names = sorted(groups, key=lambda name: _place(_GROUPS, name))
    every = tuple(kind for name in names for kind in groups[name])
    if len(every) > _LARGE and len(groups) > 1:
        for number, name in enumerate(names):
            yield Group(category, tuple(groups[name]), name, is_open=number == 0)
    elif every:
        yield Group(category, every)


def _place(order: Sequence[str], item: str) -> int:
    return order.index(item) if item in order else len(order)


def by_rank(types: Iterable[NodeType]) -> tuple[Group, ...]:
    """Categories in the order of their best type; `types` come best first."""
    groups: dict[str, list[NodeType]] = {}
    for kind in types:
        groups.setdefault(kind.category, []).append(kind)
    return tuple(Group(category, tuple(kinds)) for category, kinds in groups.items())
