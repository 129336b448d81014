"""Builds a graph of values from a trace, whose ops share and write memory.

Each memory block has a root slot. A write through a view creates a new value of the whole block, from which later
reads are computed. Writes to input memory happen once, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.backend import META, Device, MetaArray
from engine.compiler.instruction import Constant, ExternalInput, Instruction, Scalar, Slot, TraceNode
from engine.compiler.ir.ir_graph import IRGraph, IRNode, IROperand, IROutput, IRValue, PlanUnsupported
from engine.dtypes import from_numpy
from engine.graph import SourceLocation
from engine.ops.movement.primitives import cast
from engine.ops.record import Op
from engine.tensors.deferred import Form
from engine.tensors.dispatch.in_place_call import OVERWRITE
from engine.tensors.dispatch.op_call import compute_promoted


def build_graph(node: TraceNode, output_slots: Sequence[int]) -> IRGraph:
    """The graph of the trace that ends at `node`, with the arrays in the slots `wanted` as outputs.

    Raises:
        PlanUnsupported: the trace writes to memory that several input tensors share
    """
    path = node.path()
    builder = _Builder()
    for entry in path:
        for external in entry.externals:
            builder.add_input(external)
        builder.add(entry.call)
    return builder.finish(output_slots)


class _Builder:
    def __init__(self) -> None:
        self.graph = IRGraph({}, [], [], {})
        self.externals: dict[int, ExternalInput] = {}
        self.roots: dict[int, tuple[int, tuple[tuple[Op, Any], ...]]] = {}
        """Slot → root of its memory and the view ops from there."""
        self.forms: dict[int, Form] = {}
        self.current: dict[int, IRValue] = {}
        """Root → current value of its memory."""
        self.views: dict[tuple[IRValue, int, Any], IRValue] = {}
        """Views of values that exist already."""

    def add_input(self, external: ExternalInput) -> None:
        slot, form = external.slot, external.form
        self.externals[slot] = external
        self.roots[slot], self.forms[slot] = (slot, ()), form
        value = IRValue(form.shape, form.dtype, external.device, None, slot)
        self.graph.inputs[slot] = self.current[slot] = value
        self.graph.forms[slot] = form

    def add(self, call: Instruction) -> None:
        if call.views:
            first = call.inputs[0]
            assert isinstance(first, Slot)
            root, chain = self.roots[first.number]
            (slot,) = call.outputs
            self.roots[slot], self.forms[slot] = (root, (*chain, (call.op, call.statics))), call.forms[0]
            return
        inputs = [self.read(one.number) if isinstance(one, Slot) else one for one in call.inputs]
        if call.in_place:
            self.write(call, inputs)
            return
        made = self.node(call.op, inputs, call.statics, [(f.shape, f.dtype) for f in call.forms], call)
        for slot, form, value in zip(call.outputs, call.forms, made.outputs, strict=True):
            self.roots[slot], self.forms[slot], self.current[slot] = (slot, ()), form, value

    def node(
        self, op: Op, inputs: Sequence[IROperand], statics: Any, specs: Sequence[tuple[Any, Any]], call: Instruction
    ) -> IRNode:
        node = self._node(op, inputs, statics, specs, call.device, call.mixed, call.where)
        node.recomputation, node.backward = call.recomputation, call.backward
        return node

    def _node(
        self,
        op: Op,
        inputs: Sequence[IROperand],
        statics: Any,
        specs: Sequence[tuple[Any, Any]],
        device: Device,
        mixed: bool,
        where: SourceLocation,
    ) -> IRNode:
        node = IRNode(op, list(inputs), statics, mixed, (where,))
        node.outputs = [IRValue(tuple(shape), dtype, device, node, i) for i, (shape, dtype) in enumerate(specs)]
        self.graph.nodes.append(node)
        return node

    def read(self, slot: int) -> IRValue:
        """The current value of a slot."""
        root, chain = self.roots[slot]
        value = self.current[root]
        for op, statics in chain:
            key = (value, id(op), _frozen(statics))
            found = self.views.get(key)
            if found is None:
                array = MetaArray(value.shape, value.dtype)
                result = compute_promoted(op, [array], _example(statics), META)
                node = self._node(op, [value], statics, [(result.shape, result.dtype)], value.device, False, None)
                found = self.views[key] = node.out
            value = found
        return value

    def write(self, call: Instruction, inputs: list[IROperand]) -> None:
        root, chain = self.roots[call.outputs[0]]
        old, form = inputs[0], self.forms[call.outputs[0]]
        assert isinstance(old, IRValue)
        arrays = [MetaArray(one.shape, one.dtype) if isinstance(one, IRValue) else _example(one) for one in inputs]
        result = compute_promoted(call.op, arrays, _example(call.statics), META)
        if tuple(result.shape) != form.shape:
            raise PlanUnsupported(f"{call.op.name}_() writes {result.shape} over {form.shape}")
        value = self.node(call.op, inputs, call.statics, [(result.shape, result.dtype)], call).out
        if value.dtype != form.dtype:
            dtype = from_numpy(form.dtype)
            value = self.node(cast, [value], {"dtype": dtype}, [(value.shape, form.dtype)], call).out
        block = self.current[root]
        if chain:
            value = self.node(OVERWRITE, [block, value], {"chain": chain}, [(block.shape, block.dtype)], call).out
        self.current[root] = value

    def _refuse_shared(self, written: int) -> None:
        """Refuses writes to memory that several input tensors share."""
        shares = self.externals[written].shares_with is not None
        if shares or any(other.shares_with == written for other in self.externals.values()):
            raise PlanUnsupported("it writes to memory that several input tensors share")

    def finish(self, output_slots: Sequence[int]) -> IRGraph:
        graph = self.graph
        graph.writes = {
            slot: self.current[slot] for slot, value in graph.inputs.items() if self.current[slot] is not value
        }
        for slot in graph.writes:
            self._refuse_shared(slot)
        for slot in output_slots:
            root, chain = self.roots[slot]
            external = root if root in self.externals else None
            graph.outputs.append(IROutput(slot, self.current[root], self.forms[root], chain, external, root))
        return graph


def _example(value: Any) -> Any:
    """A value for shape inference; numbers that vary between calls become 1.0."""
    kind = type(value)
    if kind is Scalar:
        return 1.0
    if kind is Constant:
        return value.value
    if kind is tuple or kind is list:
        return kind(map(_example, value))
    return {name: _example(one) for name, one in value.items()} if kind is dict else value


def _frozen(statics: Any) -> Any:
    return repr(sorted(statics.items(), key=lambda item: item[0])) if statics else None


__all__ = ["build_graph"]
