"""Powers, roots, exponentials and logarithms, elementwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.dtypes import float64, int32
from engine.errors import DTypeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.record import op
from engine.shape import Spec


@op(operators=("__pow__", "__rpow__"), rejects_booleans=True, domain=(0.5, 2.0))
def pow(xp, x, exponent, out=None):
    """x to the power of an exponent. For integers with a negative exponent, 1 / xⁿ truncated."""
    if not isinstance(exponent, int) and getattr(x, "dtype", _INTEGER).kind in "iu" and exponent.dtype.kind in "iu":
        below = exponent < 0
        if below.any():
            return _with_negative_powers(xp, x, exponent, below, out)
    try:
        return xp.power(x, exponent, out=out)
    except ValueError as error:
        if "negative" in str(error):
            raise DTypeError(
                "pow(): integers cannot be raised to negative integer powers.", in_code="Convert with .float()."
            ) from None
        raise


_INTEGER = np.dtype(np.int64)


def _with_negative_powers(xp: Any, x: Any, exponent: Any, below: Any, out: Any) -> Any:
    result = xp.power(x, xp.where(below, 0, exponent))
    odd = xp.where(xp.bitwise_and(exponent, 1) == 1, -1, 1)
    rounded = xp.where(xp.equal(x, 1), 1, xp.where(xp.equal(x, -1), odd, 0)).astype(result.dtype)
    if out is None:
        return xp.where(below, rounded, result)
    out[...] = xp.where(below, rounded, result)
    return out


@pow.gradient("x")
def _(g, x, exponent):
    # n·x^(n−1) would be 0·∞ for n = 0; the derivative is 0.
    n = exponent
    if isinstance(n, (int, float)):
        return g * (n * x ** (n - 1)) if n else g.new_zeros(g.shape)
    return g * where(n == 0, 0.0, n * x ** (n - 1))


@pow.gradient("exponent")
def _(g, out, x):
    logarithm = math.log(x) if isinstance(x, (int, float)) else log(where(x == 0, 1.0, x))
    return g * out * logarithm


@composite(sample=lambda s: [((s.uniform(0.5, 2.0, 3, 4), s.normal(4)), {}), ((s.uniform(0.5, 2.0, 3), 2), {})],
           in_place=True)  # fmt: skip
def float_power(x: Any, exponent: Any) -> Any:
    """x to the power of an exponent in double precision."""
    doubles = [value.to(float64) if hasattr(value, "dtype") else float(value) for value in (x, exponent)]
    return pow(*doubles)


@op(floats=True)
def exp(xp, x, out=None):
    """Exponential, eˣ."""
    return xp.exp(x, out=out)


@exp.gradient
def _(g, out):
    return g * out


@op(floats=True)
def exp2(xp, x, out=None):
    """Exponential to base 2, 2ˣ."""
    return xp.exp2(x, out=out)


@exp2.gradient
def _(g, out):
    return g * out * math.log(2)


@op(floats=True)
def expm1(xp, x, out=None):
    """eˣ − 1, exact near 0."""
    return xp.expm1(x, out=out)


@expm1.gradient
def _(g, out):
    return g * (out + 1)


@op(floats=True, domain=(0.2, 3.0))
def log(xp, x, out=None):
    """Natural logarithm."""
    return xp.log(x, out=out)


@log.gradient
def _(g, x):
    return g / x


@op(floats=True, domain=(0.2, 3.0))
def log2(xp, x, out=None):
    """Logarithm to base 2."""
    return xp.log2(x, out=out)


@log2.gradient
def _(g, x):
    return g / (x * math.log(2))


@op(floats=True, domain=(0.2, 3.0))
def log10(xp, x, out=None):
    """Logarithm to base 10."""
    return xp.log10(x, out=out)


@log10.gradient
def _(g, x):
    return g / (x * math.log(10))


@op(floats=True, domain=(0.2, 3.0))
def log1p(xp, x, out=None):
    """ln(1 + x), exact near 0."""
    return xp.log1p(x, out=out)


@log1p.gradient
def _(g, x):
    return g / (x + 1)


@op(floats=True, sample=lambda s: s.binary(numbers=False))
def logaddexp(xp, x, y):
    """ln(eˣ + eʸ), without overflow."""
    return xp.logaddexp(x, y)


@logaddexp.gradient("x")
def _(g, x, y):
    return g / (exp(y - x) + 1)


@logaddexp.gradient("y")
def _(g, x, y):
    return g / (exp(x - y) + 1)


@op(floats=True, sample=lambda s: s.binary(numbers=False))
def logaddexp2(xp, x, y):
    """log₂(2ˣ + 2ʸ), without overflow."""
    return xp.logaddexp2(x, y)


@logaddexp2.gradient("x")
def _(g, x, y):
    return g / (exp2(y - x) + 1)


@logaddexp2.gradient("y")
def _(g, x, y):
    return g / (exp2(x - y) + 1)


@op(floats=True, domain=(0.2, 3.0))
def sqrt(xp, x, out=None):
    """Square root."""
    return xp.sqrt(x, out=out)


@sqrt.gradient
def _(g, out):
    return g / (out * 2)


@op(floats=True, domain=(0.2, 3.0))
def rsqrt(xp, x):
    """Reciprocal of the square root, 1 / √x."""
    return 1 / xp.sqrt(x)


@rsqrt.gradient
def _(g, out):
    return g * out * out * out * -0.5


@op(floats=True, sample=lambda s: s.binary(numbers=False))
def hypot(xp, x, y):
    """Hypotenuse √(x² + y²), without overflow."""
    return xp.hypot(x, y)


@hypot.gradient("x")
def _(g, out, x):
    return g * (x / out)


@hypot.gradient("y")
def _(g, out, y):
    return g * (y / out)


@composite(sample=lambda s: [((s.normal(3, 4), s.integers(5, 4)), {}), ((s.normal(3), s.normal(3)), {})], in_place=True)
def ldexp(x: Any, other: Any) -> Any:
    """x · 2^other."""
    return x * pow(2.0, other.to(x.dtype) if x.is_floating_point() else other)


def _wide(s: Any) -> Any:
    return [((s.normal(3, 4) * s.dtype(9),), {}), ((s.normal(0),), {})]


@composite(result="Any", sample=_wide)
def frexp(x: Any) -> Any:
    """Decompose x into a mantissa in [½, 1) and an exponent of 2."""
    return return_types.frexp(*frexp_op(x))


@op("other", floats=True, method=False, outputs=2, sample=_wide)
def frexp_op(xp, x):
    """Decompose x into a mantissa in [½, 1) and an exponent of 2."""
    mantissa, exponent = xp.frexp(x)
    return mantissa, exponent.astype(xp.int32)


@frexp_op.shape
def _(x: Spec):
    return x, Spec(x.shape, int32)


@frexp_op.gradient
def _(g, out1):
    return None if g[0] is None else g[0] / pow(2.0, out1.to(g[0].dtype))


@op(floats=True, sample=lambda s: s.binary(numbers=False))
def nextafter(xp, x, y):
    """Next representable floating-point number after x toward y."""
    return xp.nextafter(x, y)


@nextafter.gradient("x")
def _(g, x, y):
    return where(x == y, 0.0, g)


@nextafter.gradient("y")
def _(g):
    return g * 0
