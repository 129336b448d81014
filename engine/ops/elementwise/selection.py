"""Elementwise selection: maximum, minimum, where, clamp."""

from __future__ import annotations

from typing import Any

from engine.dtypes import bool_, finfo, get_default_dtype, int64
from engine.ops.composite import composite
from engine.ops.record import op


@op()
def maximum(xp, x, y, out=None):
    """Elementwise maximum of x and y; NaN if either is NaN."""
    return xp.maximum(x, y, out=out)


@maximum.gradient("x")
def _(g, x, y):
    return _share(g, x < y, x == y)


@maximum.gradient("y")
def _(g, x, y):
    return _share(g, x > y, x == y)


@op()
def minimum(xp, x, y, out=None):
    """Elementwise minimum of x and y; NaN if either is NaN."""
    return xp.minimum(x, y, out=out)


@minimum.gradient("x")
def _(g, x, y):
    return _share(g, x > y, x == y)


@minimum.gradient("y")
def _(g, x, y):
    return _share(g, x < y, x == y)


def _share(g: Any, lost: Any, equal: Any) -> Any:
    """Gradient of one operand: 0 where the other was selected, half where both are equal."""
    return where(lost, 0.0, where(equal, g * 0.5, g))


@op(sample=lambda s: s.binary(numbers=False))
def fmax(xp, x, y):
    """Elementwise maximum of x and y; where one is NaN, the other."""
    return xp.fmax(x, y)


@op(sample=lambda s: s.binary(numbers=False))
def fmin(xp, x, y):
    """Elementwise minimum of x and y; where one is NaN, the other."""
    return xp.fmin(x, y)


@fmax.gradient("x")
def _(g, x, y):
    return where((x >= y) | y.isnan(), g, 0.0)


@fmax.gradient("y")
def _(g, x, y):
    return where((x >= y) | y.isnan(), 0.0, g)


@fmin.gradient("x")
def _(g, x, y):
    return where((x <= y) | y.isnan(), g, 0.0)


@fmin.gradient("y")
def _(g, x, y):
    return where((x <= y) | y.isnan(), 0.0, g)


def _choices(s: Any) -> Any:
    """Broadcast and promote the arguments of `where`."""
    shapes = (((3, 4), (3, 4), (3, 4)), ((3, 4), (4,), (3, 1)), ((), (3,), ()), ((0, 3), (3,), (0, 3)))
    return [((s.booleans(*a), s.normal(*b), s.normal(*c)), {}) for a, b, c in shapes]


@op(method=False, unpromoted=("condition",), sample=_choices)
def where_op(xp, condition, x, y):
    """x where the condition is True, else y."""
    if not hasattr(x, "dtype") and not hasattr(y, "dtype"):
        x = xp.asarray(x, number_dtype(x, y).numpy)
    return xp.where(condition, x, y)


@where_op.gradient("x")
def _(g, condition):
    return where_op(condition, g, 0.0)


@where_op.gradient("y")
def _(g, condition):
    return where_op(condition, 0.0, g)


def number_dtype(*numbers: Any) -> Any:
    """Dtype of a tensor created from these scalars."""
    kinds = {type(number) for number in numbers}
    return get_default_dtype() if float in kinds else int64 if int in kinds else bool_


