"""What the steps of a plan read, write and compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.compiler.ir import IRGraph, IRNode, IRValue
from engine.compiler.kernels import FusedGroup
from engine.dtypes import from_numpy
from engine.graph import SourceLocation
from engine.ops.flop_count import count_flops
from engine.shape import Spec


@dataclass(frozen=True, slots=True)
class OpCost:
    """The cost of an op as a part of a step."""

    op: str
    where: tuple[SourceLocation, ...]
    backward: bool
    flops: int
    touched: int
    """Bytes that it would read and write in a step alone."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """The cost of a step of a plan in one run."""

    kind: str
    """"kernel" for generated code, "call" for other computations, "view" for views."""
    ops: tuple[OpCost, ...]
    read: int
    """Bytes of its input arrays."""
    written: int
    """Bytes of its results."""
    flops: int
    """Floating-point operations: two for each multiply-add, one for each element of other ops."""
    dtype: str
    """Dtype of its first result."""

    @property
    def name(self) -> str:
        return "+".join(one.op for one in self.ops)


@dataclass(frozen=True, slots=True)
class StoredValue:
    """An array that a run of a plan computes and keeps for later steps."""

    where: tuple[SourceLocation, ...]
    backward: bool
    """Whether a backward pass computes it."""
    nbytes: int
    is_saved: bool
    """Whether the forward pass computes it and the backward pass reads it."""


def step_cost(step: IRNode | FusedGroup) -> StepCost:
    """The cost of one step."""
    if isinstance(step, IRNode):
        kind = "view" if step.op.view else "call"
        nodes: Sequence[IRNode] = (step,)
    else:
        kind, nodes = "kernel", step.nodes
    inputs = step.values if isinstance(step, IRNode) else step.inputs
    is_free = kind == "view"
    return StepCost(
        kind,
        tuple(map(_op_cost, nodes)),
        0 if is_free else sum(value.nbytes for value in dict.fromkeys(inputs)),
        0 if is_free else sum(value.nbytes for value in step.outputs),
        0 if is_free else sum(map(_flops, nodes)),
        str(step.outputs[0].dtype),
    )


def _flops(node: IRNode) -> int:
    # A number that varies between calls has no value here, and no influence.
    inputs = [_spec(one) if isinstance(one, IRValue) else getattr(one, "value", 1.0) for one in node.inputs]
    return count_flops(node.op, [_spec(value) for value in node.outputs], inputs, node.statics or {})


def unfused_peak(graph: IRGraph) -> int:
    """Peak bytes of the arrays of a graph that runs node by node and frees each array after its last use."""
    last = {value.base: index for index, node in enumerate(graph.nodes) for value in (*node.outputs, *node.values)}
    freed: dict[int, int] = {}
    for value, index in last.items():
        if value.producer is not None:
            freed[index] = freed.get(index, 0) + value.nbytes
    held = peak = 0
    for index, node in enumerate(graph.nodes):
        held += 0 if node.op.view else sum(value.nbytes for value in node.outputs)
        peak = max(peak, held)
        held -= freed.get(index, 0)
    return peak


def stored_values(graph: IRGraph, steps: Sequence[IRNode | FusedGroup]) -> Iterator[StoredValue]:
    """The arrays that the steps of a plan exchange, without views, inputs, results and those inside a kernel."""
    read_by_backward: set[IRValue] = set()
    for step in steps:
        nodes: Sequence[IRNode] = (step,) if isinstance(step, IRNode) else step.nodes
        inputs = step.values if isinstance(step, IRNode) else step.inputs
        if any(node.backward for node in nodes):
            read_by_backward.update(value.base for value in inputs)
    results = set(graph.results())
    for step in steps:
        for value in step.outputs:
            node = value.producer
            if node is not None and not node.op.view and value not in results:
                is_saved = not node.backward and value in read_by_backward
                yield StoredValue(node.where, node.backward, value.nbytes, is_saved)


def _op_cost(node: IRNode) -> OpCost:
    touched = sum(value.nbytes for value in (*node.values, *node.outputs))
    return OpCost(node.op.name, node.where, node.backward, _flops(node), 0 if node.op.view else touched)


def _spec(value: IRValue) -> Spec:
    return Spec(tuple(value.shape), from_numpy(value.dtype))


__all__ = ["OpCost", "StepCost", "StoredValue", "step_cost", "stored_values", "unfused_peak"]
