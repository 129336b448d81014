"""Node types of the blocks of libraries, which bring their definitions along."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from studio.document.blocks import block_nodes
from studio.document.blocks.block_library import LibraryBlock
from studio.document.blocks.library_copies import add_definition, existing_copy
from studio.document.model import Document, Node
from studio.lowering.analysis.block_types import BlockTypes
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType

GROUPS = {"user": "Your library", "shipped": "Shipped"}
"""Heading of each library in the palette."""


@dataclass(frozen=True, slots=True)
class LibraryType(NodeType):
    """The type of a block of a library. A node of it needs the definition: see `defined`."""

    entry: LibraryBlock | None = field(default=None, compare=False, repr=False)


def library_type(entry: LibraryBlock, catalogue: Catalogue) -> LibraryType | None:
    """The type of a library's block; None for one that cannot have instances."""
    found = BlockTypes(entry.definitions, catalogue).type_of(Node(block_nodes.type_of(entry.name)))
    if found is None:
        return None
    values = {each.name: getattr(found, each.name) for each in fields(found)}
    values |= {"key": f"library.{entry.library}.{entry.name}", "group": GROUPS[entry.library], "entry": entry}
    return LibraryType(**values)


def defined(document: Document, kind: NodeType) -> tuple[Document, str]:
    """The document with the definition that a node of a type needs, and the key of the type in it."""
    entry = kind.entry if isinstance(kind, LibraryType) else None
    if entry is None:
        return document, kind.key
    name = existing_copy(document, entry)
    if name is None:
        document, name = add_definition(document, entry)
    return document, block_nodes.type_of(name)
