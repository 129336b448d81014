"""Common subexpression elimination."""

from __future__ import annotations

from typing import Any

from engine.compiler.instruction import UnhashableArgument, exact_key
from engine.compiler.ir import IRGraph, IRNode, IRValue


def eliminate_common_subexpressions(graph: IRGraph) -> None:
    """Replaces equal nodes by the first of them. Random ops are equal only if their states are."""
    first_nodes: dict[Any, IRNode] = {}
    kept: list[IRNode] = []
    replaced: dict[IRValue, IRValue] = {}
    for node in graph.nodes:
        node.inputs = [replaced.get(one, one) if isinstance(one, IRValue) else one for one in node.inputs]
        try:
            key = (
                node.op,
                node.out.device,
                node.recomputation,
                node.mixed,
                exact_key(node.statics),
                *[_part(one) for one in node.inputs],
            )
        except UnhashableArgument:
            kept.append(node)
            continue
        first = first_nodes.setdefault(key, node)
        if first is node:
            kept.append(node)
            continue
        first.where = (*first.where, *[one for one in node.where if one not in first.where])
        replaced.update(zip(node.outputs, first.outputs, strict=True))
    graph.nodes = kept
    graph.substitute(replaced)


def _part(one: Any) -> Any:
    return id(one) if isinstance(one, IRValue) else (type(one), exact_key(one[0]))


__all__ = ["eliminate_common_subexpressions"]
