"""Order the nodes of a document so that code is generated in a given order."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from studio.document.model import Document
from studio.lowering.analysis.node_graph import NodeGraph
from studio.nodes.catalogue import Catalogue


def ordered(document: Document, catalogue: Catalogue, wanted: Sequence[str]) -> Document:
    """The document with nodes moved so that `wanted` are computed in this order; itself if they are.

    Args:
        wanted: some nodes, none before one that it depends on
    """
    if _is_ordered(document, catalogue, wanted):
        return document
    chosen = set(wanted)
    following = iter(wanted)
    slots = [next(following) if name in chosen else name for name in document.nodes]
    permuted = replace(document, nodes={name: document.nodes[name] for name in slots})
    if _is_ordered(permuted, catalogue, wanted):
        return permuted
    graph = NodeGraph(document, catalogue)
    first: dict[str, None] = {}
    for name in wanted:
        before = {source for source in _before(document, name) if source not in chosen}
        first.update(dict.fromkeys(each for each in graph.order if each in before))
        first[name] = None
    names = [*first, *(name for name in document.nodes if name not in first)]
    return replace(document, nodes={name: document.nodes[name] for name in names})


def _is_ordered(document: Document, catalogue: Catalogue, wanted: Sequence[str]) -> bool:
    chosen = set(wanted)
    return [name for name in NodeGraph(document, catalogue).order if name in chosen] == list(wanted)


def _before(document: Document, name: str) -> set[str]:
    """The nodes that a node depends on, muted ones included."""
    sources: dict[str, list[str]] = {}
    for wire in document.wires:
        sources.setdefault(wire.target.node, []).append(wire.source.node)
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for source in sources.get(waiting.pop(), ()):
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found


__all__ = ["ordered"]
