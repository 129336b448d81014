"""Bits of whole numbers, elementwise; of booleans, their logic."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.errors import DTypeError
from engine.ops.record import op


def _bits(s: Any) -> Any:
    return [(s.integers(16, 3, 4), s.integers(16, 4)), (s.integers(16), s.integers(16, 2, 1))]


@op(operators=("__and__", "__rand__"), sample=_bits)
def bitwise_and(xp, x, y):
    """Bits that both have; of booleans, whether both hold. Whole numbers only."""
    return xp.bitwise_and(x, y)


@op(operators=("__or__", "__ror__"), sample=_bits)
def bitwise_or(xp, x, y):
    """Bits that one has; of booleans, whether one holds. Whole numbers only."""
    return xp.bitwise_or(x, y)


@op(operators=("__xor__", "__rxor__"), sample=_bits)
def bitwise_xor(xp, x, y):
    """Bits that just one has; of booleans, whether just one holds. Whole numbers only."""
    return xp.bitwise_xor(x, y)


@op(operators=("__invert__",), sample=lambda s: [(s.integers(16, 3, 4),)])
def bitwise_not(xp, x):
    """All bits turned around; of booleans, the opposite. Whole numbers only."""
    return xp.invert(x)


def _check_whole(name: str, *values: Any) -> None:
    for value in values:
        if isinstance(value, float) or getattr(value, "dtype", _WHOLE).kind == "f":
            kind = getattr(value, "dtype", "a number with a fraction")
            raise DTypeError(
                f"{name}: bits are those of whole numbers, not of {kind}.", in_code="Convert with .long()."
            )


_WHOLE = np.dtype(np.int64)


def _shifts(s: Any) -> Any:
    return [(s.integers(16, 3, 4), s.integers(4, 4)), (s.integers(99, 5) - 50, 2)]


@op(operators=("__lshift__", "__rlshift__"), sample=_shifts)
def bitwise_left_shift(xp, x, y):
    """x · 2ʸ, of whole numbers."""
    _check_whole("bitwise_left_shift", x, y)
    return xp.left_shift(x, y)


@op(operators=("__rshift__", "__rrshift__"), sample=_shifts)
def bitwise_right_shift(xp, x, y):
    """⌊x / 2ʸ⌋, of whole numbers."""
    _check_whole("bitwise_right_shift", x, y)
    return xp.right_shift(x, y)
