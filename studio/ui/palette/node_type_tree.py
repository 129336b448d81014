"""Model of the node types in both palettes."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from PySide6.QtCore import QMimeData, QModelIndex, QObject, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel

from studio.nodes.palette_search import SearchMatch
from studio.nodes.types import NodeType, Port
from studio.ui import number_format
from studio.ui.palette.node_groups import NodeTypeGroup

MIME = "application/x-gradwire-node"
"""MIME type of a dragged node type; the data is its key in UTF-8."""

_CONTENT = Qt.ItemDataRole.UserRole
MATCH = Qt.ItemDataRole.UserRole + 1
"""Role of the `SearchMatch` of a row."""
_HEADING = Qt.ItemFlag.ItemIsEnabled
_TYPE = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled


class NodeTypeTree(QStandardItemModel):
    """Headings with node types below them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setColumnCount(1)

    def show(self, groups: Iterable[NodeTypeGroup], matches: Mapping[str, SearchMatch] = MappingProxyType({})) -> None:
        """Show groups of types, with the parameters that a search sets, by key."""
        self.clear()
        for group in groups:
            heading = _item(group.title, group, _HEADING)
            heading.setToolTip(f"{group.title}: {number_format.count(len(group.types), 'nodes')}")
            heading.appendRows([_type_item(kind, matches.get(kind.key, SearchMatch(kind))) for kind in group.types])
            self.appendRow(heading)

    def kind(self, index: QModelIndex) -> NodeType | None:
        """The node type of a row; None for a heading."""
        content = index.data(_CONTENT)
        return content if isinstance(content, NodeType) else None

    def search_match(self, index: QModelIndex) -> SearchMatch | None:
        """The node type of a row with its parameters; None for a heading."""
        match = index.data(MATCH)
        return match if isinstance(match, SearchMatch) else None

    def group(self, index: QModelIndex) -> NodeTypeGroup | None:
        """The group of a heading; None for a node type."""
        content = index.data(_CONTENT)
        return content if isinstance(content, NodeTypeGroup) else None

    def leaves(self) -> list[QModelIndex]:
        """Indexes of all node types, top to bottom."""
        headings = (self.index(row, 0) for row in range(self.rowCount()))
        return [self.index(row, 0, parent) for parent in headings for row in range(self.rowCount(parent))]

    def mimeTypes(self) -> list[str]:
        return [MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        for index in indexes:
            if (kind := self.kind(index)) is not None:
                data.setData(MIME, kind.key.encode())
        return data


def tooltip(kind: NodeType) -> str:
    """Tooltip of a node type as rich text: title, key, summary, ports."""
    return _tooltip(kind.title, kind.summary, kind.key, kind.inputs, kind.outputs)


@functools.lru_cache(maxsize=2048)  # rows are made at every key stroke
def _tooltip(title: str, summary: str, key: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> str:
    ports = ", ".join(f"{port.name} ({port.type})" for port in inputs) or "nothing"
    results = ", ".join(f"{port.name} ({port.type})" for port in outputs) or "nothing"
    escaped = [html.escape(text) for text in (title, summary, key, ports, results)]
    return (
        f"<b>{escaped[0]}</b> <span style='opacity:0.7'>{escaped[2]}</span><br>{escaped[1]}<br>Inputs: "
        f"{escaped[3]}<br>Outputs: {escaped[4]}"
    )


def parameters_text(match: SearchMatch, *, with_names: bool = True) -> str:
    """The parameters of a match: "out_channels 64 · kernel_size 3 × 5", or their values: "64 · 3 × 5"."""
    texts = {name: _value_text(value) for name, value in match.params.items()}
    return " · ".join(f"{name} {text}" if with_names else text for name, text in texts.items())


def not_understood_text(match: SearchMatch) -> str:
    return f"not understood: {' '.join(match.not_understood)}" if match.not_understood else ""


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return " × ".join(map(_value_text, cast("list[Any]", value)))
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _type_item(kind: NodeType, match: SearchMatch) -> QStandardItem:
    item = _item(kind.title, kind, _TYPE)
    item.setData(match, MATCH)
    item.setToolTip(tooltip(kind))
    found = ", ".join(filter(None, (parameters_text(match), not_understood_text(match)))) or kind.summary
    item.setData(f"{kind.title}: {found}", Qt.ItemDataRole.AccessibleTextRole)
    return item


def _item(title: str, content: object, flags: Qt.ItemFlag) -> QStandardItem:
    item = QStandardItem(title)
    item.setData(content, _CONTENT)
    item.setFlags(flags)
    return item
