"""Traced graphs as records of an artifact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.dtypes import DType
from engine.export.argument_decoding import UnknownArgumentError
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
from engine.export.graph_check import result_specs
from engine.export.graph_decoding import MAX_SYMBOLS, decode_arguments_of, is_symbol_name
from engine.export.op_allowance import refusal
from engine.ops.record import Op
from engine.shape import Dim, Spec
from engine.tracing.model_trace import LocationText
from engine.tracing.size_comparison import FAILURES
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
    _check_symbols(graph.inputs)
    numbers = {id(value): number for number, value in enumerate([*given, *stored])}
    following = len(numbers)
    symbols = frozenset(str(size) for each in graph.inputs for size in each.spec.shape if isinstance(size, Dim))
    weights: list[str] = []
    for value in stored:
        assert value.array is not None
        name = value.name or f"{constants}:{len(weights)}"
        arrays[name] = np.asarray(value.array)
        weights.append(name)
    records: list[OpRecord] = []
    for op in ops:
        try:
            encoded = _encode_op(op, numbers, following)
            for each in encoded:
                decode_arguments_of(each, symbols)
        except (UnstorableArgumentError, UnknownArgumentError) as error:
            raise _unstorable(op, str(error), describe) from None
        records += encoded
        following += len(op.outputs) + len(encoded) - 1
        for number, value in enumerate(op.outputs, following - len(op.outputs)):
            numbers[id(value)] = number
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


def _check_symbols(inputs: Sequence[TracedValue]) -> None:
    """Raise ArtifactError for names of sizes that a file cannot contain."""
    names = {str(size) for value in inputs for size in value.spec.shape if isinstance(size, Dim)}
    wrong = sorted(name for name in names if not is_symbol_name(name))
    if wrong or len(names) > MAX_SYMBOLS:
        problem = f"{wrong[0]!r} is not the name of a size" if wrong else f"{len(names)} sizes are open"
        raise ArtifactError(f"{problem}. Use up to {MAX_SYMBOLS} names of letters, digits and underscores.")


def _encode_op(op: TracedOp, numbers: dict[int, int], number: int) -> list[OpRecord]:
    """An op, and the conversion of its result if an in-place op wrote it into a tensor of another dtype.

    Args:
        op: traced op
        numbers: numbers of the values before it
        number: number of its first result
    """
    name, statics, inputs = op.name, _explicit(op), op.inputs
    statics.pop("out", None)
    if name == "empty":  # memory that is written before it is read
        name, statics = "fill", {**statics, "value": 0}
    if name == "fill":
        statics.pop("dtype", None)  # that of the result
    reason = refusal(name)
    if reason:
        raise UnstorableArgumentError(reason)

    def operand(value: Operand) -> Any:
        return {"value": numbers[id(value)]} if isinstance(value, TracedValue) else encode(value)

    operands, arguments = [operand(each) for each in inputs], encode_arguments(statics)
    written = op.outputs[0].spec
    computed = _computed_dtype(op)
    if computed is written.dtype:
        return [OpRecord(name, operands, arguments, [_spec(each.spec) for each in op.outputs], op.node)]
    cast_arguments = encode_arguments({"dtype": written.dtype})
    return [
        OpRecord(name, operands, arguments, [_spec(Spec(written.shape, computed))], op.node),
        OpRecord("cast", [{"value": number}], cast_arguments, [_spec(written)], op.node),
    ]


def _computed_dtype(op: TracedOp) -> DType:
    """The dtype of the only result before an in-place op converts it to that of its tensor."""
    declared = op.outputs[0].spec.dtype
    if len(op.outputs) != 1 or op.name == "empty":
        return declared
    try:
        [found] = result_specs(op)
    except FAILURES:  # the check of the whole graph tells why
        return declared
    return found.dtype


def _explicit(op: TracedOp) -> dict[str, Any]:
    """The static arguments, with the dimensions that `squeeze` removes: at a call, a symbolic size may be 1."""
    found = dict(op.statics)
    if op.name == "squeeze":
        [source] = op.operands
        found["dim"] = _squeezed_dims(source.spec, found["dim"])
    elif "chain" in found:
        [spec, *_] = [each.spec for each in op.operands]
        chain: list[tuple[Op, Mapping[str, Any]]] = []
        for view, statics in found["chain"]:
            dims = {"dim": _squeezed_dims(spec, statics["dim"])} if view.name == "squeeze" else {}
            chain.append((view, {**statics, **dims}))
            result = view.infer([spec], statics)
            spec = result if isinstance(result, Spec) else spec.with_shape(result)
        found["chain"] = tuple(chain)
    return found


def _squeezed_dims(spec: Spec, dim: Any) -> tuple[int, ...]:
    chosen = range(spec.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return tuple(each % spec.ndim for each in chosen if spec.shape[each] == 1) if spec.ndim else ()


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
