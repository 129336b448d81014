"""Removes ops without effect."""

from __future__ import annotations

import math

from engine.compiler.ir import IRGraph, IRNode, IROperand, IRValue
from engine.compiler.passes.fold_constants import number_of
from engine.ops.elementwise.arithmetic import div, mul, sub
from engine.ops.elementwise.update import clone
from engine.ops.movement.primitives import cast, expand, permute, reshape


def simplify_graph(graph: IRGraph) -> None:
    """Removes copies, casts and reshapes without effect, and merges two in a row."""
    replaced: dict[IRValue, IRValue] = {}
    kept: list[IRNode] = []
    for node in graph.nodes:
        node.inputs = [replaced.get(one, one) if isinstance(one, IRValue) else one for one in node.inputs]
        _merge_with_producer(node)
        same = _equal_input(node)
        if same is None:
            kept.append(node)
        else:
            replaced[node.out] = same
    graph.nodes = kept
    graph.substitute(replaced)


def _equal_input(node: IRNode) -> IRValue | None:
    """The input that equals the node's only result in shape, dtype and every bit."""
    first = node.inputs[0] if node.inputs else None
    if not isinstance(first, IRValue) or len(node.outputs) != 1:
        return None
    out = node.out
    if (first.shape, first.dtype, first.device) != (out.shape, out.dtype, out.device):
        return None
    if node.op in (clone, cast, reshape, expand):
        return first
    if node.op is permute and tuple(d % len(out.shape) for d in node.statics["dims"]) == tuple(range(len(out.shape))):
        return first
    return first if len(node.inputs) > 1 and _is_neutral(node, node.inputs[1]) else None


def _is_neutral(node: IRNode, second: IROperand) -> bool:
    """Whether the second operand of an op has no effect. For add there is none, because -0.0 + 0 is 0.0."""
    number = number_of(second)
    if type(number) not in (int, float) or (node.statics or {}).get("alpha", 1) != 1:
        return False
    if node.op in (mul, div):
        return number == 1 and not (node.op is div and node.statics.get("rounding_mode"))
    return node.op is sub and number == 0 and math.copysign(1, number) > 0


def _merge_with_producer(node: IRNode) -> None:
    """Merges a reshape or permutation of another one."""
    first = node.inputs[0] if node.inputs else None
    if (
        node.op is permute
        and isinstance(first, IRValue)
        and first.producer is not None
        and first.producer.op is permute
    ):
        inside = first.producer
        dims = [inside.statics["dims"][dim] % len(first.shape) for dim in node.statics["dims"]]
        node.inputs[0], node.statics = inside.inputs[0], {"dims": tuple(dims)}
    if node.op is not reshape or not isinstance(first, IRValue):
        return
    while isinstance(first, IRValue) and first.producer is not None and first.producer.op is reshape:
        first = first.producer.inputs[0]
    node.inputs[0] = first
    node.statics = {"shape": node.out.shape}


__all__ = ["simplify_graph"]
