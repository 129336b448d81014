"""The node types that can be added to a graph: of the catalogue, of the project's blocks, and ports in a block."""

from __future__ import annotations

from studio.document.blocks import block_nodes
from studio.document.model import Document, Node
from studio.lowering.analysis.block_types import INSIDE, PORT_TYPES, BlockTypes
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType


def addable_types(document: Document, catalogue: Catalogue, inside: str = "") -> list[NodeType]:
    """All of them.

    Args:
        inside: the definition to add to, which cannot contain data, losses or itself; empty for the canvas
    """
    own = block_node_types(document, catalogue, inside)
    if not inside:
        return [*catalogue, *own]
    return [*(kind for kind in catalogue if kind.role in INSIDE), *PORT_TYPES.values(), *own]


def block_node_types(document: Document, catalogue: Catalogue, inside: str = "") -> list[NodeType]:
    """The types of the definitions of a document, without those that contain the block `inside`."""
    types = BlockTypes(document.blocks, catalogue)
    names = (
        name
        for name, block in document.blocks.items()
        if name != inside and inside not in block_nodes.reachable_blocks(document.blocks, block.nodes)
    )
    found = (types.type_of(Node(block_nodes.type_of(name))) for name in names)
    return [kind for kind in found if kind is not None]


__all__ = ["addable_types", "block_node_types"]
