"""Elementwise arithmetic. Shapes broadcast, dtypes promote, and gradients are summed to the input shapes."""

from __future__ import annotations

from typing import Any

from engine.dtypes import bool_, int64, is_floating
from engine.errors import DTypeError
from engine.ops.composite import composite
from engine.ops.elementwise.sliced_sums import LARGE, add_term
from engine.ops.record import op
from engine.shape import Spec


@op(operators=("__add__", "__radd__"), commutes=True)
def add(xp, x, y, out=None, alpha: float = 1):
    """x + alpha · y."""
    if alpha == 1:
        return xp.add(x, y, out=out)
    if out is None or out.size < LARGE:
        return xp.add(x, _times(alpha, y), out=out)
    return add_term(xp, x, lambda y: _times(alpha, y), (y,), out)


@add.gradient("x")
def _(g):
    return g


@add.gradient("y")
def _(g, alpha):
    return g if alpha == 1 else g * alpha


@op(operators=("__sub__", "__rsub__"), rejects_booleans=True, aliases=("subtract",))
def sub(xp, x, y, out=None, alpha: float = 1):
    """x − alpha · y."""
    return xp.subtract(x, y if alpha == 1 else _times(alpha, y), out=out)


@sub.gradient("x")
def _(g):
    return g


@sub.gradient("y")
def _(g, alpha):
    return g * -alpha


@op(operators=("__mul__", "__rmul__"), aliases=("multiply",), commutes=True)
def mul(xp, x, y, out=None):
    """x · y."""
    return xp.multiply(x, y, out=out)


@mul.gradient("x")
def _(g, y):
    return g * y


@mul.gradient("y")
def _(g, x):
    return g * x


@op(operators=("__truediv__", "__rtruediv__"), floats=True, domain=(0.5, 2.0), aliases=("divide", "true_divide"))
def div(xp, x, y, out=None):
    """x / y, always computed in floating point."""
    return xp.true_divide(x, y, out=out)


@div.gradient("x")
def _(g, y):
    return g / y


@div.gradient("y")
def _(g, x, y):
    return -g * (x / y) / y


@div.keyword
def _(x: Any, y: Any, *, rounding_mode: str | None):
    if rounding_mode is None:
        return div(x, y)
    if rounding_mode not in ("floor", "trunc"):
        raise ValueError(f"div(): rounding_mode must be None, 'floor' or 'trunc', not {rounding_mode!r}")
    return floor_divide(x, y) if rounding_mode == "floor" else div_trunc(x, y)


@op(operators=("__floordiv__", "__rfloordiv__"), rejects_booleans=True, domain=(0.5, 2.0))
def floor_divide(xp, x, y, out=None):
    """x / y rounded down to an integer."""
    _refuse_zero("floor_divide", x, y)
    if not _has_fractions(x, y):
        return xp.floor_divide(x, y, out=out)
    result = xp.floor_divide(x, y)
    # For y = 0, NumPy returns NaN and PyTorch the infinite quotient.
    result = xp.where(xp.equal(y, 0), xp.true_divide(x, y), result)
    if out is None:
        return result
    out[...] = result
    return out


@floor_divide.gradient
def _(g):
    return g * 0, g * 0


@op(method=False, rejects_booleans=True, domain=(0.5, 2.0))
def div_trunc(xp, x, y):
    """x / y rounded toward 0."""
    _refuse_zero("div", x, y)
    if _has_fractions(x, y):
        return xp.trunc(xp.true_divide(x, y))
    quotient = xp.floor_divide(x, y)
    return quotient + ((quotient < 0) & (quotient * y != x)).astype(quotient.dtype)


@div_trunc.gradient
def _(g):
    return g * 0, g * 0


@op(operators=("__mod__", "__rmod__"), rejects_booleans=True, domain=(0.5, 2.0))
def remainder(xp, x, y, out=None):
    """Remainder x − y·⌊x / y⌋, with the sign of y (Python's modulus)."""
    _refuse_zero("remainder", x, y)
    return xp.remainder(x, y, out=out)


@remainder.gradient("x")
def _(g):
    return g


