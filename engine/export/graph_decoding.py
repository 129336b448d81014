"""Traced graphs from the records of an artifact, with everything checked that a graph refers to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from engine.dtypes import BY_NAME
from engine.dtypes import from_numpy as dtype_of
from engine.export.argument_decoding import MAX_DIMENSIONS, UnknownArgumentError, decode, decode_arguments, decode_size
from engine.export.artifact_records import GraphRecord, InputRecord, OpRecord, RandomRecord, SpecRecord
from engine.export.errors import ArtifactError, printable
from engine.export.op_allowance import TRACE_OPS, refusal
from engine.ops.record import REGISTRY
from engine.random.draws import DISTRIBUTIONS
from engine.shape import Dim, Spec
from engine.tracing.traced_graph import Operand, RandomInput, TracedGraph, TracedOp, TracedValue

_MAX_VALUES = 200_000
_MAX_NAME = 1000
_TRACE_ARGUMENTS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "arange": (0, ("length",)),
    "assign": (2, ()),
    "fill": (0, ("shape", "value")),
}
"""Number of inputs and names of arguments of ops without a record."""


MAX_SYMBOLS = 16
"""Symbolic sizes of the inputs."""


def is_symbol_name(name: str) -> bool:
    return name.isidentifier() and len(name) < 64


def decode_arguments_of(record: OpRecord, symbols: frozenset[str]) -> dict[str, Any]:
    """The static arguments of an op. Raises UnknownArgumentError for a wrong number of inputs or a wrong argument."""
    for spec in record.outputs:
        if len(spec.shape) > MAX_DIMENSIONS:
            raise UnknownArgumentError(f"has {len(spec.shape):,} dimensions; at most {MAX_DIMENSIONS} are read")
        for size in spec.shape:
            decode_size(size, symbols)
    if record.op in TRACE_OPS:
        arity, names = _TRACE_ARGUMENTS[record.op]
        if len(record.inputs) != arity or set(record.arguments) != set(names):
            raise UnknownArgumentError(f"needs {arity} inputs and the arguments {', '.join(names) or 'none'}")
        return {name: decode(each, symbols) for name, each in record.arguments.items()}
    op = REGISTRY[record.op]
    if not op.variadic and len(record.inputs) != op.arity:
        raise UnknownArgumentError(f"has {len(record.inputs)} inputs; the op has {op.arity}")
    return decode_arguments(op, record.arguments, symbols)


def decode_graph(record: GraphRecord, arrays: Mapping[str, NDArray[Any]], location: str) -> TracedGraph:
    """A graph from a record. Nothing is computed.

    Args:
        record: decoded JSON
        arrays: weights by name
        location: file and member, for errors

    Raises:
        ArtifactError: the record refers to something unknown.
    """
    return _Decoder(record, arrays, location).graph()


class _Decoder:
    def __init__(self, record: GraphRecord, arrays: Mapping[str, NDArray[Any]], location: str) -> None:
        self._record, self._arrays, self._location = record, arrays, location
        self._values: list[TracedValue] = []
        self._symbols = frozenset(size for each in record.inputs for size in each.shape if isinstance(size, str))

    def graph(self) -> TracedGraph:
        record = self._record
        self._check_names("inputs", [each.name for each in record.inputs])
        self._check_names("outputs", [each.name for each in record.outputs])
        if len(self._symbols) > MAX_SYMBOLS or not all(map(is_symbol_name, self._symbols)):
            raise self._error("inputs", f"have symbolic sizes that are not up to {MAX_SYMBOLS} names")
        inputs = tuple(self._add(self._input(each)) for each in record.inputs)
        random_inputs = tuple(self._random(index, each) for index, each in enumerate(record.random))
        for each in random_inputs:
            self._add(each.value)
        for name in record.weights:
            self._add(self._weight(name))
        ops = tuple(self._op(index, each) for index, each in enumerate(record.ops))
        outputs = tuple(self._value(f"output {printable(each.name)}", each.value) for each in record.outputs)
        return TracedGraph(inputs, outputs, ops, random_inputs)

    def _add(self, value: TracedValue) -> TracedValue:
        if len(self._values) >= _MAX_VALUES:
            raise self._error("the graph", f"has more than {_MAX_VALUES:,} values")
        self._values.append(value)
        return value

    def _input(self, record: InputRecord) -> TracedValue:
        sizes = [{"size": each} if isinstance(each, str) else each for each in record.shape]
        return TracedValue(
            self._spec(f"input {printable(record.name)}", SpecRecord(record.dtype, sizes)), name=record.name
        )

    def _random(self, index: int, record: RandomRecord) -> RandomInput:
        where = f"random numbers {index}"
        if record.distribution not in DISTRIBUTIONS:
            raise self._error(where, f"have the unknown distribution {record.distribution[:40]!r}")
        numbers = (record.first, record.second)
        if any(type(each) not in (int, float) or abs(each) >= 2**63 for each in numbers):
            raise self._error(where, "have parameters that are not two numbers")
        value = TracedValue(self._spec(where, record.value), name=record.node)
        return RandomInput(value, record.distribution, record.first, record.second)

    def _weight(self, name: str) -> TracedValue:
        array = self._arrays.get(name)
        if array is None:
            raise self._error(f"weight {name[:80]!r}", "is not in the weights file")
        return TracedValue(Spec(tuple(array.shape), dtype_of(array.dtype)), name=name, array=array)

    def _op(self, index: int, record: OpRecord) -> TracedOp:
        where = f"op {index} ({printable(record.op, 40)}{f' of {printable(record.node)}' if record.node else ''})"
        reason = refusal(record.op)
        if reason:
            raise self._error(where, f"cannot be run: {reason}")
        inputs = tuple(self._operand(where, each) for each in record.inputs)
        try:
            statics = decode_arguments_of(record, self._symbols)
        except UnknownArgumentError as error:
            raise self._error(where, str(error)) from None
        if record.op not in TRACE_OPS and not any(isinstance(each, TracedValue) for each in inputs):
            raise self._error(where, f"has {len(inputs)} inputs, and no tensor among them")
        op = TracedOp(record.op, inputs, statics, record.node)
        specs = [self._spec(where, each) for each in record.outputs]
        op.outputs = tuple(self._add(TracedValue(spec, op, number)) for number, spec in enumerate(specs))
        expected = 1 if record.op in TRACE_OPS else REGISTRY[record.op].outputs
        if len(specs) != expected:
            raise self._error(where, f"has {len(specs)} results; the op has {expected}")
        return op

    def _operand(self, where: str, record: Any) -> Operand:
        if isinstance(record, dict) and set(record) == {"value"}:
            return self._value(where, record["value"])
        try:
            found = decode(record, self._symbols)
        except UnknownArgumentError as error:
            raise self._error(where, f"input {error}") from None
        if found is not None and not isinstance(found, (bool, int, float, Dim)):
            raise self._error(where, f"has an input that is a {type(found).__name__}")
        return found

    def _value(self, where: str, number: Any) -> TracedValue:
        if type(number) is not int or not 0 <= number < len(self._values):
            shown = number if type(number) is int and abs(number) < 2**63 else "that is not an integer"
            raise self._error(
                where, f"reads value {shown}, but only the {len(self._values):,} values before it can be read"
            )
        return self._values[number]

    def _spec(self, where: str, record: SpecRecord) -> Spec:
        dtype = BY_NAME.get(record.dtype)
        if dtype is None:
            raise self._error(where, f"has the unknown dtype {record.dtype[:40]!r}; known are {', '.join(BY_NAME)}")
        if len(record.shape) > MAX_DIMENSIONS:
            raise self._error(where, f"has {len(record.shape):,} dimensions; at most {MAX_DIMENSIONS} are read")
        try:
            return Spec(tuple(decode_size(each, self._symbols) for each in record.shape), dtype)
        except UnknownArgumentError as error:
            raise self._error(where, f"has a shape in which {error}") from None

    def _check_names(self, kind: str, names: list[str]) -> None:
        if not names or len(set(names)) != len(names) or any(not 0 < len(each) <= _MAX_NAME for each in names):
            raise self._error(kind, "are missing, or their names are empty, too long or not unique")

    def _error(self, where: str, problem: str) -> ArtifactError:
        return ArtifactError(f"{self._location}: {where} {problem}. Export the artifact again.")


__all__ = ["MAX_SYMBOLS", "decode_arguments_of", "decode_graph", "is_symbol_name"]
