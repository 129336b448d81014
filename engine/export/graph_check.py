"""Checks a graph of an artifact before it runs: every op takes its inputs and has the declared results."""

from __future__ import annotations

from typing import Any

from engine.backend import META, MetaArray
from engine.export.errors import ArtifactError, printable
from engine.export.op_allowance import TRACE_OPS
from engine.ops.record import REGISTRY
from engine.shape import Shape, Spec, format_shape
from engine.tensors import Storage, Tensor
from engine.tracing.op_evaluation import plain_computation
from engine.tracing.size_comparison import FAILURES
from engine.tracing.traced_graph import Operand, TracedGraph, TracedOp, TracedValue


def check_graph(graph: TracedGraph, location: str) -> None:
    """Run the shape rules of all ops, with symbolic sizes and without values.

    Args:
        graph: decoded graph
        location: file and member, for errors

    Raises:
        ArtifactError: an op does not take its inputs, or its result is not the declared one.
    """
    with plain_computation():
        for number, op in enumerate(graph.ops):
            try:
                found = result_specs(op)
            except FAILURES as error:
                raise _error(location, number, op, str(error)[:300].rstrip(".")) from None
            for value, spec in zip(op.outputs, found, strict=False):
                if len(found) != len(op.outputs) or spec.shape != value.spec.shape or not _has_dtype(op, value, spec):
                    texts = f"{str(value.spec)[:80]}, but the op gives {str(spec)[:80]}"
                    raise _error(location, number, op, f"the declared result is {texts}")


def _has_dtype(op: TracedOp, value: TracedValue, found: Spec) -> bool:
    """Whether the result has the declared dtype. Of integers alone, it may be another default floating-point dtype."""
    declared = value.spec.dtype
    takes_floats = any(each.spec.dtype.is_floating_point for each in op.operands)
    return declared is found.dtype or (
        not takes_floats and declared.is_floating_point and found.dtype.is_floating_point
    )


def result_specs(op: TracedOp) -> list[Spec]:
    """Shapes and dtypes of the results of an op, by its shape rule."""
    if op.name in TRACE_OPS:
        return [Spec(_trace_shape(op), op.outputs[0].spec.dtype)]
    record = REGISTRY[op.name]
    if "chain" in op.statics:
        return [_overwritten_spec(op)]
    inputs = [_meta(each) for each in op.inputs]
    found = record.function(tuple(inputs), **op.statics) if record.variadic else record.function(*inputs, **op.statics)
    return [Spec(tuple(each.shape), each.dtype) for each in (found if isinstance(found, tuple) else (found,))]


def _trace_shape(op: TracedOp) -> Shape:
    match op.name:
        case "fill":
            if not isinstance(op.statics["value"], (bool, int, float)):
                raise TypeError("the value is not a number")
            return tuple(op.statics["shape"])
        case "arange":
            return (op.statics["length"],)
        case _:
            value = op.inputs[1]
            if isinstance(value, TracedValue):
                return tuple(_meta(value).expand(op.outputs[0].spec.shape).shape)
            if not isinstance(value, (bool, int, float)):
                raise TypeError("the value is not a number")
            return op.outputs[0].spec.shape


def _overwritten_spec(op: TracedOp) -> Spec:
    """Shape and dtype of a tensor after a write to a view of it; the view must have the shape of the written value."""
    base, value = op.inputs
    if not isinstance(base, TracedValue) or not isinstance(value, TracedValue):
        raise TypeError("the inputs are not tensors")
    spec = base.spec
    for view, statics in op.statics["chain"]:
        found = view.infer([spec], statics)
        spec = found if isinstance(found, Spec) else spec.with_shape(found)
    if spec.shape != value.spec.shape:
        raise ValueError(f"the view is {format_shape(spec.shape)}, but the value {format_shape(value.spec.shape)}")
    return base.spec


def _meta(operand: Operand) -> Any:
    if not isinstance(operand, TracedValue):
        return operand
    return Tensor(MetaArray(operand.spec.shape, operand.spec.dtype.numpy), Storage(META))


def _error(location: str, number: int, op: TracedOp, problem: str) -> ArtifactError:
    node = f" of {printable(op.node)}" if op.node else ""
    return ArtifactError(
        f"{location}: op {number} ({op.name}{node}): {problem}. Export the artifact again with this version of "
        "Gradwire.",
        node=op.node,
        op=op.name,
        reason=problem,
    )


__all__ = ["check_graph", "result_specs"]
