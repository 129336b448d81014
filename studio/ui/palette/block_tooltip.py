"""Tooltips of library blocks with a picture of their graph."""

from __future__ import annotations

import functools

from PySide6.QtCore import QBuffer, QIODevice

from studio.document.blocks.block_library import LibraryBlock
from studio.document.model import Document
from studio.lowering.analysis.library_types import LibraryType
from studio.nodes.catalogue import catalogue
from studio.nodes.types import NodeType
from studio.ui.palette.node_type_tree import tooltip
from studio.ui.theme import theme
from studio.ui.widgets.graph_thumbnail import GraphThumbnail

_WIDTH, _HEIGHT = 300, 96
_KEPT = 64
"""Number of pictures that are kept."""


def block_tooltip(kind: NodeType | None) -> str:
    """The tooltip of a library block as rich text; empty for other types."""
    if not isinstance(kind, LibraryType) or kind.entry is None:
        return ""
    picture = _picture(_Graph(kind.entry), theme.current().name)
    return f'<img src="data:image/png;base64,{picture}" width="{_WIDTH}" height="{_HEIGHT}"><br>{tooltip(kind)}'


class _Graph:
    """A library block, equal to others with the same digest."""

    def __init__(self, entry: LibraryBlock) -> None:
        self.entry = entry

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Graph) and other.entry.digest == self.entry.digest

    def __hash__(self) -> int:
        return hash(self.entry.digest)


@functools.lru_cache(maxsize=_KEPT)
def _picture(graph: _Graph, theme_name: str) -> str:
    """A PNG of the graph in Base64."""
    block = graph.entry.block
    thumbnail = GraphThumbnail(Document(block.nodes, block.wires, blocks=dict(graph.entry.definitions)), catalogue())
    thumbnail.resize(_WIDTH, _HEIGHT)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    thumbnail.grab().save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    return bytes(buffer.data().toBase64().data()).decode("ascii")


__all__ = ["block_tooltip"]
