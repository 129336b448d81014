"""Bessel and Airy functions of arrays, which NumPy does not have.

Those of the first and second kind are integrals of periodic functions up to 25, where means over nodes are exact to
the last digits (Abramowitz and Stegun, 9.1.18; the logarithm in the second kind's after Kussmaul and Martensen), and
Hankel's series beyond (9.2.5). Modified ones are integrals that the trapezoidal rule is exact for (9.6.24).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from engine.ops.elementwise.gamma import in_double

_NEAR = 25.0
"""Above this, 20 terms of Hankel's series are exact to 1e-16."""
_NODES = 64
_EULER = 0.57721566490153286061


def first_kind(xp: Any, x: Any, order: int) -> Any:
    """J₀ or J₁."""

    @in_double
    def run(xp: Any, x: Any) -> Any:
        a = xp.abs(x)
        result = xp.where(a <= _NEAR, _first(xp, xp.minimum(a, _NEAR), order), _hankel(xp, a, order)[0])
        return xp.copysign(1.0, x) * result if order else result

    return run(xp, x)


def second_kind(xp: Any, x: Any, order: int) -> Any:
    """Y₀ or Y₁; −∞ at 0, NaN for negative numbers."""

    @in_double
    def run(xp: Any, x: Any) -> Any:
        near = xp.where((x > 0) & (x <= _NEAR), x, 1.0)
        result = xp.where(x <= _NEAR, _second(xp, near, order), _hankel(xp, xp.maximum(x, _NEAR), order)[1])
        return xp.where(x > 0, result, xp.where(x == 0, -math.inf, math.nan))

    return run(xp, x)


def _first(xp: Any, x: Any, order: int) -> Any:
    """Poisson's integral: the mean of cos(x cos t), or of cos(x cos t) sin² t for x⁻¹ J₁."""
    total = 0.0 * x
    for k in range(_NODES):
        t = math.pi / 2 * (k + 0.5) / _NODES
        total = total + xp.cos(x * math.cos(t)) * (math.sin(t) ** 2 if order else 1.0)
    return total / _NODES * (x if order else 1.0)


def _second(xp: Any, x: Any, order: int) -> Any:
    total = 0.0 * x
    for t, weight in _logarithmic_nodes():
        at = math.cos(t)
        total = total + weight * (xp.sin(x * at) * at if order else xp.cos(x * at))
    logarithm = (_EULER + xp.log(x / 2)) * _first(xp, x, order)
    result = 2 / math.pi * logarithm + total / math.pi**2
    return result - 2 / math.pi * _first(xp, x, 0) / x if order else result


@functools.cache
def _logarithmic_nodes() -> list[tuple[float, float]]:
    """Nodes t from 0 to π/2 and weights for the integral over t of a function with period π times 4 ln(4 sin² t)."""
    n, result = _NODES, []
    for j in range(n + 1):
        angle = math.pi * j / n
        weight = -2 * math.pi / n * math.fsum(math.cos(m * angle) / m for m in range(1, n))
        weight -= math.pi / n**2 * math.cos(n * angle)
        result.append((angle / 2, weight * (1 if j in (0, n) else 2)))
    return result


def _hankel(xp: Any, x: Any, order: int) -> tuple[Any, Any]:
    """J and Y of large arguments, by Hankel's series."""
    even, odd, term = 1.0, 0.0, 1.0
    for k in range(1, 21):
        term = term * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * x)
        sign = (-1) ** (k // 2)
        even, odd = (even, odd + sign * term) if k % 2 else (even + sign * term, odd)
    sine, cosine = xp.sin(x), xp.cos(x)
    rotated, other = (sine - cosine, -(sine + cosine)) if order else (sine + cosine, sine - cosine)
    size = 1 / xp.sqrt(math.pi * x)
    return size * (even * rotated - odd * other), size * (even * other + odd * rotated)


# -- modified ---------------------------------------------------------------------------------


@in_double
def scaled_i0(xp: Any, x: Any) -> Any:
    """e^(−|x|) I₀(x)."""
    return _scaled_first(xp, xp.abs(x), 0)


@in_double
def scaled_i1(xp: Any, x: Any) -> Any:
    """e^(−|x|) I₁(x)."""
    return xp.copysign(1.0, x) * _scaled_first(xp, xp.abs(x), 1)


def _scaled_first(xp: Any, x: Any, order: int) -> Any:
    near, far, term, series = xp.minimum(x, 50.0), xp.maximum(x, 50.0), 1.0, 1.0
    total = 0.0 * near
    for k in range(_NODES):
        at = math.cos(math.pi / 2 * (k + 0.5) / _NODES)
        if order:  # the mean of sinh(x t) t
            total = total - xp.exp(near * (at - 1)) * xp.expm1(-2 * at * near) * (at / 2)
        else:
            total = total + (xp.exp(near * (at - 1)) + xp.exp(-near * (at + 1))) / 2
    for k in range(1, 19):
        term = -term * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * far)
        series = series + term
    return xp.where(x <= 50.0, total / _NODES, series / xp.sqrt(2 * math.pi * far))


