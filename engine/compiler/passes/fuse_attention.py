"""Replaces the ops of attention by one op, and those of its gradient by another.

Attention is not replaced if intermediate values are used elsewhere, such as by dropout of the weights.
"""

from __future__ import annotations

from typing import Any

from engine.compiler.instruction import Constant, Scalar
from engine.compiler.ir import IRGraph, IRNode, IROperand, IRValue
from engine.compiler.passes.decompose import Decomposition
from engine.compiler.passes.decomposition_ops import FLOATS
from engine.ops.attention_weights import attention_weights
from engine.ops.elementwise.arithmetic import add, mul
from engine.ops.fused_attention import attention_backward, attention_backward_packed, scaled_dot_product_attention_op
from engine.ops.indexing.index import slice_backward
from engine.ops.linalg.matmul import matmul
from engine.ops.movement.primitives import permute
from engine.ops.softmax import softmax_backward

HEADS_LAST = (0, 2, 1, 3)
TRANSPOSED = (0, 1, 3, 2)


def fuse_attention(graph: IRGraph) -> None:
    """Finds attention without mask on B×H×L×E arrays, and replaces it in both directions."""
    for node in [one for one in graph.nodes if one.op is attention_weights]:
        _Attention(graph, node).fuse_forward()


class _Attention:
    def __init__(self, graph: IRGraph, node: IRNode) -> None:
        self.graph, self.node, self.weights = graph, node, node.out
        self.readers: dict[IRValue, list[IRNode]] = {}
        for one in graph.nodes:
            for value in dict.fromkeys(one.values):
                self.readers.setdefault(value, []).append(one)
        self.kept = set(graph.results())

    def fuse_forward(self) -> None:
        query, key, mask = [*self.node.inputs, Constant(None)][:3]
        if self.node.mixed or not isinstance(mask, Constant) or self.weights.dtype not in FLOATS:
            return
        product = self._product()
        if product is None or not isinstance(query, IRValue) or not isinstance(key, IRValue):
            return
        value, nodes = product.values[1], self.graph.nodes
        if any(nodes.index(one) < nodes.index(product) for one in self.readers[self.weights]):
            return
        shapes = query.shape, key.shape, value.shape
        batch = {shape[:2] for shape in shapes}
        if {len(shape) for shape in shapes} != {4} or len(batch) > 1 or any(0 in shape for shape in shapes):
            return
        statics, causal = self.node.statics, bool(self.node.statics["causal"])
        parts = Decomposition(product)
        (batch_size, heads, length, _), size = query.shape, value.shape[3]
        scale = statics["scale"] if isinstance(statics["scale"], Scalar) else Constant(statics["scale"])
        forms = [((batch_size, length, heads, size), query.dtype), (self.weights.shape, query.dtype)]
        out, weights = parts.call_with_outputs(
            scaled_dot_product_attention_op, [query, key, value, scale], forms, {"causal": causal}
        )
        out = parts.call(permute, [out], product.out.shape, {"dims": HEADS_LAST})
        self._replace([self.node, product], product, parts, {product.out: out, self.weights: weights})
        self.weights = weights
        self._fuse_backward(query, key, value, causal)

    def _product(self) -> IRNode | None:
        """The product of weights and values."""
        found = [
            one
            for one in self.readers.get(self.weights, [])
            if one.op is matmul and one.inputs[0] is self.weights and len(one.values) == 2 and not one.mixed
        ]
        return found[0] if len(found) == 1 else None

    def _replace(
        self, old: list[IRNode], anchor: IRNode, parts: Decomposition, replaced: dict[IRValue, IRValue]
    ) -> None:
        """Replaces nodes by parts, at the position of the last of them."""
        nodes = self.graph.nodes
        index = nodes.index(anchor)
        nodes[index : index + 1] = parts.nodes
        self.graph.nodes = [one for one in nodes if one not in old]
        self.graph.substitute(replaced)
        self.__init__(self.graph, self.node)

    # -- backward

    def _fuse_backward(self, query: IRValue, key: IRValue, value: IRValue, causal: bool) -> None:
        softmax_grad = next((one for one in self.readers.get(self.weights, []) if one.op is softmax_backward), None)
        if (
            softmax_grad is None
            or softmax_grad.values[1] is not self.weights
            or softmax_grad.statics["dim"] not in (-1, 3)
        ):
            return
        first = self._producer(softmax_grad.values[0], matmul)
        g = None if first is None else first.values[0]
        if first is None or g is None or not self._is_transposed(first.inputs[1], value):
            return
        value_grad = self._transposed_product(self.weights, g)
        query_grad, key_grad = (
            self._only(softmax_grad.out, matmul, key),
            self._transposed_product(softmax_grad.out, query),
        )
        scaled = [self._scaled(one) for one in (query_grad, key_grad)]
        if value_grad is None or None in scaled:
            return
        queries, keys = (one for one in scaled if one is not None)
        parts = Decomposition(value_grad)
        statics = {"causal": causal}
        operands: list[IROperand] = [
            g,
            query,
            key,
            value,
            self.weights,
            *(self._factor(one) for one in (queries, keys)),
        ]
        inside = [
            first,
            softmax_grad,
            *(one for one in (query_grad, key_grad, value_grad) if one is not None),
            queries,
            keys,
        ]
        results = [queries.out, keys.out, value_grad.out]
        packed_sum = self._packed_sum(results)
        order = {node: anchor for anchor, node in enumerate(self.graph.nodes)}
        candidates: list[IRNode] = [one for one in (*inside, packed_sum) if one is not None]
        last = max(candidates, key=lambda one: order[one])
        parts.original = last
        if packed_sum is not None:
            batch, heads, length, size = query.shape
            packed = parts.call(attention_backward_packed, operands, (batch, length, 3, heads, size), statics)
            found = [parts.call(permute, [packed], packed_sum.out.shape, {"dims": (2, 0, 3, 1, 4)})]
            results = [packed_sum.out]
        else:
            forms = [(tuple(one.shape[dim] for dim in HEADS_LAST), g.dtype) for one in results]
            separate = parts.call_with_outputs(attention_backward, operands, forms, statics)
            found = [
                parts.call(permute, [one], old.shape, {"dims": HEADS_LAST})
                for one, old in zip(separate, results, strict=True)
            ]
        self._insert(inside, last, parts, dict(zip(results, found, strict=True)))

    def _insert(self, old: list[IRNode], last: IRNode, parts: Decomposition, replaced: dict[IRValue, IRValue]) -> None:
        """Inserts parts after `last`; the replaced nodes become dead code."""
        if any(one.out in self.kept and one.out not in replaced for one in old):
            return
        nodes = self.graph.nodes
        index = nodes.index(last)
        late = {value for node in nodes[: index + 1] for value in node.values} & set(replaced)
        if any(self.graph.nodes.index(reader) <= index and reader is not last for value in late
               for reader in self.readers[value]):  # fmt: skip
            return
        nodes[index + 1 : index + 1] = parts.nodes
        self.graph.substitute(replaced)

    def _producer(self, value: IROperand, op: Any) -> IRNode | None:
        node = value.producer if isinstance(value, IRValue) else None
        return node if node is not None and node.op is op and not node.mixed else None

    def _is_transposed(self, value: IROperand, base: IRValue) -> bool:
        node = self._producer(value, permute)
        return node is not None and node.values[0] is base and tuple(node.statics["dims"]) == TRANSPOSED

    def _only(self, value: IRValue, op: Any, other: IRValue) -> IRNode | None:
        """The product of two values, if there is exactly one."""
        found = [
            one for one in self.readers.get(value, [])
            if one.op is op and not one.mixed and len(one.inputs) == 2 and one.inputs[0] is value
            and one.inputs[1] is other
        ]  # fmt: skip
        return found[0] if len(found) == 1 else None

    def _transposed_product(self, value: IRValue, other: IRValue) -> IRNode | None:
        transposes = [one for one in self.readers.get(value, []) if self._is_transposed(one.out, value)]
        return self._only(transposes[0].out, matmul, other) if len(transposes) == 1 else None

    def _scaled(self, node: IRNode | None) -> IRNode | None:
        readers = [] if node is None else self.readers.get(node.out, [])
        alone = len(readers) == 1 and readers[0].op is mul and node is not None and node.out not in self.kept
        return readers[0] if alone and isinstance(readers[0].inputs[1], (Scalar, Constant)) else None

    def _factor(self, node: IRNode) -> IROperand:
        return node.inputs[1]

    def _packed_sum(self, results: list[IRValue]) -> IRNode | None:
        """The sum of the gradients of query, key and value, each in its third of an array."""
        if len({value.shape for value in results}) > 1:
            return None
        parts_of_packed: list[IRNode] = []
        for number, value in enumerate(results):
            readers = self.readers.get(value, [])
            shape = (3, *value.shape)
            if len(readers) != 1 or readers[0].op is not slice_backward or value in self.kept:
                return None
            if readers[0].out.shape != shape or tuple(readers[0].statics["index"]) != (number,):
                return None
            parts_of_packed.append(readers[0])
        parts = {node.out for node in parts_of_packed}
        sums = [one for one in self.graph.nodes if one.op is add and set(one.values) <= parts and len(one.values) == 2]
        if len(sums) != 1 or not _is_plain(sums[0]):
            return None
        rest = parts - set(sums[0].values)
        ends = [
            one
            for one in self.readers.get(sums[0].out, [])
            if one.op is add and set(one.values) == {sums[0].out, *rest}
        ]
        if len(ends) != 1 or len(self.readers[sums[0].out]) > 1 or not _is_plain(ends[0]):
            return None
        return ends[0]


def _is_plain(node: IRNode) -> bool:
    return not node.mixed and node.statics["alpha"] == 1


__all__ = ["fuse_attention"]
