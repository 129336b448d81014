"""Trigonometric and hyperbolic functions and their inverses, elementwise."""

from __future__ import annotations

import math
from typing import Any

from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.elementwise.transcendental import rsqrt, sqrt
from engine.ops.record import op


@op(floats=True)
def sin(xp, x, out=None):
    """Sine of x in radians."""
    return xp.sin(x, out=out)


@sin.gradient
def _(g, x):
    return g * cos(x)


@op(floats=True)
def cos(xp, x, out=None):
    """Cosine of x in radians."""
    return xp.cos(x, out=out)


@cos.gradient
def _(g, x):
    return -g * sin(x)


@op(floats=True)
def tan(xp, x, out=None):
    """Tangent of x in radians."""
    return xp.tan(x, out=out)


@tan.gradient
def _(g, out):
    return g * (1 + out * out)


@op(floats=True, domain=(-0.9, 0.9), aliases=("arcsin",))
def asin(xp, x, out=None):
    """Arcsine, in radians."""
    return xp.arcsin(x, out=out)


@asin.gradient
def _(g, x):
    return g * rsqrt(1 - x * x)


@op(floats=True, domain=(-0.9, 0.9), aliases=("arccos",))
def acos(xp, x, out=None):
    """Arccosine, in radians."""
    return xp.arccos(x, out=out)


@acos.gradient
def _(g, x):
    return -g * rsqrt(1 - x * x)


@op(floats=True, aliases=("arctan",))
def atan(xp, x, out=None):
    """Arctangent, in radians."""
    return xp.arctan(x, out=out)


@atan.gradient
def _(g, x):
    return g / (1 + x * x)


@op(floats=True, sample=lambda s: s.binary(numbers=False), aliases=("arctan2",))
def atan2(xp, x, y, out=None):
    """Arctangent of x / y with the quadrant, in radians from −π to π; x is the ordinate, as in PyTorch."""
    return xp.arctan2(x, y, out=out)


@atan2.gradient("x")
def _(g, x, y):
    return g * y / _squared_distance(x, y)


@atan2.gradient("y")
def _(g, x, y):
    return -g * x / _squared_distance(x, y)


def _squared_distance(x: Any, y: Any) -> Any:
    """x² + y², or ∞ at the origin, so that the gradient is 0 there."""
    result = x * x + y * y
    return where(result == 0, math.inf, result)


@op(floats=True)
def sinh(xp, x, out=None):
    """Hyperbolic sine."""
    return xp.sinh(x, out=out)


@sinh.gradient
def _(g, x):
    return g * cosh(x)


@op(floats=True)
def cosh(xp, x, out=None):
    """Hyperbolic cosine."""
    return xp.cosh(x, out=out)


@cosh.gradient
def _(g, x):
    return g * sinh(x)


@op(floats=True)
def tanh(xp, x, out=None):
    """Hyperbolic tangent."""
    return xp.tanh(x, out=out)


@tanh.gradient
def _(g, out):
    return g * (1 - out * out)


@op(floats=True, aliases=("arcsinh",))
def asinh(xp, x, out=None):
    """Inverse hyperbolic sine."""
    return xp.arcsinh(x, out=out)


@asinh.gradient
def _(g, x):
    return g * rsqrt(x * x + 1)


@op(floats=True, domain=(1.2, 3.0), aliases=("arccosh",))
def acosh(xp, x, out=None):
    """Inverse hyperbolic cosine."""
    return xp.arccosh(x, out=out)


@acosh.gradient
def _(g, x):
    return g / (sqrt(x - 1) * sqrt(x + 1))


@op(floats=True, domain=(-0.9, 0.9), aliases=("arctanh",))
def atanh(xp, x, out=None):
    """Inverse hyperbolic tangent."""
    return xp.arctanh(x, out=out)


@atanh.gradient
def _(g, x):
    return g / (1 - x * x)


@op(floats=True)
def sinc(xp, x):
    """Normalized sinc, sin(πx) / (πx), and 1 at 0."""
    angle = x * x.dtype.type(math.pi)
    return xp.where(x == 0, x.dtype.type(1), xp.sin(angle) / xp.where(x == 0, x.dtype.type(1), angle))


@sinc.gradient
def _(g, x, out):
    safe = where(x == 0, 1.0, x)
    return g * where(x == 0, 0.0, (cos(x * math.pi) - out) / safe)


@composite(sample=lambda s: s.unary(), in_place=True)
def deg2rad(x: Any) -> Any:
    """Convert degrees to radians."""
    return x * (math.pi / 180)


@composite(sample=lambda s: s.unary(), in_place=True)
def rad2deg(x: Any) -> Any:
    """Convert radians to degrees."""
    return x * (180 / math.pi)
