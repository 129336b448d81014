"""Checks a graph of an artifact before it runs: every op takes its inputs and has the declared results."""

from __future__ import annotations

from typing import Any

from engine.backend import META, MetaArray
from engine.errors import EngineError
from engine.export.errors import ArtifactError
from engine.export.op_allowance import TRACE_OPS
from engine.modes import no_grad
from engine.ops.record import REGISTRY
from engine.shape import Shape, Spec, format_shape
from engine.tensors import Storage, Tensor
from engine.tracing.traced_graph import Operand, TracedGraph, TracedOp, TracedValue

FAILURES = (
    *(EngineError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError),
    *(RuntimeError, MemoryError),
)
"""What ops raise for arguments that do not fit; the arguments of a file can be of any kind."""


def check_graph(graph: TracedGraph, place: str) -> None:
    """Run the shape rules of all ops, with symbolic sizes and without values.

    Args:
        graph: decoded graph
        place: file and member, for errors

    Raises:
        ArtifactError: an op does not take its inputs, or its result is not the declared one.
    """
    with no_grad():
        for number, op in enumerate(graph.ops):
            try:
                shapes = _shapes(op)
            except FAILURES as error:
                raise _error(place, number, op, str(error)[:300].rstrip(".")) from None
            for value, shape in zip(op.outputs, shapes, strict=False):
                if len(shapes) != len(op.outputs) or tuple(shape) != value.spec.shape:
                    declared, found = format_shape(value.spec.shape)[:80], format_shape(shape)[:80]
                    raise _error(place, number, op, f"the declared result is {declared}, but the op gives {found}")


def _shapes(op: TracedOp) -> list[Shape]:
    """Shapes of the results of an op."""
    if op.name in TRACE_OPS:
        return [_trace_shape(op)]
    record = REGISTRY[op.name]
    if "chain" in op.statics:
        return [_overwritten_shape(op)]
    inputs = [_meta(each) for each in op.inputs]
    found = record.function(tuple(inputs), **op.statics) if record.variadic else record.function(*inputs, **op.statics)
    return [tuple(each.shape) for each in (found if isinstance(found, tuple) else (found,))]


def _trace_shape(op: TracedOp) -> Shape:
    match op.name:
        case "fill":
            if not isinstance(op.statics["value"], (bool, int, float)):
                raise TypeError("the value is not a number")
            return tuple(op.statics["shape"])
        case "arange":
            return (op.statics["length"],)
        case "assign":
            value = op.inputs[1]
            if isinstance(value, TracedValue):
                return tuple(_meta(value).expand(op.outputs[0].spec.shape).shape)
            return op.outputs[0].spec.shape
        case _:
            return tuple(_meta(op.inputs[0]).shape)


def _overwritten_shape(op: TracedOp) -> Shape:
    """The shape of a tensor after a write to a view of it; the view must have the shape of the written value."""
    base, value = op.inputs
    if not isinstance(base, TracedValue) or not isinstance(value, TracedValue):
        raise TypeError("the inputs are not tensors")
    spec = base.spec
    for view, statics in op.statics["chain"]:
        found = view.infer([spec], statics)
        spec = found if isinstance(found, Spec) else spec.with_shape(found)
    if spec.shape != value.spec.shape:
        raise ValueError(f"the view is {format_shape(spec.shape)}, but the value {format_shape(value.spec.shape)}")
    return base.spec.shape


def _meta(operand: Operand) -> Any:
    if not isinstance(operand, TracedValue):
        return operand
    return Tensor(MetaArray(operand.spec.shape, operand.spec.dtype.numpy), Storage(META))


def _error(place: str, number: int, op: TracedOp, problem: str) -> ArtifactError:
    node = f" of {op.node[:80]}" if op.node else ""
    return ArtifactError(
        f"{place}: op {number} ({op.name}{node}): {problem}. Export the artifact again with this version of Gradwire.",
        node=op.node,
        op=op.name,
        reason=problem,
    )


__all__ = ["FAILURES", "check_graph"]
