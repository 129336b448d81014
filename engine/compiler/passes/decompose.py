"""Decomposes ops that eager mode implements as one for speed, so that their parts can be fused with other ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.compiler.ir import IRGraph, IRNode, IROperand, IRValue
from engine.ops.elementwise.arithmetic import add
from engine.ops.linalg.matmul import linear, matmul
from engine.ops.movement.primitives import permute, reshape
from engine.ops.record import Op


class Decomposition:
    """Creates the nodes that replace a node."""

    def __init__(self, node: IRNode) -> None:
        self.original = node
        self.nodes: list[IRNode] = []

    def call(
        self,
        op: Op,
        inputs: Sequence[IROperand],
        shape: Sequence[int],
        statics: dict[str, Any] | None = None,
        dtype: Any = None,
    ) -> IRValue:
        """Adds a node of `op` with one result, by default in the dtype of the replaced node's first result."""
        dtype = self.original.out.dtype if dtype is None else dtype
        return self.call_with_outputs(op, inputs, [(tuple(shape), dtype)], statics)[0]

    def call_with_outputs(
        self,
        op: Op,
        inputs: Sequence[IROperand],
        forms: Sequence[tuple[tuple[int, ...], Any]],
        statics: dict[str, Any] | None = None,
    ) -> list[IRValue]:
        """Adds a node of `op` with results of these shapes and dtypes."""
        arguments = {**op.defaults, **statics} if statics else op.defaults
        original = self.original
        node = IRNode(op, list(inputs), arguments, False, original.where, original.recomputation, original.backward)
        device = self.original.out.device
        node.outputs = [IRValue(shape, dtype, device, node, index) for index, (shape, dtype) in enumerate(forms)]
        self.nodes.append(node)
        return node.outputs


DecompositionRule = Callable[[Decomposition, IRNode], "IRValue | Sequence[IRValue] | None"]
"""Builds the replacement of a node and returns its results, or None to keep the node."""

DECOMPOSITIONS: dict[Op, DecompositionRule] = {}
MIXED: set[Op] = set()
"""Ops whose inputs have several dtypes."""


def decomposes(op: Op, *, mixed: bool = False) -> Callable[[DecompositionRule], DecompositionRule]:
    """Registers the decomposition of `op`; with `mixed`, also for inputs of several dtypes."""

    def declare(function: DecompositionRule) -> DecompositionRule:
        DECOMPOSITIONS[op] = function
        if mixed:
            MIXED.add(op)
        return function

    return declare


def decompose_compound(graph: IRGraph) -> None:
    """Replaces all nodes that have a decomposition."""
    kept: list[IRNode] = []
    replaced: dict[IRValue, IRValue] = {}
    for node in graph.nodes:
        node.inputs = [replaced.get(one, one) if isinstance(one, IRValue) else one for one in node.inputs]
        function = None if node.mixed and node.op not in MIXED else DECOMPOSITIONS.get(node.op)
        parts = Decomposition(node)
        results = None if function is None else function(parts, node)
        if results is None:
            kept.append(node)
            continue
        kept += parts.nodes
        replaced.update(zip(node.outputs, [results] if isinstance(results, IRValue) else results, strict=True))
    graph.nodes = kept
    graph.substitute(replaced)


@decomposes(linear)
def _(parts: Decomposition, node: IRNode) -> IRValue:
    x, weight, bias = [*node.inputs, None][:3]
    assert isinstance(x, IRValue)
    assert isinstance(weight, IRValue)
    transposed = parts.call(permute, [weight], weight.shape[::-1], {"dims": (1, 0)})
    rows = x
    if len(x.shape) > 2:
        count = 1
        for size in x.shape[:-1]:
            count *= size
        rows = parts.call(reshape, [x], (count, x.shape[-1]), {"shape": (count, x.shape[-1])})
    out = parts.call(matmul, [rows, transposed], (*rows.shape[:-1], weight.shape[0]))
    if len(x.shape) > 2:
        out = parts.call(reshape, [out], node.out.shape, {"shape": node.out.shape})
    return parts.call(add, [out, bias], node.out.shape) if isinstance(bias, IRValue) else out


__all__ = ["DECOMPOSITIONS", "Decomposition", "decompose_compound", "decomposes"]
