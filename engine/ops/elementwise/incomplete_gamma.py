"""The incomplete gamma functions and the Hurwitz zeta function for arrays, which NumPy does not have."""

from __future__ import annotations

import math
from typing import Any

from engine.ops.elementwise.gamma import BERNOULLI, log_gamma

_STEPS = 100_000
"""Maximum number of terms; the series needs a few times the square root of its larger argument."""
_ROUNDING = 2.0**-51
"""The last factors of a continued fraction can alternate around 1 by this much for ever."""


def lower(xp: Any, a: Any, x: Any) -> Any:
    """P(a, x), the share of Γ(a) below x, by its series, or as 1 minus the continued fraction of Q(a, x).

    Numerical Recipes, 6.2.
    """
    return _shares(xp, a, x)[0]


def upper(xp: Any, a: Any, x: Any) -> Any:
    """Q(a, x) = 1 − P(a, x), exact where it is small."""
    return _shares(xp, a, x)[1]


def _shares(xp: Any, a: Any, x: Any) -> tuple[Any, Any]:
    dtype = (a if hasattr(a, "dtype") else x).dtype
    a, x = xp.broadcast_arrays(xp.asarray(a, xp.float64), xp.asarray(x, xp.float64))
    is_regular = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    safe_a, safe_x = xp.where(is_regular, a, 1.0), xp.where(is_regular, x, 1.0)
    size = xp.exp(safe_a * xp.log(safe_x) - safe_x - log_gamma(xp, safe_a + 1))
    small = safe_x < safe_a + 1
    below = size * _series(xp, xp.where(small, safe_a, 1.0), xp.where(small, safe_x, 1.0))
    above = size * safe_a * _fraction(xp, xp.where(small, 1.0, safe_a), xp.where(small, 3.0, safe_x))
    below, above = xp.where(small, below, 1 - above), xp.where(small, 1 - below, above)
    undefined = (x < 0) | (a < 0) | ((a == 0) & (x == 0)) | xp.isnan(a) | xp.isnan(x) | (xp.isinf(a) & xp.isinf(x))
    at_limit = (a == 0) | xp.isinf(x)
    below = xp.where(is_regular, below, xp.where(undefined, math.nan, xp.where(at_limit, 1.0, 0.0)))
    above = xp.where(is_regular, above, xp.where(undefined, math.nan, xp.where(at_limit, 0.0, 1.0)))
    return below.astype(dtype), above.astype(dtype)


def _series(xp: Any, a: Any, x: Any) -> Any:
    term = total = xp.ones_like(a)
    for k in range(1, _STEPS):
        term = term * x / (a + k)
        total = total + term
        if k % 16 == 0 and bool((term <= total * 1e-17).all()):
            break
    return total


def _fraction(xp: Any, a: Any, x: Any) -> Any:
    """Evaluate the continued fraction by Lentz's method."""
    b = x + 1 - a
    c, d = xp.full_like(b, 1e300), 1 / b
    result = d
    for k in range(1, _STEPS):
        step = -k * (k - a)
        b = b + 2
        d, c = step * d + b, b + step / c
        d, c = 1 / xp.where(d == 0, 1e-300, d), xp.where(c == 0, 1e-300, c)
        result = result * (d * c)
        if k % 16 == 0 and bool((xp.abs(d * c - 1) <= _ROUNDING).all()):
            break
    return result


_SHIFT = 12
"""Above this, seven terms of the Euler–Maclaurin formula are exact to the last digits."""


def zeta(xp: Any, s: Any, q: Any) -> Any:
    """Σ (q + k)⁻ˢ over k ≥ 0, by the Euler–Maclaurin formula. NaN for s < 1, ∞ at poles, as in Cephes."""
    dtype = (s if hasattr(s, "dtype") else q).dtype
    s, q = xp.broadcast_arrays(xp.asarray(s, xp.float64), xp.asarray(q, xp.float64))
    is_integer = s == xp.floor(s)
    defined = (s > 1) & ((q > 0) | (is_integer & (q != xp.floor(q))))
    safe_s, high = xp.where(defined, s, 2.0), xp.where(defined, q, 1.0)
    total = xp.zeros_like(high)
    lowest = float(high.min()) if high.size else 0.0
    for _ in range(_SHIFT + min(max(0, math.ceil(-lowest)) if math.isfinite(lowest) else 0, _STEPS)):
        total = total + high**-safe_s
        high = high + 1
    total = total + high ** (1 - safe_s) / (safe_s - 1) + 0.5 * high**-safe_s
    factor = safe_s
    for k, b in enumerate(BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * factor * high ** (1 - safe_s - 2 * k)
        factor = factor * (safe_s + 2 * k - 1) * (safe_s + 2 * k)
    pole = (s == 1) | ((s > 1) & (q <= 0) & (q == xp.floor(q)))
    return xp.where(defined, total, xp.where(pole, math.inf, math.nan)).astype(dtype)
