"""The gamma function's logarithm and its derivatives over arrays, which NumPy does not have.

All shift x upwards to where an asymptotic series is exact to the last digits (Abramowitz and Stegun, 6.1.41, 6.3.18,
23.2), and turn negative x around by the reflection formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
"""B₂, B₄, … B₁₄."""
_SHIFT = 9
"""Above this, seven terms of the series are exact to 1e-16."""


def in_double(kernel: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Run a kernel in double precision: its sums cancel digits, and float16 overflows."""

    def run(xp: Any, x: Any) -> Any:
        return xp.asarray(kernel(xp, x.astype(xp.float64))).astype(x.dtype)

    return run


@in_double
def log_gamma(xp: Any, x: Any) -> Any:
    """ln |Γ(x)|, within 1e-14 absolute or relative."""
    up = xp.where(x < 0.5, 1 - x, x)
    product, high = xp.ones_like(x), up
    for _ in range(_SHIFT):
        small = high < _SHIFT
        product = xp.where(small, product * high, product)
        high = xp.where(small, high + 1, high)
    inverse = 1 / (high * high)
    series = _polynomial(inverse, [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1)]) / high
    result = (high - 0.5) * xp.log(high) - high + 0.5 * math.log(2 * math.pi) + series - xp.log(product)
    result = xp.where(x < 0.5, xp.log(math.pi / xp.where(x < 0.5, xp.abs(_sine(xp, x)), 1.0)) - result, result)
    return xp.where(xp.isinf(x) | ((x <= 0) & (x == xp.floor(x))), math.inf, result)


@in_double
def digamma(xp: Any, x: Any) -> Any:
    """Derivative of ln Γ, within 1e-14 absolute or relative."""
    up = xp.where(x < 0.5, 1 - x, x)
    total, high = xp.zeros_like(x), up
    for _ in range(_SHIFT):
        small = high < _SHIFT
        total = xp.where(small, total - 1 / high, total)
        high = xp.where(small, high + 1, high)
    inverse = 1 / (high * high)
    series = inverse * _polynomial(inverse, [b / (2 * k) for k, b in enumerate(BERNOULLI, 1)])
    result = total + xp.log(high) - 0.5 / high - series
    reflected = xp.where(x == xp.floor(x), math.nan, result - math.pi / xp.tan(math.pi * (x - xp.floor(x))))
    result = xp.where(x < 0.5, reflected, result)
    return xp.where(x == 0, -xp.copysign(math.inf, x), result)


def polygamma(xp: Any, x: Any, n: int) -> Any:
    """Derivative of order n + 1 of ln Γ, n ≥ 1: (−1)ⁿ⁺¹ n! ζ(n + 1, x) by the Euler–Maclaurin formula."""

    @in_double
    def run(xp: Any, x: Any) -> Any:
        order = n + 1
        total, high = xp.zeros_like(x), x
        steps = _SHIFT + (min(int(max(0.0, -float(x[xp.isfinite(x)].min()))), 1000) if xp.isfinite(x).any() else 0)
        for _ in range(steps + 1):
            total = total + high ** float(-order)
            high = high + 1
        total = total + high ** float(1 - order) / (order - 1) + 0.5 * high ** float(-order)
        factor = float(order)
        for k, b in enumerate(BERNOULLI, 1):
            total = total + b / math.factorial(2 * k) * factor * high ** float(1 - order - 2 * k)
            factor *= (order + 2 * k - 1) * (order + 2 * k)
        total = xp.where((x <= 0) & (x == xp.floor(x)), math.inf, total)
        return (-1.0) ** order * math.factorial(n) * total

    return run(xp, x)


def _polynomial(x: Any, coefficients: list[float]) -> Any:
    result = 0.0 * x
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def _sine(xp: Any, x: Any) -> Any:
    """sin(πx), exact for integers."""
    return xp.sin(math.pi * (x - 2 * xp.round(x / 2)))
