"""Node types grouped under headings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from studio.nodes.types import CATEGORIES, TITLES, NodeType

_GROUPS = (
    "Images",
    "Tables",
    "Text",
    "Arrays",
    "Loader",
    "Splits",
    "Synthetic",
    "Scaling",
    "Linear",
    "Convolution",
    "Pooling",
    "Normalization",
    "Dropout",
    "Embedding",
    "Recurrent",
    "Attention",
    "Shape",
    "Classification",
    "Binary classification",
    "Regression",
    "This project",
    "Your library",
    "Shipped",
)
"""Order of the groups in a category, most used first. Undeclared groups come last."""

_MOST_USED = (
    "data.Digits",
    "data.Penguins",
    "data.Shakespeare",
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
"""Most used types, listed first under their heading."""

_MAX_UNGROUPED = 16
"""A category with more types than this is split into its groups."""


@dataclass(frozen=True, slots=True)
class NodeTypeGroup:
    """Node types under one heading: a category, or a group of a large category."""

    category: str
    types: tuple[NodeType, ...]
    name: str = ""
    is_open: bool = True
    """Whether the heading is expanded by default."""
    heading: str = ""
    """The title, instead of category and name."""

    @property
    def title(self) -> str:
        return self.heading or (f"{TITLES[self.category]} · {self.name}" if self.name else TITLES[self.category])


def in_order(types: Iterable[NodeType]) -> tuple[NodeTypeGroup, ...]:
    """Headings in the order of the data flow."""
    by_category: dict[str, dict[str, list[NodeType]]] = {category: {} for category in CATEGORIES}
    for kind in sorted(types, key=lambda kind: _rank(_MOST_USED, kind.key)):
        by_category[kind.category].setdefault(kind.group, []).append(kind)
    return tuple(group for category, groups in by_category.items() for group in _headings(category, groups))


def _headings(category: str, groups: Mapping[str, Sequence[NodeType]]) -> Iterator[NodeTypeGroup]:
    names = sorted(groups, key=lambda name: _rank(_GROUPS, name))
    all_types = tuple(kind for name in names for kind in groups[name])
    if category == "block" or (len(all_types) > _MAX_UNGROUPED and len(groups) > 1):
        for number, name in enumerate(names):
            yield NodeTypeGroup(category, tuple(groups[name]), name, is_open=number == 0 or category == "block")
    elif all_types:
        yield NodeTypeGroup(category, all_types)


def _rank(order: Sequence[str], item: str) -> int:
    """Index of an item in `order`; items that are not listed come last."""
    return order.index(item) if item in order else len(order)


def suggested(types: Sequence[NodeType]) -> tuple[NodeTypeGroup, ...]:
    """A heading above all others; none without types."""
    return (NodeTypeGroup(types[0].category, tuple(types), heading="Suggested"),) if types else ()


def by_rank(types: Iterable[NodeType]) -> tuple[NodeTypeGroup, ...]:
    """Headings ordered by their best match; `types` are sorted best first.

    Blocks are under the headings of their libraries, since they can have equal names.
    """
    groups: dict[tuple[str, str], list[NodeType]] = {}
    for kind in types:
        groups.setdefault((kind.category, kind.group if kind.category == "block" else ""), []).append(kind)
    return tuple(NodeTypeGroup(category, tuple(kinds), name) for (category, name), kinds in groups.items())