def scaled_k(xp: Any, x: Any, order: float) -> Any:
    """eˣ K₀(x) or eˣ K₁(x); ∞ at 0, NaN for negative numbers."""

    @in_double
    def run(xp: Any, x: Any) -> Any:
        result = _scaled_second(xp, xp.where((x > 0) & (x < math.inf), x, 1.0), order)
        return xp.where(x > 0, xp.where(x < math.inf, result, 0.0), xp.where(x == 0, math.inf, math.nan))

    return run(xp, x)


def _scaled_second(xp: Any, x: Any, order: float) -> Any:
    """∫ e^(x − x cosh t) cosh(order · t) dt over t > 0; the step size depends on x."""
    safe = xp.maximum(x, 1e-9)
    step = xp.minimum(0.25, 0.7 / xp.sqrt(safe))
    total = 0.5 + 0.0 * safe
    for k in range(1, 110):
        t = k * step
        half = xp.sinh(xp.minimum(t, 700.0) / 2)
        weight = xp.exp(-2 * safe * half * half)
        total = total + (weight * xp.cosh(order * t) if order else weight)
    if order not in (0, 1):
        return total * step
    tiny = 1 / xp.maximum(x, 1e-320) if order else -xp.log(xp.maximum(x, 1e-320) / 2) - _EULER
    return xp.where(x < 1e-9, xp.exp(xp.minimum(x, 1.0)) * tiny, total * step)


# -- spherical and Airy ----------------------------------------------------------------------


@in_double
def spherical(xp: Any, x: Any) -> Any:
    """sin x / x, and 0 at infinity."""
    finite = xp.where(xp.isinf(x) | (x == 0), 1.0, x)
    return xp.where(xp.isinf(x), 0.0, xp.where(x == 0, 1.0, xp.sin(finite) / finite))


@in_double
def airy(xp: Any, x: Any) -> Any:
    """Ai(x) from Bessel functions of order ⅓ (Abramowitz and Stegun, 10.4.2, 10.4.14, 10.4.15, 10.4.60)."""
    a = xp.maximum(xp.abs(x), 1.0)
    z = 2 / 3 * a * xp.sqrt(a)
    falling = xp.exp(-z) * xp.sqrt(a / 3) / math.pi * _scaled_second(xp, z, 1 / 3)
    near = xp.minimum(z, 20.0)
    waves = xp.sqrt(a) / 3 * (_of_fraction(xp, near, 1 / 3) + _of_fraction(xp, near, -1 / 3))
    far = _airy_series(xp, xp.maximum(a, 9.0), xp.maximum(z, 18.0))
    result = xp.where(x > 0, falling, xp.where(z <= 20.0, waves, far))
    result = xp.where(xp.abs(x) <= 1, _airy_at_zero(xp.clip(x, -1.0, 1.0)), result)
    return xp.where(xp.isinf(x), math.nan, xp.where(xp.isnan(x), x, result))


def _of_fraction(xp: Any, z: Any, order: float) -> Any:
    """J of fractional order for x up to 20: Poisson's integral by Gauss–Jacobi quadrature."""
    total = 0.0 * z
    for at, weight in _gegenbauer_nodes(order):
        total = total + weight * xp.cos(z * at)
    return total * (z / 2) ** order / (math.sqrt(math.pi) * math.gamma(order + 0.5))


@functools.cache
def _gegenbauer_nodes(order: float) -> list[tuple[float, float]]:
    """Nodes and weights for ∫ (1 − t²)^(order − ½) f(t) dt from −1 to 1 of even f (Golub and Welsch, 1969)."""
    n = 48
    k = np.arange(1, n)
    squares = k * (k + 2 * order - 1) / (4 * (k + order) * (k + order - 1))
    values, vectors = np.linalg.eigh(np.diag(np.sqrt(squares), 1) + np.diag(np.sqrt(squares), -1))
    scale = math.sqrt(math.pi) * math.gamma(order + 0.5) / math.gamma(order + 1)
    weights = scale * vectors[0] ** 2
    return [(float(t), float(2 * w)) for t, w in zip(values, weights, strict=True) if t > 0]


def _airy_at_zero(x: Any) -> Any:
    first, second = 1.0, x
    even, odd = first, second
    for k in range(1, 9):
        first = first * x**3 / ((3 * k - 1) * (3 * k))
        second = second * x**3 / ((3 * k) * (3 * k + 1))
        even, odd = even + first, odd + second
    return 0.355028053887817239260 * even - 0.258819403792806798405 * odd


def _airy_series(xp: Any, a: Any, z: Any) -> Any:
    even, odd, term = 1.0, 0.0, 1.0
    for k in range(1, 21):
        term = term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1) * z)
        sign = (-1) ** (k // 2)
        even, odd = (even, odd + sign * term) if k % 2 else (even + sign * term, odd)
    angle = z + math.pi / 4
    return (xp.sin(angle) * even - xp.cos(angle) * odd) / (math.sqrt(math.pi) * xp.sqrt(xp.sqrt(a)))