@composite(method=False, sample=lambda s: [
    *_choices(s), ((s.booleans(3), s.normal(3), 2.0), {}), ((s.booleans(3), 1, s.normal(2, 3)), {}),
    ((s.booleans(4), 1.0, 0.0), {}), ((s.booleans(4), 1, 2), {}), ((s.repeated(3, 4) > 0,), {}),
])  # fmt: skip
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition is True, else y; with the condition alone, the indices where it is True.

    Args:
        condition: boolean tensor
        x: values where the condition is True; broadcasts with the condition
        y: values where it is False; broadcasts with the condition
    """
    if x is None and y is None:
        return condition.nonzero(as_tuple=True)
    return where_op(condition, x, y)


@composite(in_place=True, aliases=("clip",), sample=lambda s: [
    ((s.normal(3, 4),), {"min": -0.5, "max": 0.5}), ((s.normal(3, 4),), {"min": 0.1}), ((s.normal(3),), {"max": 0}),
    ((s.normal(3, 4), s.normal(4) - s.dtype(1), s.normal(3, 1) + s.dtype(1)), {}), ((s.normal(2), 0.5, -0.5), {}),
])  # fmt: skip
def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """Clamp x to [min, max]; each limit is None, a number or a tensor.

    Args:
        x: any tensor
        min: lower limit: a number, or a tensor that broadcasts to x
        max: upper limit: a number, or a tensor that broadcasts to x
    """
    if min is None and max is None:
        raise ValueError("clamp(): min and max are both None. Pass at least one of them.")
    if isinstance(min, (int, float)) and isinstance(max, (int, float)) and x.is_floating_point():
        return clamp_op(x, low=min, high=max)
    x = x if min is None else clamp_min(x, min)
    return x if max is None else clamp_max(x, max)


@op(method=False, sample=lambda s: [((s.normal(3, 4),), {"low": -0.5, "high": 0.5})])
def clamp_op(xp, x, low: float, high: float):
    """Clamp x to two numbers in one pass over memory."""
    return xp.clip(x, low, high)


@clamp_op.gradient
def _(g, x, low, high):
    return where((x >= low) & (x <= high), g, 0.0)


@op()
def clamp_min(xp, x, min, out=None):
    """Clamp x from below; where x equals the limit, the gradient flows to x."""
    return xp.maximum(x, min, out=out)


@op()
def clamp_max(xp, x, max, out=None):
    """Clamp x from above; where x equals the limit, the gradient flows to x."""
    return xp.minimum(x, max, out=out)


@clamp_min.gradient("x")
def _(g, x, min):
    return where(x >= min, g, 0.0)


@clamp_min.gradient("min")
def _(g, x, min):
    return where(x < min, g, 0.0)


@clamp_max.gradient("x")
def _(g, x, max):
    return where(x <= max, g, 0.0)


@clamp_max.gradient("max")
def _(g, x, max):
    return where(x > max, g, 0.0)


@op(floats=True, sample=lambda s: s.binary(numbers=False))
def copysign(xp, x, y):
    """Magnitude of x with the sign of y."""
    return xp.copysign(x, y)


@copysign.gradient("x")
def _(g, x, out):
    return g * (x.sign() * out.sign())


@copysign.gradient("y")
def _(g):
    return g * 0


@op(sample=lambda s: [(s.repeated(3, 4), s.normal(4)), (s.normal(3), s.normal(2, 3))])
def heaviside(xp, x, values):
    """Heaviside step function: 0 where x < 0, 1 where x > 0, `values` where x is 0."""
    return xp.where(x == 0, values, (x > 0).astype(x.dtype))


@composite(in_place=True, sample=lambda s: [
    *s.unary(), ((s.normal(4),), {"nan": 1.0, "posinf": 2.0, "neginf": -2.0}),
])  # fmt: skip
def nan_to_num(x: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Replace NaN (default: 0) and infinities (default: the largest and smallest finite values).

    Args:
        x: any tensor
        nan: replaces NaN (default: 0)
        posinf: replaces ∞ (default: the largest finite value)
        neginf: replaces −∞ (default: the smallest finite value)
    """
    if not x.is_floating_point():
        return x.clone()
    limits = finfo(x.dtype)
    result = where(x.isnan(), nan or 0.0, x)
    result = where(x.isposinf(), limits.max if posinf is None else posinf, result)
    return where(x.isneginf(), limits.min if neginf is None else neginf, result)


@composite(public=True, method=False, sample=lambda s: [((s.normal(3, 4), 0.1, 20.0), {})])
def threshold(x: Any, threshold: float, value: float) -> Any:
    """x where x > threshold, else `value`."""
    if not x.is_floating_point():
        value = int(value)
    return where(x <= threshold, value, x)
