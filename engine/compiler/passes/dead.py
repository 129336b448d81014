"""Drops what nobody uses."""

from __future__ import annotations

from engine.compiler.graph import Graph, Node, Value


def drop_dead(graph: Graph) -> None:
    """Leaves out nodes from which no way leads to an output or a write."""
    needed: set[Value] = set(graph.results())
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(value in needed for value in node.outputs):
            needed.update(node.values)
            kept.append(node)
    graph.nodes = kept[::-1]


__all__ = ["drop_dead"]
