"""Powers, roots, exponentials, logarithms, trigonometry and the error function, elementwise."""

from __future__ import annotations

import math

from engine.errors import DTypeError
from engine.ops.choice import where
from engine.ops.erf import error_function
from engine.ops.record import op


@op(operators=("__pow__", "__rpow__"), numbers=True, domain=(0.5, 2.0))
def pow(xp, x, y, out=None):
    """x to the power y."""
    try:
        return xp.power(x, y, out=out)
    except ValueError as error:
        if "negative" in str(error):
            raise DTypeError("pow(): a whole number has no whole negative power. Convert with .float().") from None
        raise


@pow.gradient("x")
def _(g, x, y):
    # y·x^(y−1) is 0·∞ where y is 0; the derivative there is 0.
    if isinstance(y, (int, float)):
        return g * (y * x ** (y - 1)) if y else g.new_zeros(g.shape)
    return g * where(y == 0, 0.0, y * x ** (y - 1))


@pow.gradient("y")
def _(g, out, x, y):
    logarithm = math.log(x) if isinstance(x, (int, float)) else log(where(x == 0, 1.0, x))
    return g * out * logarithm


@op(floats=True)
def exp(xp, x, out=None):
    """eˣ."""
    return xp.exp(x, out=out)


@exp.gradient
def _(g, out):
    return g * out


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
def log1p(xp, x, out=None):
    """ln(1 + x), exact near 0."""
    return xp.log1p(x, out=out)


@log1p.gradient
def _(g, x):
    return g / (x + 1)


@op(floats=True, domain=(0.2, 3.0))
def sqrt(xp, x, out=None):
    """Square root."""
    return xp.sqrt(x, out=out)


@sqrt.gradient
def _(g, out):
    return g / (out * 2)


@op(floats=True, domain=(0.2, 3.0))
def rsqrt(xp, x):
    """1 / √x."""
    return 1 / xp.sqrt(x)


@rsqrt.gradient
def _(g, out):
    return g * out * out * out * -0.5


@op(floats=True)
def sin(xp, x, out=None):
    """Sine of radians."""
    return xp.sin(x, out=out)


@sin.gradient
def _(g, x):
    return g * cos(x)


@op(floats=True)
def cos(xp, x, out=None):
    """Cosine of radians."""
    return xp.cos(x, out=out)


@cos.gradient
def _(g, x):
    return -g * sin(x)


@op(floats=True)
def tanh(xp, x, out=None):
    """Hyperbolic tangent."""
    return xp.tanh(x, out=out)


@tanh.gradient
def _(g, out):
    return g * (1 - out * out)


@op(floats=True)
def erf(xp, x):
    """The error function, 2/√π ∫₀ˣ e^(−t²) dt.

    W. J. Cody, "Rational Chebyshev approximations for the error function", 1969.
    """
    return error_function(xp, x)


@erf.gradient
def _(g, x):
    return g * exp(-x * x) * (2 / math.sqrt(math.pi))
