"""Logical ops and tests for NaN, infinity and sign, elementwise, with boolean results."""

from __future__ import annotations

from engine.dtypes import is_floating
from engine.ops.record import op


@op(result="bool")
def logical_not(xp, x):
    """Logical NOT: True where x is 0."""
    return xp.logical_not(x)


@op(result="bool", sample=lambda s: [(s.repeated(3, 4), s.repeated(4)), (s.booleans(3), s.repeated(2, 3))])
def logical_and(xp, x, y):
    """Logical AND: True where both x and y are nonzero."""
    return xp.logical_and(x, y)


@op(result="bool", sample=lambda s: [(s.repeated(3, 4), s.repeated(4)), (s.booleans(3), s.repeated(2, 3))])
def logical_or(xp, x, y):
    """Logical OR: True where x or y is nonzero."""
    return xp.logical_or(x, y)


@op(result="bool", sample=lambda s: [(s.repeated(3, 4), s.repeated(4)), (s.booleans(3), s.repeated(2, 3))])
def logical_xor(xp, x, y):
    """Logical XOR: True where exactly one of x and y is nonzero."""
    return xp.logical_xor(x, y)


@op(result="bool")
def isnan(xp, x):
    """True where x is NaN."""
    return xp.isnan(x)


@op(result="bool")
def isfinite(xp, x):
    """True where x is neither infinite nor NaN."""
    return xp.isfinite(x)


@op(result="bool")
def isinf(xp, x):
    """True where x is ∞ or −∞."""
    return xp.isinf(x)


@op(result="bool")
def isposinf(xp, x):
    """True where x is ∞."""
    return xp.equal(x, float("inf"))


@op(result="bool")
def isneginf(xp, x):
    """True where x is −∞."""
    return xp.equal(x, float("-inf"))


@op(result="bool")
def isreal(xp, x):
    """True everywhere: all tensors are real."""
    return xp.ones(x.shape, bool)


@op(result="bool")
def signbit(xp, x):
    """True where the sign bit of x is set, also for −0."""
    return xp.signbit(x) if is_floating(x.dtype) else xp.less(x, 0)
