"""Comparisons, elementwise and of whole tensors, with boolean results."""

from __future__ import annotations

from typing import Any

from engine.errors import DTypeError, RangeError
from engine.ops.composite import composite
from engine.ops.record import op


@op(operators=("__eq__",), result="bool")
def eq(xp, x, y):
    """x = y."""
    return xp.equal(x, y)


@op(operators=("__ne__",), result="bool", aliases=("not_equal",))
def ne(xp, x, y):
    """x ≠ y."""
    return xp.not_equal(x, y)


@op(operators=("__lt__",), result="bool", aliases=("less",))
def lt(xp, x, y):
    """x < y."""
    return xp.less(x, y)


@op(operators=("__le__",), result="bool", aliases=("less_equal",))
def le(xp, x, y):
    """x ≤ y."""
    return xp.less_equal(x, y)


@op(operators=("__gt__",), result="bool", aliases=("greater",))
def gt(xp, x, y):
    """x > y."""
    return xp.greater(x, y)


@op(operators=("__ge__",), result="bool", aliases=("greater_equal",))
def ge(xp, x, y):
    """x ≥ y."""
    return xp.greater_equal(x, y)


def _close_pairs(s: Any) -> Any:
    x = s.normal(3, 4)
    return [((x, x + s.normal(3, 4) * s.dtype(1e-5)), {}), ((x, x.copy()), {}), ((x, x + s.dtype(1)), {}),
            ((x, x + s.dtype(0.01)), {"atol": 0.1}), ((x, x[:1]), {"rtol": 0.5})]  # fmt: skip


@op("elementwise", result="bool", sample=_close_pairs)
def isclose(xp, x, y, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False):
    """Whether |x − y| ≤ atol + rtol · |y|, elementwise."""
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RangeError(f"isclose: {name} must be at least 0, not {tolerance}")
    if x.dtype.kind == "b":
        return xp.equal(x, y)
    near = xp.isfinite(x - y) & (xp.abs(x - y) <= atol + xp.abs(rtol * y))
    close = xp.equal(x, y) | near
    return close | (xp.isnan(x) & xp.isnan(y)) if equal_nan else close


@composite(result="bool", sample=_close_pairs)
def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements of x and y are close; see `isclose`."""
    _check_alike("allclose", x, y)
    return bool(isclose(x, y, rtol, atol, equal_nan).all())


@composite(result="bool", sample=lambda s: [
    (s.repeated(3), s.repeated(3)), *((x, x.copy()) for x in (s.normal(2, 3),)), (s.normal(2, 3), s.normal(3, 2)),
])  # fmt: skip
def equal(x: Any, y: Any) -> bool:
    """Whether x and y have the same shape and equal elements."""
    _check_alike("equal", x, y)
    return tuple(x.shape) == tuple(y.shape) and bool(eq(x, y).all())


def _check_alike(name: str, x: Any, y: Any) -> None:
    if x.dtype is not y.dtype:
        raise DTypeError(f"{name}(): the tensors must have the same dtype, not {x.dtype.name} and {y.dtype.name}")


@composite(method=False, sample=lambda s: [
    ((s.integers(9, 3, 4), s.integers(9, 3)), {}), ((s.repeated(6), s.repeated(2)), {"invert": True}),
    ((s.integers(5, 4), 3), {}), ((2, s.integers(5, 4)), {}),
])  # fmt: skip
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element is in `test_elements`."""
    if not hasattr(elements, "dtype"):
        elements = test_elements.new_tensor(elements)
    if not hasattr(test_elements, "dtype"):
        test_elements = elements.new_tensor(test_elements)
    result = eq(elements.unsqueeze(-1), test_elements.reshape(-1)).any(-1)
    return result.logical_not() if invert else result
