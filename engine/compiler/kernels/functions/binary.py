"""Functions of two numbers with NumPy's treatment of NaN, zeros and signs."""

from __future__ import annotations

import math
from typing import Any

from numba import float32, float64, njit

from engine.compiler.kernels.functions.exponential import exp32, exp64, inlined
from engine.compiler.kernels.functions.llvm_instructions import copysign, fabs, floor, fmod, like
from engine.compiler.kernels.functions.logarithm import log1p32, log1p64, log64

exact: Any = njit(nogil=True, error_model="numpy", inline="never")
"""Operations are rounded as in NumPy."""


@exact
def maximum(x, y):
    """NaN if either is."""
    return x if x >= y or x != x else y


@exact
def minimum(x, y):
    return x if x <= y or x != x else y


@exact
def fmax(x, y):
    """If one argument is NaN, the other one."""
    return x if x >= y or y != y else y


@exact
def fmin(x, y):
    return x if x <= y or y != y else y


@exact
def remainder(x, y):
    """The remainder with the sign of y."""
    rest = fmod(x, y)
    if rest == 0:
        return copysign(rest, y)
    return rest + y if (y < 0) != (rest < 0) else rest


@exact
def floor_divide(x, y):
    """Floor division as in NumPy, by the remainder, so that rounding does not change an integer quotient."""
    if y == 0:
        return x / y
    rest = fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0 and (y < 0) != (rest < 0):
        quotient = quotient - like(x, 1)
    if quotient == 0:
        return copysign(quotient, x / y)
    whole = floor(quotient)
    return whole + like(x, 1) if quotient - whole > 0.5 else whole


@inlined
def logaddexp32(x, y):
    large, small = maximum(x, y), minimum(x, y)
    found = large + log1p32(exp32(small - large))
    return x + float32(0.6931471805599453) if x == y else found


@inlined
def logaddexp64(x, y):
    large, small = maximum(x, y), minimum(x, y)
    found = large + log1p64(exp64(small - large))
    return x + 0.6931471805599453 if x == y else found


@inlined
def power32(x, y):
    """By logarithm and exponential in double precision, with an error of half a unit in the last place."""
    a, b = float64(x), float64(y)
    found = exp64(b * log64(fabs(a)))
    half = b * 0.5
    whole = floor(b) == b
    odd = whole and floor(half) != half
    found = math.nan if a < 0.0 and not whole and a != -math.inf else found
    found = copysign(found, a) if odd else found
    found = 1.0 if a == 1.0 or b == 0.0 or (a == -1.0 and fabs(b) == math.inf) else found
    return float32(found)


@exact
def power64(x, y):
    return x * x if y == 2.0 else x**y


@exact
def compensated(total, lost, x):
    """Compensated addition (Neumaier): the sum and the rounding error; that of an infinite sum is 0."""
    found = total + x
    larger = fabs(total) >= fabs(x)
    rest = (total - found) + x if larger else (x - found) + total
    return found, lost + (rest if rest == rest else 0.0)
