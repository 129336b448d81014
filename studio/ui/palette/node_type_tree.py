"""Model of the node types in both palettes."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QMimeData, QModelIndex, QObject, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel

from studio.nodes.types import NodeType
from studio.ui import number_format
from studio.ui.palette.node_groups import NodeTypeGroup

MIME = "application/x-gradwire-node"
"""MIME type of a dragged node type; the data is its key in UTF-8."""

_CONTENT = Qt.ItemDataRole.UserRole
_HEADING = Qt.ItemFlag.ItemIsEnabled
_TYPE = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled


class NodeTypeTree(QStandardItemModel):
    """Headings with node types below them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setColumnCount(1)

    def show(self, groups: Iterable[NodeTypeGroup]) -> None:
        self.clear()
        for group in groups:
            heading = _item(group.title, group, _HEADING)
            heading.setToolTip(f"{group.title}: {number_format.count(len(group.types), 'nodes')}")
            heading.appendRows([_type_item(kind) for kind in group.types])
            self.appendRow(heading)

    def kind(self, index: QModelIndex) -> NodeType | None:
        """The node type of a row; None for a heading."""
        content = index.data(_CONTENT)
        return content if isinstance(content, NodeType) else None

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
    ports = ", ".join(f"{port.name} ({port.type})" for port in kind.inputs) or "nothing"
    results = ", ".join(f"{port.name} ({port.type})" for port in kind.outputs) or "nothing"
    escaped = [html.escape(text) for text in (kind.title, kind.summary, kind.key, ports, results)]
    return (
        f"<b>{escaped[0]}</b> <span style='opacity:0.7'>{escaped[2]}</span><br>{escaped[1]}<br>Inputs: "
        f"{escaped[3]}<br>Outputs: {escaped[4]}"
    )


def _type_item(kind: NodeType) -> QStandardItem:
    item = _item(kind.title, kind, _TYPE)
    item.setToolTip(tooltip(kind))
    item.setData(f"{kind.title}: {kind.summary}", Qt.ItemDataRole.AccessibleTextRole)
    return item


def _item(title: str, content: object, flags: Qt.ItemFlag) -> QStandardItem:
    item = QStandardItem(title)
    item.setData(content, _CONTENT)
    item.setFlags(flags)
    return item
