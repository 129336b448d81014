"""Special functions, elementwise: error, log-gamma and Bessel functions, logit, xlogy."""

from __future__ import annotations

import math
from typing import Any

from engine.ops.composite import composite
from engine.ops.elementwise import gamma, quantile_normal
from engine.ops.elementwise.erf import error_function
from engine.ops.elementwise.selection import where
from engine.ops.elementwise.transcendental import exp, log
from engine.ops.record import op

_SLOPE = 2 / math.sqrt(math.pi)


@op(floats=True)
def erf(xp, x):
    """The error function, 2/√π ∫₀ˣ e^(−t²) dt.

    W. J. Cody, "Rational Chebyshev approximations for the error function", 1969.
    """
    return error_function(xp, x)


@erf.gradient
def _(g, x):
    return g * exp(-x * x) * _SLOPE


@op(floats=True)
def erfc(xp, x):
    """Complementary error function 1 − erf(x), exact for large x."""
    return error_function(xp, x, complement=True)


@erfc.gradient
def _(g, x):
    return g * exp(-x * x) * -_SLOPE


@op(floats=True, domain=(-0.95, 0.95))
def erfinv(xp, x):
    """Inverse error function.

    M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", 1988; within 1e-15.
    """
    return quantile_normal.inverse_error_function(xp, x)


@erfinv.gradient
def _(g, out):
    return g * exp(out * out) / _SLOPE


@op(floats=True, domain=(0.1, 5.0))
def lgamma(xp, x):
    """Natural logarithm of the absolute value of the gamma function."""
    return gamma.log_gamma(xp, x)


@lgamma.gradient
def _(g, x):
    return g * digamma(x)


@op(floats=True, domain=(0.1, 5.0))
def digamma(xp, x):
    """Digamma function: the derivative of ln Γ(x)."""
    return gamma.digamma(xp, x)


@digamma.gradient
def _(g, x):
    return g * polygamma_op(x, n=1)


@op(floats=True, method=False, domain=(0.1, 5.0), sample=lambda s: [
    (case[0], {"n": n}) for n in (1, 2, 3) for case in s.unary(0.3, 4.0)[:2]
])  # fmt: skip
def polygamma_op(xp, x, n: int):
    """n-th derivative of digamma, n ≥ 1."""
    return gamma.polygamma(xp, x, n)


@polygamma_op.gradient
def _(g, x, n):
    return g * polygamma_op(x, n=n + 1)


@composite(in_place=True, sample=lambda s: [((n, s.uniform(0.3, 4.0, 3, 4)), {}) for n in (0, 1, 2, 3)])
def polygamma(n: Any, x: Any) -> Any:
    """Polygamma function: the n-th derivative of digamma. As a method: x.polygamma(n)."""
    if hasattr(n, "dtype"):
        n, x = x, n
    if n < 0:
        raise ValueError(f"polygamma(): n must be 0 or more, not {n}")
    return digamma(x) if n == 0 else polygamma_op(x, n=n)


@composite(sample=lambda s: [((s.uniform(2.0, 4.0, 3, 4), p), {}) for p in (1, 3)], in_place=True)
def mvlgamma(x: Any, p: int) -> Any:
    """Natural logarithm of the multivariate gamma function of dimension p."""
    total = lgamma(x)
    for i in range(1, p):
        total = total + lgamma(x - i / 2)
    return total + p * (p - 1) / 4 * math.log(math.pi)


@op(floats=True, sample=lambda s: [*s.unary(), ((s.uniform(-8, 8, 7),), {})])
def i0(xp, x):
    """Modified Bessel function of the first kind of order 0."""
    return _bessel(xp, x, 0)


@i0.gradient
def _(g, x):
    return g * i1_op(x)


@op(floats=True, method=False)
def i1_op(xp, x):
    """Modified Bessel function of the first kind of order 1."""
    return _bessel(xp, x, 1)


@i1_op.gradient
def _(g, x, out):
    safe = where(x == 0, 1.0, x)
    return g * where(x == 0, 0.5, i0(x) - out / safe)


_NODES = 64


def _bessel(xp: Any, x: Any, order: int) -> Any:
    """2/π ∫ cosh(x cos t) or sinh(x cos t) cos t dt from 0 to π/2, as a mean over nodes.

    For a periodic function this mean is exact to 1e-15, until double precision overflows.
    """
    wide = x.astype(xp.float64)
    total = 0.0 * wide
    for k in range(_NODES):
        at = math.cos(math.pi / 2 * (k + 0.5) / _NODES)
        total = total + (xp.cosh(wide * at) if order == 0 else xp.sinh(wide * at) * at)
    return (total / _NODES).astype(x.dtype)


@composite(sample=lambda s: [((s.uniform(0.1, 0.9, 3, 4),), {}), ((s.uniform(-0.2, 1.2, 7),), {"eps": 0.1})],
           in_place=True)  # fmt: skip
def logit(x: Any, eps: float | None = None) -> Any:
    """Logit, ln(x / (1 − x)); x is clamped to [eps, 1 − eps] if eps is given."""
    if eps is not None:
        x = x.clamp(eps, 1 - eps)
    return log(x / (1.0 - x))


@op(floats=True, sample=lambda s: [
    ((s.uniform(0.2, 3.0, 3, 4), s.uniform(0.2, 3.0, 4)), {}), ((s.uniform(0.2, 3.0, 3), 2.0), {}),
])  # fmt: skip
def xlogy(xp, x, y):
    """x · ln(y), or 0 where x is 0."""
    return xp.where((x == 0) & ~xp.isnan(y), 0, x * xp.log(y)).astype((x if hasattr(x, "dtype") else y).dtype)


@xlogy.gradient("x")
def _(g, x, y):
    logarithm = log(y) if hasattr(y, "dtype") else math.log(y)
    return where((x == 0) & (y <= 0), 0.0, g * logarithm)


@xlogy.gradient("y")
def _(g, x, y):
    return g * x / y
