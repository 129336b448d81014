"""Short ways to say what parts an op is taken apart into."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph import Node, Operand, Value
from engine.compiler.instruction import Constant, Scalar
from engine.compiler.passes.split import Parts
from engine.ops.record import Op

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def reduced(parts: Parts, op: Op, x: Value, dims: tuple[int, ...]) -> Value:
    """A reduction that keeps its dimensions."""
    shape = [1 if dim in dims else size for dim, size in enumerate(x.shape)]
    return parts.call(op, [x], shape, {"dim": dims, "keepdim": True})


def joined(parts: Parts, op: Op, a: Operand, b: Operand) -> Value:
    """An elementwise op of two."""
    shape = np.broadcast_shapes(*(one.shape for one in (a, b) if isinstance(one, Value)))
    return parts.call(op, [a, b], shape)


def applied(parts: Parts, op: Op, x: Value) -> Value:
    """An elementwise op of one."""
    return parts.call(op, [x], x.shape)


def fits(node: Node) -> bool:
    """Whether all is in one of the dtypes that eager mode computes in as well."""
    return node.out.dtype in FLOATS and 0 not in node.out.shape


def operand(value: Any) -> Operand:
    """A static argument as an operand."""
    return value if isinstance(value, Scalar) else Constant(value)


__all__ = ["FLOATS", "applied", "fits", "joined", "operand", "reduced"]
