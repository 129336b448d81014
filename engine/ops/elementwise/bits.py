"""Bits of whole numbers, elementwise; of booleans, their logic."""

from __future__ import annotations

from typing import Any

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


def _shifts(s: Any) -> Any:
    return [(s.integers(16, 3, 4), s.integers(4, 4)), (s.integers(99, 5) - 50, 2)]


@op(operators=("__lshift__", "__rlshift__"), sample=_shifts)
def bitwise_left_shift(xp, x, y):
    """x · 2ʸ, of whole numbers."""
    return xp.left_shift(x, y)


@op(operators=("__rshift__", "__rrshift__"), sample=_shifts)
def bitwise_right_shift(xp, x, y):
    """⌊x / 2ʸ⌋, of whole numbers."""
    return xp.right_shift(x, y)
