"""Computes all values of a traced graph with the engine's ops, to compare them with those of another runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.modes import no_grad
from engine.tensors import Tensor
from engine.tensors.creation import from_array
from engine.tracing.op_evaluation import evaluate, named_sizes
from engine.tracing.traced_graph import Operand, TracedGraph, TracedValue


def interpret(graph: TracedGraph, inputs: Mapping[str, Any]) -> dict[int, Any]:
    """Compute all values of a graph.

    Args:
        graph: a traced model
        inputs: arrays by name, also those of random numbers

    Returns:
        arrays by id of the traced value.
    """
    given = [*graph.inputs, *(each.value for each in graph.random_inputs)]
    arrays = [np.asarray(inputs[value.name]) for value in given]
    values = {id(value): from_array(array) for value, array in zip(given, arrays, strict=True)}
    sizes = named_sizes((value.spec, array.shape) for value, array in zip(given, arrays, strict=True))
    with no_grad():
        for op in graph.ops:
            if op.layer is None:
                results = evaluate(op, [_operand(each, values) for each in op.inputs], sizes)
            else:
                results = tuple(
                    values[id(each)].to(out.spec.dtype) for each, out in zip(op.composed, op.outputs, strict=True)
                )
            values |= {id(traced): result for traced, result in zip(op.outputs, results, strict=True)}
    return {key: value.numpy() for key, value in values.items()}


def _operand(operand: Operand, values: dict[int, Tensor]) -> Any:
    if not isinstance(operand, TracedValue):
        return operand
    if id(operand) not in values:
        assert operand.array is not None
        values[id(operand)] = from_array(operand.array)
    return values[id(operand)]


__all__ = ["interpret"]
