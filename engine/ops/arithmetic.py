"""Elementwise arithmetic. Shapes broadcast and dtypes promote by the rules of the kind; gradients are summed back."""

from __future__ import annotations

from typing import Any

from engine.errors import DTypeError
from engine.ops.record import op


@op(operators=("__add__", "__radd__"))
def add(xp, x, y, out=None, alpha: float = 1):
    """x + alpha · y."""
    return xp.add(x, y if alpha == 1 else _times(alpha, y), out=out)


@add.gradient("x")
def _(g):
    return g


@add.gradient("y")
def _(g, alpha):
    return g if alpha == 1 else g * alpha


@op(operators=("__sub__", "__rsub__"), numbers=True)
def sub(xp, x, y, out=None, alpha: float = 1):
    """x − alpha · y."""
    return xp.subtract(x, y if alpha == 1 else _times(alpha, y), out=out)


@sub.gradient("x")
def _(g):
    return g


@sub.gradient("y")
def _(g, alpha):
    return g * -alpha


@op(operators=("__mul__", "__rmul__"))
def mul(xp, x, y, out=None):
    """x · y."""
    return xp.multiply(x, y, out=out)


@mul.gradient("x")
def _(g, y):
    return g * y


@mul.gradient("y")
def _(g, x):
    return g * x


@op(operators=("__truediv__", "__rtruediv__"), floats=True, domain=(0.5, 2.0))
def div(xp, x, y, out=None):
    """x / y, always in floating point."""
    return xp.true_divide(x, y, out=out)


@div.gradient("x")
def _(g, y):
    return g / y


@div.gradient("y")
def _(g, x, y):
    return -g * (x / y) / y


@op(operators=("__floordiv__", "__rfloordiv__"), numbers=True, domain=(0.5, 2.0))
def floor_divide(xp, x, y, out=None):
    """The largest whole number not above x / y."""
    _refuse_zero("floor_divide", x, y)
    return xp.floor_divide(x, y, out=out)


@op(operators=("__mod__", "__rmod__"), numbers=True, domain=(0.5, 2.0))
def remainder(xp, x, y, out=None):
    """x − y·⌊x / y⌋; has y's sign."""
    _refuse_zero("remainder", x, y)
    return xp.remainder(x, y, out=out)


@remainder.gradient("x")
def _(g):
    return g


@remainder.gradient("y")
def _(g, x, y):
    return -g * (x / y).floor()


@op(operators=("__neg__",), numbers=True)
def neg(xp, x, out=None):
    """−x."""
    return xp.negative(x, out=out)


@neg.gradient
def _(g):
    return -g


@op(operators=("__abs__",), numbers=True)
def abs(xp, x, out=None):
    """|x|."""
    return xp.abs(x, out=out)


@abs.gradient
def _(g, x):
    return g * sign(x)


@op(numbers=True)
def sign(xp, x, out=None):
    """−1, 0 or 1."""
    return xp.sign(x, out=out)


@sign.gradient
def _(g):
    return g.new_zeros(g.shape)


@op(numbers=True)
def floor(xp, x, out=None):
    """The largest whole number not above x."""
    return xp.floor(x, out=out)


@floor.gradient
def _(g):
    return g.new_zeros(g.shape)


@op(numbers=True)
def ceil(xp, x, out=None):
    """The smallest whole number not below x."""
    return xp.ceil(x, out=out)


@ceil.gradient
def _(g):
    return g.new_zeros(g.shape)


@op(numbers=True)
def round(xp, x, out=None):
    """The nearest whole number; halves go to the even one."""
    return xp.rint(x, out=out) if out is not None else xp.rint(x).astype(x.dtype, copy=False)


@round.gradient
def _(g):
    return g.new_zeros(g.shape)


def _times(alpha: float, y: Any) -> Any:
    if isinstance(alpha, float) and getattr(getattr(y, "dtype", None), "kind", "f") != "f":
        raise DTypeError(f"alpha must be a whole number for tensors of whole numbers, not {alpha}")
    return alpha * y


def _refuse_zero(name: str, x: Any, y: Any) -> None:
    """Raises ZeroDivisionError; only floating point has a value for a division by 0."""
    array = x if hasattr(x, "dtype") else y
    if array.dtype.kind != "f" and (bool((y == 0).any()) if hasattr(y, "dtype") else y == 0):
        raise ZeroDivisionError(f"{name}(): whole numbers divided by zero. Convert with .float() for inf and NaN.")
