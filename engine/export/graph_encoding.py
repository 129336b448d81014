"""Traced graphs as records of an artifact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.export.argument_encoding import UnstorableArgumentError, encode, encode_arguments
from engine.export.artifact_records import (
    GraphRecord,
    InputRecord,
    OpRecord,
    OutputRecord,
    RandomRecord,
    SpecRecord,
)
from engine.export.errors import ArtifactError
from engine.export.op_allowance import refusal
from engine.shape import Spec
from engine.tracing.model_trace import LocationText
from engine.tracing.traced_graph import Operand, RandomInput, TracedGraph, TracedOp, TracedValue, needed_ops


def encode_graph(
    graph: TracedGraph,
    output_names: Sequence[str],
    arrays: dict[str, NDArray[Any]],
    *,
    constants: str,
    describe: LocationText,
) -> GraphRecord:
    """A traced graph as a record.

    Args:
        graph: trace without layers
        output_names: names of the outputs
        arrays: weights by name; those of the graph are added
        constants: prefix of the names of constants
        describe: text for the node and line of an op in errors

    Raises:
        ArtifactError: an op cannot be stored.
    """
    ops = needed_ops(list(graph.ops), graph.outputs)
    given = [*graph.inputs, *(each.value for each in graph.random_inputs)]
    stored = _stored_values(ops, graph.outputs, {id(value) for value in given})
    numbers = {id(value): number for number, value in enumerate([*given, *stored])}
    weights: list[str] = []
    for value in stored:
        assert value.array is not None
        name = value.name or f"{constants}:{len(weights)}"
        arrays[name] = np.asarray(value.array)
        weights.append(name)
    records: list[OpRecord] = []
    for op in ops:
        try:
            records.append(_encode_op(op, numbers))
        except UnstorableArgumentError as error:
            raise _unstorable(op, str(error), describe) from None
        for value in op.outputs:
            numbers[id(value)] = len(numbers)
    return GraphRecord(
        [_input(each) for each in graph.inputs],
        [_random(each, describe) for each in graph.random_inputs],
        weights,
        records,
        [OutputRecord(name, numbers[id(value)]) for name, value in zip(output_names, graph.outputs, strict=True)],
    )


def _input(value: TracedValue) -> InputRecord:
    sizes = [size if isinstance(size, int) else str(size) for size in value.spec.shape]
    return InputRecord(value.name, value.spec.dtype.name, sizes)


def _random(drawn: RandomInput, describe: LocationText) -> RandomRecord:
    node = drawn.value.name
    try:
        first, second = encode(drawn.first), encode(drawn.second)
    except UnstorableArgumentError as error:
        raise _unstorable(TracedOp(drawn.distribution, (), {}, node), str(error), describe) from None
    return RandomRecord(drawn.distribution, first, second, _spec(drawn.value.spec), node)


def _stored_values(ops: Sequence[TracedOp], outputs: Sequence[TracedValue], given: set[int]) -> list[TracedValue]:
    """Weights and constants in the order of their use."""
    found: dict[int, TracedValue] = {}
    for value in [*(value for op in ops for value in op.operands), *outputs]:
        if value.producer is None and id(value) not in given:
            found.setdefault(id(value), value)
    return list(found.values())


def _encode_op(op: TracedOp, numbers: dict[int, int]) -> OpRecord:
    name, statics, inputs = op.name, dict(op.statics), op.inputs
    statics.pop("out", None)
    if name == "empty":  # memory that is written before it is read
        name, statics = "fill", {**statics, "value": 0}
    if name == "fill":
        statics.pop("dtype", None)  # that of the result
    if name == "to_device":
        statics = {}
    reason = refusal(name)
    if reason:
        raise UnstorableArgumentError(reason)

    def operand(value: Operand) -> Any:
        return {"value": numbers[id(value)]} if isinstance(value, TracedValue) else encode(value)

    return OpRecord(
        name,
        [operand(each) for each in inputs],
        encode_arguments(statics),
        [_spec(each.spec) for each in op.outputs],
        op.node,
    )


def _spec(spec: Spec) -> SpecRecord:
    return SpecRecord(spec.dtype.name, [encode(size) for size in spec.shape])


def _unstorable(op: TracedOp, reason: str, describe: LocationText) -> ArtifactError:
    return ArtifactError(
        f"{describe(op.node, op.where)}: {op.name} cannot be exported as an artifact: {reason}. "
        "Replace it, or export a part of the model without it.",
        node=op.node,
        op=op.name,
        reason=reason,
        location=op.where,
    )


__all__ = ["encode_graph"]
