"""Positions of the nodes of a graph without positions: a column per step from the sources, in the order of creation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from studio.document.model import Document

_COLUMN, _ROW = 200.0, 96.0


def in_columns(document: Document) -> Document:
    """The document with its nodes in columns, if all of them are at the same position."""
    if len({node.at for node in document.nodes.values()}) > 1:
        return document
    columns, rows = _Columns(document), Counter[int]()
    nodes = dict(document.nodes)
    for name, node in document.nodes.items():
        column = columns.of(name)
        nodes[name] = msgspec.structs.replace(node, at=(column * _COLUMN, rows[column] * _ROW))
        rows[column] += 1
    return msgspec.structs.replace(document, nodes=nodes)


@dataclass
class _Columns:
    """The longest path to each node."""

    document: Document
    found: dict[str, int] = field(default_factory=dict[str, int])

    def of(self, name: str, visited: frozenset[str] = frozenset()) -> int:
        if name not in self.found:
            below = visited | {name}
            sources = {wire.source.node for wire in self.document.wires if wire.target.node == name} - below
            self.found[name] = max((self.of(each, below) + 1 for each in sources), default=0)
        return self.found[name]


__all__ = ["in_columns"]
