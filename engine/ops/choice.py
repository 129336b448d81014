"""Elementwise choice: the larger, the smaller, the one that a condition picks, limits."""

from __future__ import annotations

from typing import Any

from engine.ops.record import composite, op


@op(operators=())
def maximum(xp, x, y, out=None):
    """The larger of x and y; NaN if either is."""
    return xp.maximum(x, y, out=out)


@maximum.gradient("x")
def _(g, x, y):
    return _share(g, x < y, x == y)


@maximum.gradient("y")
def _(g, x, y):
    return _share(g, x > y, x == y)


@op()
def minimum(xp, x, y, out=None):
    """The smaller of x and y; NaN if either is."""
    return xp.minimum(x, y, out=out)


@minimum.gradient("x")
def _(g, x, y):
    return _share(g, x > y, x == y)


@minimum.gradient("y")
def _(g, x, y):
    return _share(g, x < y, x == y)


def _share(g: Any, lost: Any, equal: Any) -> Any:
    """The gradient of one of two: none where it lost, half where both are equal."""
    return where(lost, 0.0, where(equal, g * 0.5, g))


@op(method=False, masks=("condition",))
def select(xp, condition, x, y):
    """x where the condition holds, else y."""
    if not hasattr(x, "dtype") and not hasattr(y, "dtype"):
        x = xp.asarray(x, xp.float32 if isinstance(x, float) or isinstance(y, float) else None)
    return xp.where(condition, x, y)


@select.gradient("x")
def _(g, condition):
    return select(condition, g, 0.0)


@select.gradient("y")
def _(g, condition):
    return select(condition, 0.0, g)


@composite(method=False)
def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y. Shapes broadcast."""
    return select(condition, x, y)


@composite(in_place=True)
def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """x limited to [min, max]; either may be absent, a number, or a tensor."""
    if min is None and max is None:
        raise ValueError("clamp(): give min, max, or both")
    x = x if min is None else at_least(x, min)
    return x if max is None else at_most(x, max)


@op(method=False)
def at_least(xp, x, bound, out=None):
    """The larger of x and the bound; where they are equal, the gradient is x's."""
    return xp.maximum(x, bound, out=out)


@op(method=False)
def at_most(xp, x, bound, out=None):
    """The smaller of x and the bound; where they are equal, the gradient is x's."""
    return xp.minimum(x, bound, out=out)


@at_least.gradient("x")
def _(g, x, bound):
    return g * (x >= bound)


@at_least.gradient("bound")
def _(g, x, bound):
    return g * (x < bound)


@at_most.gradient("x")
def _(g, x, bound):
    return g * (x <= bound)


@at_most.gradient("bound")
def _(g, x, bound):
    return g * (x > bound)
