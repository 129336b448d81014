"""Constant folding: computes arrays that hold one known number."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.backend import CPU
from engine.compiler.fill_op import FILL
from engine.compiler.instruction import Constant, has_scalars
from engine.compiler.ir import IRGraph, IRNode, IROperand, IRValue
from engine.compiler.sequential_executor import compute_call
from engine.ops.elementwise.update import clone
from engine.ops.movement.primitives import cast, reshape, sum_backward


def fold_constants(graph: IRGraph) -> None:
    """Replaces elementwise ops and views of constant-filled arrays by constant-filled arrays."""
    for node in graph.nodes:
        number = _result(node)
        if number is not None:
            value = node.out
            statics = {"shape": value.shape, "dtype": np.dtype(value.dtype), "value": number}
            node.op, node.inputs, node.statics, node.mixed = FILL, [], statics, False


def number_of(operand: IROperand) -> Any:
    """The number that fills an operand in every call; None if it is not constant."""
    if isinstance(operand, Constant):
        return operand.value
    node = operand.producer if isinstance(operand, IRValue) else None
    if node is None or node.op is not FILL or has_scalars(node.statics):
        return None
    return node.out.dtype.type(node.statics["value"]).item()


def _result(node: IRNode) -> Any:
    """The number that fills the result of a node, if it is known."""
    if node.op is FILL or not node.values or len(node.outputs) != 1 or 0 in node.out.shape or has_scalars(node.statics):
        return None
    numbers = [number_of(one) for one in node.inputs]
    is_constant = [
        isinstance(one, Constant) or number is not None for one, number in zip(node.inputs, numbers, strict=True)
    ]
    if not all(is_constant):
        return None
    if (node.op.view or node.op in (clone, reshape, sum_backward)) and node.values[0].dtype == node.out.dtype:
        return numbers[0]
    if node.op.kind != "elementwise" and node.op is not cast:
        return None
    operands = [
        np.full((), number, one.dtype) if isinstance(one, IRValue) else number
        for one, number in zip(node.inputs, numbers, strict=True)
    ]
    with np.errstate(all="ignore"):
        (found,) = compute_call(node.op, operands, node.statics or {}, CPU, node.mixed)
    return found.item() if found.shape == () and found.dtype == node.out.dtype else None


__all__ = ["fold_constants", "number_of"]