@remainder.gradient("y")
def _(g, x, y):
    return -g * floor_divide(x, y)


@op(rejects_booleans=True, domain=(0.5, 2.0))
def fmod(xp, x, y, out=None):
    """Remainder x − y·trunc(x / y), with the sign of x (C's fmod)."""
    _refuse_zero("fmod", x, y)
    return xp.fmod(x, y, out=out)


@fmod.gradient("x")
def _(g):
    return g


@fmod.gradient("y")
def _(g, x, y):
    return -g * div_trunc(x, y)


@op(operators=("__neg__",), rejects_booleans=True, aliases=("negative",))
def neg(xp, x, out=None):
    """Negative of x."""
    if out is None or out.flags.c_contiguous:
        return xp.negative(x, out=out)
    # NumPy 2.4 computes wrong results in place on strided arrays.
    out[...] = xp.negative(x)
    return out


@neg.gradient
def _(g):
    return -g


@op(operators=("__abs__",), rejects_booleans=True, aliases=("absolute",))
def abs(xp, x, out=None):
    """Absolute value of x."""
    return xp.abs(x, out=out)


@abs.gradient
def _(g, x):
    return g * sign(x)


@op(aliases=("sgn",))
def sign(xp, x):
    """Sign of x: −1, 0 or 1; 0 for NaN, as in PyTorch."""
    return x.copy() if x.dtype.kind == "b" else (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


@sign.gradient
def _(g):
    return g * 0


@op(floats=True, domain=(0.5, 2.0))
def reciprocal(xp, x, out=None):
    """Reciprocal, 1 / x."""
    return xp.true_divide(1, x, out=out)


@reciprocal.gradient
def _(g, out):
    return -g * out * out


@op()
def square(xp, x, out=None):
    """Square of x."""
    return xp.square(x, out=out) if x.dtype.kind != "b" else x.astype(xp.int64)


@square.shape
def _(x: Spec):
    return Spec(x.shape, int64) if x.dtype is bool_ else x


@square.gradient
def _(g, x):
    return g * x * 2


@composite(operators=("__pos__",), sample=lambda s: s.unary())
def positive(x: Any) -> Any:
    """Returns x; raises TypeError for booleans."""
    if x.dtype is bool_:
        raise DTypeError("positive() is not defined for booleans.", in_code="Convert with .long() or .float().")
    return x


@composite(sample=lambda s: s.binary(), method=False)
def rsub(x: Any, y: Any, alpha: float = 1) -> Any:
    """y − alpha · x."""
    return sub(y, x, alpha=alpha)


@op(sample=lambda s: [(s.integers(20, 3, 4), s.integers(20, 4)), (s.integers(9, 3) - 4, s.integers(9, 3) - 4)])
def gcd(xp, x, y):
    """Greatest common divisor of integers."""
    return xp.gcd(x, y)


@op(sample=lambda s: [(s.integers(20, 3, 4), s.integers(20, 4)), (s.integers(9, 3) - 4, s.integers(9, 3) - 4)])
def lcm(xp, x, y):
    """Least common multiple of integers."""
    return xp.abs(xp.lcm(x, y))


def _times(alpha: float, y: Any) -> Any:
    if type(alpha) is float and hasattr(y, "dtype") and y.dtype.kind != "f" and not is_floating(y.dtype):
        raise DTypeError(f"alpha must be an integer for integer tensors, not {alpha}")
    return y & bool(alpha) if hasattr(y, "dtype") and y.dtype.kind == "b" else alpha * y


def _has_fractions(x: Any, y: Any) -> bool:
    """Whether the operands promote to a floating-point dtype."""
    return is_floating((x if hasattr(x, "dtype") else y).dtype)


def _refuse_zero(name: str, x: Any, y: Any) -> None:
    """Raise ZeroDivisionError for integer dtypes, which have no infinity or NaN."""
    if not _has_fractions(x, y) and (bool((y == 0).any()) if hasattr(y, "dtype") else y == 0):
        raise ZeroDivisionError(f"{name}(): integer division by zero. Convert with .float() for inf and NaN.")
