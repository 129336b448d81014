"""Helpers that add common ops to a decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.instruction import Constant, Scalar
from engine.compiler.ir import IRNode, IROperand, IRValue
from engine.compiler.passes.decompose import Decomposition
from engine.ops.record import Op

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def reduce_op(parts: Decomposition, op: Op, x: IRValue, dims: tuple[int, ...]) -> IRValue:
    """Adds a reduction that keeps its dimensions."""
    shape = [1 if dim in dims else size for dim, size in enumerate(x.shape)]
    return parts.call(op, [x], shape, {"dim": dims, "keepdim": True})


def binary_op(parts: Decomposition, op: Op, a: IROperand, b: IROperand) -> IRValue:
    """Adds an elementwise op of two operands."""
    shape = np.broadcast_shapes(*(one.shape for one in (a, b) if isinstance(one, IRValue)))
    return parts.call(op, [a, b], shape)


def unary_op(parts: Decomposition, op: Op, x: IRValue) -> IRValue:
    """Adds an elementwise op of one operand."""
    return parts.call(op, [x], x.shape)


def is_native_float(node: IRNode) -> bool:
    """Whether the result is float32 or float64 and not empty."""
    return node.out.dtype in FLOATS and 0 not in node.out.shape


def operand(value: Any) -> IROperand:
    """A static argument as an operand."""
    return value if isinstance(value, Scalar) else Constant(value)


__all__ = ["FLOATS", "binary_op", "is_native_float", "operand", "reduce_op", "unary_op"]
