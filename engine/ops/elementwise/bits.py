"""Bitwise ops on integers, logical ops on booleans, elementwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.errors import DTypeError
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes
from engine.shape import Shape, Spec

_WHOLE = np.dtype(np.int64)


def _check_whole(name: str, *values: Any) -> None:
    for value in values:
        dtype = getattr(value, "dtype", _WHOLE)
        dtype = np.dtype(float if isinstance(value, float) else getattr(dtype, "numpy", dtype))
        if dtype.kind not in "biu":
            kind = "float" if isinstance(value, float) else dtype.name
            raise DTypeError(
                f"{name}: bitwise ops need integers or booleans, not {kind}.", in_code="Convert with .long()."
            )


def _shape_rule(name: str) -> Callable[..., Shape]:
    """The shape of a result. Raises DTypeError for floats, so that a graph is refused before it runs."""

    def shape(*specs: Any) -> Shape:
        _check_whole(name, *specs)
        return broadcast_shapes(name, [spec.shape for spec in specs if isinstance(spec, Spec)])

    return shape


def _bits(s: Any) -> Any:
    return [(s.integers(16, 3, 4), s.integers(16, 4)), (s.integers(16), s.integers(16, 2, 1))]


@op(operators=("__and__", "__rand__"), sample=_bits)
def bitwise_and(xp, x, y):
    """Bitwise AND of integers, logical AND of booleans."""
    _check_whole("bitwise_and", x, y)
    return xp.bitwise_and(x, y)


@op(operators=("__or__", "__ror__"), sample=_bits)
def bitwise_or(xp, x, y):
    """Bitwise OR of integers, logical OR of booleans."""
    _check_whole("bitwise_or", x, y)
    return xp.bitwise_or(x, y)


@op(operators=("__xor__", "__rxor__"), sample=_bits)
def bitwise_xor(xp, x, y):
    """Bitwise XOR of integers, logical XOR of booleans."""
    _check_whole("bitwise_xor", x, y)
    return xp.bitwise_xor(x, y)


@op(operators=("__invert__",), sample=lambda s: [(s.integers(16, 3, 4),)])
def bitwise_not(xp, x):
    """Bitwise NOT of integers, logical NOT of booleans."""
    _check_whole("bitwise_not", x)
    return xp.invert(x)


def _shifts(s: Any) -> Any:
    return [(s.integers(16, 3, 4), s.integers(4, 4)), (s.integers(99, 5) - 50, 2)]


@op(operators=("__lshift__", "__rlshift__"), sample=_shifts)
def bitwise_left_shift(xp, x, y):
    """Left shift of integers by y bits, x · 2ʸ."""
    _check_whole("bitwise_left_shift", x, y)
    return xp.left_shift(x, y)


@op(operators=("__rshift__", "__rrshift__"), sample=_shifts)
def bitwise_right_shift(xp, x, y):
    """Right shift of integers by y bits, ⌊x / 2ʸ⌋."""
    _check_whole("bitwise_right_shift", x, y)
    return xp.right_shift(x, y)


for _op in (bitwise_and, bitwise_or, bitwise_xor, bitwise_not, bitwise_left_shift, bitwise_right_shift):
    _op.shape(_shape_rule(_op.name))
