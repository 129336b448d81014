"""Nodes that an edit must not change, such as those that a lesson gives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from studio.document.blocks import block_nodes
from studio.document.document_errors import EditError
from studio.document.model import Block, Document, Node, Wire


def check_locked(old: Document, new: Document, locked: Collection[str]) -> None:
    """Raise EditError if `new` changes, renames or removes a locked node of `old`, or a wire between two of them.

    Position, note and collapsed state of a locked node can change. A locked instance locks its definition.

    Args:
        locked: paths of nodes, "scale" or "encoder.fc"
    """
    for path in locked:
        graph, name = _graph_of(old, path)
        before = graph.nodes.get(name) if graph is not None else None
        if graph is None or before is None:
            continue
        inside, _ = _graph_of(new, path)
        after = inside.nodes.get(name) if inside is not None else None
        if inside is None or after is None:
            raise EditError(f"{path} is locked in this lesson and cannot be removed or renamed. Change other nodes.")
        if before is not after and _meaning(before) != _meaning(after):
            raise EditError(f"{path} is locked in this lesson and cannot be changed. Change other nodes.")
        block = block_nodes.name_of(before)
        if block is not None and _content(old.blocks.get(block)) != _content(new.blocks.get(block)):
            raise EditError(f"{path} is locked in this lesson, and so is the block {block}. Change other nodes.")
    if old.wires is not new.wires:
        kept = set(new.wires)
        for wire in _locked_wires(old.wires, locked):
            if wire not in kept:
                raise EditError(f"The wire {wire} is locked in this lesson. Change wires of other nodes.")


def _locked_wires(wires: tuple[Wire, ...], locked: Collection[str]) -> Iterator[Wire]:
    return (wire for wire in wires if wire.source.node in locked and wire.target.node in locked)


def _graph_of(document: Document, path: str) -> tuple[Document | Block | None, str]:
    """The graph that contains a node, and the name of the node there. None if an instance on the way is missing."""
    graph: Document | Block = document
    *instances, name = (part for part in path.split(".") if not part.isdecimal())
    for instance in instances:
        node = graph.nodes.get(instance)
        block = None if node is None else document.blocks.get(block_nodes.name_of(node) or "")
        if block is None:
            return None, name
        graph = block
    return graph, name


def _meaning(node: Node) -> Node:
    """The node without what only its drawing depends on."""
    return replace(node, at=(0.0, 0.0), note="", collapsed=False)


def _content(block: Block | None) -> tuple[Mapping[str, Node], tuple[Wire, ...]] | None:
    return None if block is None else ({name: _meaning(node) for name, node in block.nodes.items()}, block.wires)


__all__ = ["check_locked"]
