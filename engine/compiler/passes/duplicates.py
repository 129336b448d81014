"""Computes once what is computed twice."""

from __future__ import annotations

from typing import Any

from engine.compiler.graph import Graph, Node, Value
from engine.compiler.instruction import Unhashable, exact_key


def share_duplicates(graph: Graph) -> None:
    """Puts the first of equal nodes in the place of the others. Random ops are equal only from one state."""
    seen: dict[Any, Node] = {}
    kept: list[Node] = []
    replaced: dict[Value, Value] = {}
    for node in graph.nodes:
        node.inputs = [replaced.get(one, one) if isinstance(one, Value) else one for one in node.inputs]
        try:
            key = (
                node.op,
                node.out.device,
                node.again,
                node.mixed,
                exact_key(node.statics),
                *[_part(one) for one in node.inputs],
            )
        except Unhashable:
            kept.append(node)
            continue
        first = seen.setdefault(key, node)
        if first is node:
            kept.append(node)
            continue
        first.where = (*first.where, *[one for one in node.where if one not in first.where])
        replaced.update(zip(node.outputs, first.outputs, strict=True))
    graph.nodes = kept
    graph.substitute(replaced)


def _part(one: Any) -> Any:
    return id(one) if isinstance(one, Value) else (type(one), exact_key(one[0]))


__all__ = ["share_duplicates"]
