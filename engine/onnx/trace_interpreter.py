"""Computes the values of a traced graph with the engine's ops, to compare them with those of another runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.modes import no_grad
from engine.onnx.traced_graph import Operand, TracedGraph, TracedOp, TracedValue
from engine.ops.record import REGISTRY
from engine.shape import Dim
from engine.tensors import Tensor
from engine.tensors.creation import arange, from_array, full


def interpret(graph: TracedGraph, inputs: Mapping[str, Any]) -> dict[int, Any]:
    """Compute all values of a graph.

    Args:
        graph: a traced model
        inputs: arrays by name, also those of random numbers

    Returns:
        arrays by id of the traced value.
    """
    values: dict[int, Tensor] = {}
    sizes: dict[str, int] = {}
    for value in (*graph.inputs, *(each.value for each in graph.random_inputs)):
        array = np.asarray(inputs[value.name])
        values[id(value)] = from_array(array)
        named = zip(value.spec.shape, array.shape, strict=True)
        sizes |= {str(size): number for size, number in named if isinstance(size, Dim)}
    with no_grad():
        for op in graph.ops:
            results = _results(op, values, sizes)
            for traced, result in zip(op.outputs, results, strict=True):
                values[id(traced)] = result.to(traced.spec.dtype)
    return {key: value.numpy() for key, value in values.items()}


def _results(op: TracedOp, values: dict[int, Tensor], sizes: Mapping[str, int]) -> tuple[Tensor, ...]:
    if op.layer is not None:
        return tuple(values[id(each)] for each in op.composed)
    statics: dict[str, Any] = _sized(dict(op.statics), sizes)
    if op.name in ("fill", "empty"):
        return (full(statics["shape"], statics.get("value", 0), dtype=op.outputs[0].spec.dtype),)
    if op.name == "arange":
        return (arange(statics["length"]),)
    inputs = [_tensor(each, values, sizes) for each in op.inputs]
    if op.name == "assign":
        shape = _sized(op.outputs[0].spec.shape, sizes)
        value = inputs[1]
        return (value.expand(shape) if isinstance(value, Tensor) else full(shape, value),)
    if op.name == "to_device":
        return (inputs[0],)
    record = REGISTRY[op.name]
    found = record.function(tuple(inputs), **statics) if record.variadic else record.function(*inputs, **statics)
    return found if isinstance(found, tuple) else (found,)


def _tensor(operand: Operand, values: dict[int, Tensor], sizes: Mapping[str, int]) -> Any:
    if not isinstance(operand, TracedValue):
        return _sized(operand, sizes)
    if id(operand) not in values:
        assert operand.array is not None
        values[id(operand)] = from_array(operand.array)
    return values[id(operand)]


def _sized(value: Any, sizes: Mapping[str, int]) -> Any:
    """A value with numbers in place of symbolic sizes."""
    if isinstance(value, Dim):
        return value.evaluate(sizes)
    if isinstance(value, slice):
        return slice(*(_sized(each, sizes) for each in (value.start, value.stop, value.step)))
    if type(value) in (tuple, list):
        return type(value)(_sized(each, sizes) for each in value)
    if isinstance(value, dict):
        return {name: _sized(each, sizes) for name, each in value.items()}
    return value


__all__ = ["interpret"]
