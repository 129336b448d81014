"""Dead code elimination."""

from __future__ import annotations

from engine.compiler.ir import IRGraph, IRNode, IRValue


def eliminate_dead_code(graph: IRGraph) -> None:
    """Removes nodes that no output or write depends on."""
    needed: set[IRValue] = set(graph.results())
    kept: list[IRNode] = []
    for node in reversed(graph.nodes):
        if any(value in needed for value in node.outputs):
            needed.update(node.values)
            kept.append(node)
    graph.nodes = kept[::-1]


__all__ = ["eliminate_dead_code"]
