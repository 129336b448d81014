"""Elementwise comparison and logic; the results are booleans."""

from __future__ import annotations

from typing import Any

from engine.ops.record import op


@op(operators=("__eq__",), result="bool")
def eq(xp, x, y):
    """x = y."""
    return xp.equal(x, y)


@op(operators=("__ne__",), result="bool")
def ne(xp, x, y):
    """x ≠ y."""
    return xp.not_equal(x, y)


@op(operators=("__lt__",), result="bool")
def lt(xp, x, y):
    """x < y."""
    return xp.less(x, y)


@op(operators=("__le__",), result="bool")
def le(xp, x, y):
    """x ≤ y."""
    return xp.less_equal(x, y)


@op(operators=("__gt__",), result="bool")
def gt(xp, x, y):
    """x > y."""
    return xp.greater(x, y)


@op(operators=("__ge__",), result="bool")
def ge(xp, x, y):
    """x ≥ y."""
    return xp.greater_equal(x, y)


@op(result="bool")
def logical_not(xp, x):
    """True where x is 0."""
    return xp.logical_not(x)


@op(result="bool")
def logical_and(xp, x, y):
    """True where neither is 0."""
    return xp.logical_and(x, y)


@op(result="bool")
def logical_or(xp, x, y):
    """True where one is not 0."""
    return xp.logical_or(x, y)


@op(result="bool")
def isnan(xp, x):
    """True where x is not a number."""
    return xp.isnan(x)


@op(result="bool")
def isfinite(xp, x):
    """True where x is neither infinite nor NaN."""
    return xp.isfinite(x)


# -- bits: of booleans, their logic -----------------------------------------------------------


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
