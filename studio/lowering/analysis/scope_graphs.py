"""The graphs of a document with blocks: that of the canvas, and that of each definition in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.document.blocks.block_edits import view
from studio.document.blocks.block_expansion import Expansion, Scope
from studio.document.model import Document
from studio.lowering.analysis.node_graph import NodeGraph
from studio.nodes.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class ScopeGraph:
    """A graph as it is drawn, in which instances are nodes, with the scopes that have it."""

    graph: NodeGraph
    scopes: tuple[Scope, ...]
    """The canvas alone, or all copies of all instances of a block."""

    @property
    def block(self) -> str:
        """Name of the definition; empty for the canvas."""
        return self.scopes[0].block


def scope_graphs(
    expansion: Expansion, flat: NodeGraph, catalogue: Catalogue, previous: Sequence[ScopeGraph] = ()
) -> tuple[ScopeGraph, ...]:
    """The canvas first, then the definitions in use, outer ones before those inside them.

    Args:
        flat: the graph of `expansion.flat`, which is that of the canvas if nothing is expanded
        previous: those of an earlier version; unchanged graphs are reused
    """
    document = expansion.document
    if expansion.is_flat:
        return (ScopeGraph(flat, (expansion.root,)),)
    by_block: dict[str, list[Scope]] = {}
    for scope in expansion.root.with_inner():
        by_block.setdefault(scope.block, []).append(scope)
    earlier = {each.block: each.graph for each in previous}
    return tuple(
        ScopeGraph(_graph(document if not name else view(document, name), catalogue, earlier.get(name)), tuple(scopes))
        for name, scopes in by_block.items()
    )


def _graph(document: Document, catalogue: Catalogue, earlier: NodeGraph | None) -> NodeGraph:
    return earlier if earlier is not None and earlier.fits(document, catalogue) else NodeGraph(document, catalogue)
