"""The error function and its complement for arrays, which NumPy does not have."""

from __future__ import annotations

import math
from typing import Any


def error_function(xp: Any, x: Any, complement: bool = False) -> Any:
    """2/√π ∫₀ˣ e^(−t²) dt, or 1 minus that, by Cody's three intervals.

    Up to ½ it is x·P(x²)/Q(x²), up to 4 and beyond 1 − e^(−x²)·R(x).
    """
    if x.dtype.itemsize < 4:  # the polynomials overflow in float16
        return error_function(xp, x.astype(xp.float32), complement).astype(x.dtype)
    if x.dtype.itemsize == 4 and not complement:
        return _single(xp, x)
    a = xp.abs(x)
    near = x * _ratio(x * x, _ERF_P, _ERF_Q)
    middle = xp.minimum(a, 4.0)
    # Above 27 the complement is 0 in double precision.
    beyond = xp.minimum(xp.maximum(a, 4.0), 27.5)
    inverse = 1.0 / (beyond * beyond)
    last = xp.exp(-beyond * beyond) / beyond * (1 / math.sqrt(math.pi) - inverse * _ratio(inverse, _ERFC_R, _ERFC_S))
    tail = xp.where(a > 4.0, last, xp.exp(-middle * middle) * _ratio(middle, _ERFC_P, _ERFC_Q))
    if complement:
        far, near = xp.where(x > 0, tail, 2.0 - tail), 1.0 - near
    else:
        far = xp.copysign(1.0 - tail, x)
    return xp.where(xp.isnan(x), x, xp.where(a <= 0.46875, near, far)).astype(x.dtype, copy=False)


def scaled_complement(xp: Any, x: Any) -> Any:
    """e^(x²) (1 − erf x), which does not vanish for large x."""
    if x.dtype.itemsize < 8:
        return scaled_complement(xp, x.astype(xp.float64)).astype(x.dtype)
    a = xp.abs(x)
    near = xp.minimum(a, 0.46875)
    middle, beyond = xp.clip(a, 0.46875, 4.0), xp.maximum(a, 4.0)
    inverse = 1.0 / (beyond * beyond)
    result = (1 / math.sqrt(math.pi) - inverse * _ratio(inverse, _ERFC_R, _ERFC_S)) / beyond
    result = xp.where(a <= 4.0, _ratio(middle, _ERFC_P, _ERFC_Q), result)
    result = xp.where(a <= 0.46875, xp.exp(near * near) * (1 - near * _ratio(near * near, _ERF_P, _ERF_Q)), result)
    return xp.where(xp.isnan(x), x, xp.where(x >= 0, result, 2 * xp.exp(x * x) - result))


def _single(xp: Any, x: Any) -> Any:
    """In single precision: one rational function, within 8 units in the last place (Eigen's coefficients)."""
    limited = xp.clip(x, -4.0, 4.0)
    return limited * _ratio(limited * limited, _SINGLE_P, _SINGLE_Q)


def _ratio(x: Any, numerator: tuple[float, ...], denominator: tuple[float, ...]) -> Any:
    return _polynomial(x, numerator) / _polynomial(x, denominator)


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    total = x * coefficients[0]
    total += coefficients[1]
    for coefficient in coefficients[2:]:
        total *= x
        total += coefficient
    return total


_SINGLE_P = (
    -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
    -2.95459980854025e-03, -1.60960333262415e-02,
)  # fmt: skip
_SINGLE_Q = (
    -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02,
)  # fmt: skip


_ERF_P = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_ERF_Q = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_ERFC_P = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1, 2.98635138197400131e2,
    8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
)  # fmt: skip
_ERFC_Q = (
    1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
    3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
)  # fmt: skip
_ERFC_R = (
    1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
    1.60837851487422766e-2, 6.58749161529837803e-4,
)  # fmt: skip
_ERFC_S = (
    1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
    2.33520497626869185e-3,
)  # fmt: skip
