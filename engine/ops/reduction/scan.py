"""Cumulative sums, products and extremes along one dimension, and finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import dtypes
from engine.dtypes import DType, is_floating
from engine.errors import RangeError, ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.indexing.gather import gather_backward
from engine.ops.movement.primitives import cat
from engine.ops.record import op
from engine.ops.shape_rules import wrap_dim
from engine.shape import Spec


def _along(s: Any) -> Any:
    return [((s.normal(3, 4),), {"dim": dim}) for dim in (0, 1, -1)] + [((s.normal(0, 3),), {"dim": 0})]


def _in_front(s: Any) -> Any:
    """Samples with non-negative `dim` only."""
    return [call for call in _along(s) if call[1]["dim"] >= 0]


def _shaped(name: str) -> Callable[..., Any]:
    def rule(x: Spec, dim: int, dtype: DType | None = None) -> Spec:
        wrap_dim(name, dim, x.ndim)
        return Spec(x.shape, dtype or (x.dtype if x.dtype.is_floating_point else dtypes.int64))

    return rule


def _wide(x: Any, dtype: DType | None) -> Any:
    return dtype.numpy if dtype is not None else x.dtype if is_floating(x.dtype) else np.int64


@op("other", method=False, sample=_in_front)
def cumsum_op(xp, x, dim: int, dtype: DType | None = None):
    """Cumulative sum."""
    return xp.cumsum(x, axis=dim, dtype=_wide(x, dtype))


cumsum_op.shape(_shaped("cumsum"))


@cumsum_op.gradient
def _(g, dim):
    return cumsum_op(g.flip((dim,)), dim=dim).flip((dim,))


@composite(in_place=True, sample=lambda s: [*_along(s), ((s.normal(4), 0), {"dtype": dtypes.float64})])
def cumsum(x: Any, dim: int, *, dtype: DType | None = None) -> Any:
    """Cumulative sum along `dim`."""
    return _scanned(lambda x, dim: cumsum_op(x, dim=dim, dtype=dtype), x, dim, dtype)


def _scanned(scan: Callable[[Any, int], Any], x: Any, dim: int, dtype: DType | None = None) -> Any:
    """`scan(x, dim)`; a 0-d tensor is treated as one element."""
    axis = wrap_dim("a cumulative sum", dim, x.ndim)
    return scan(x, axis) if x.ndim else scan(x.reshape(1), 0).reshape(())


@op("other", method=False, sample=lambda s: [
    *_along(s), *(((x,), {"dim": 1}) for x in (np.where(s.booleans(3, 4), s.normal(3, 4), s.dtype(0)),)),
])  # fmt: skip
def cumprod_op(xp, x, dim: int, dtype: DType | None = None):
    """Cumulative product."""
    return xp.cumprod(x, axis=dim, dtype=_wide(x, dtype))


cumprod_op.shape(_shaped("cumprod"))


@cumprod_op.gradient
def _(g, x, out, dim):
    size = x.shape[dim]
    if size == 0:
        return g
    # Recurrence from the end: s = g + x₊·s₊ (₊: next element). It avoids division by zeros of x.
    factors = cat([x.narrow(dim, 1, size - 1), x.narrow(dim, 0, 1) * 0], dim=dim).flip((dim,))
    following = linear_recurrence(g.flip((dim,)), factors, dim=dim).flip((dim,))
    before = cat([out.narrow(dim, 0, 1) * 0 + 1, out.narrow(dim, 0, size - 1)], dim=dim)
    return following * before


@op("other", method=False, sample=lambda s: [((s.normal(3, 4), s.normal(3, 4)), {"dim": dim}) for dim in (0, 1)])
def linear_recurrence(xp, b, a, dim: int):
    """Linear recurrence sᵢ = bᵢ + aᵢ·sᵢ₋₁ along `dim`, with s₋₁ = 0."""
    out = b.copy()
    at: list[Any] = [slice(None)] * b.ndim
    for i in range(1, b.shape[dim]):
        at[dim] = i
        now = tuple(at)
        at[dim] = i - 1
        out[now] += a[now] * out[tuple(at)]
    return out


@linear_recurrence.shape
def _(b: Spec, a: Spec, dim: int):
    return b


@linear_recurrence.gradient
def _(g, a, out, dim):
    size = a.shape[dim]
    later = cat([a.narrow(dim, 1, size - 1), a.narrow(dim, 0, 1) * 0], dim=dim)
    back = linear_recurrence(g.flip((dim,)), later.flip((dim,)), dim=dim).flip((dim,))
    before = cat([out.narrow(dim, 0, 1) * 0, out.narrow(dim, 0, size - 1)], dim=dim)
    return back, back * before


@composite(in_place=True, sample=lambda s: [
    *_along(s), ((s.normal(4), 0), {"dtype": dtypes.float64}),
    *(((x, 1), {}) for x in (np.where(s.booleans(3, 4), s.normal(3, 4), s.dtype(0)),)),
])  # fmt: skip
def cumprod(x: Any, dim: int, *, dtype: DType | None = None) -> Any:
    """Cumulative product along `dim`."""
    return _scanned(lambda x, dim: cumprod_op(x, dim=dim, dtype=dtype), x, dim, dtype)


# -- extremes ---------------------------------------------------------------------------------


def running_extreme(xp: Any, x: Any, dim: int, largest: bool) -> tuple[Any, Any]:
    """Cumulative maximum or minimum and its last index; NaN propagates.

    By doubling: after k steps each element covers the 2ᵏ before it.
    """
    size = x.shape[dim]
    ones = (1,) * x.ndim
    values = x.copy()
    positions = xp.arange(size, dtype=xp.int64).reshape((*ones[:dim], size, *ones[dim + 1 :]))
    indices = xp.broadcast_to(positions, x.shape).copy()
    step = 1
    while step < size:
        late = (slice(None),) * dim + (slice(step, None),)
        early = (slice(None),) * dim + (slice(0, size - step),)
        new, old = values[late], values[early]
        better = (old > new) if largest else (old < new)
        better = (better | (old != old)) & (new == new)
        values[late], indices[late] = xp.where(better, old, new), xp.where(better, indices[early], indices[late])
        step *= 2
    return values, indices


@op("other", method=False, outputs=2, sample=lambda s: [
    ((s.distinct(3, 4),), {"dim": dim, "largest": largest}) for dim in (0, 1) for largest in (True, False)
])  # fmt: skip
def cummax_or_cummin(xp, x, dim: int, largest: bool):
    """Cumulative maximum or minimum and its indices."""
    return running_extreme(xp, x, dim, largest)


@cummax_or_cummin.shape
def _(x: Spec, dim: int, largest: bool):
    return x, Spec(x.shape, dtypes.int64)


@cummax_or_cummin.gradient
def _(g, out1, x: Spec, dim):
    return gather_backward(g[0], out1, x.shape, dim)


@composite(result="Any", sample=lambda s: [*_along(s), ((s.repeated(3, 9), 1), {})])
def cummax(x: Any, dim: int) -> Any:
    """Cumulative maximum along `dim` and its indices."""
    return _extremes_so_far(x, dim, True)


@composite(result="Any", sample=lambda s: [*_along(s), ((s.repeated(3, 9), 1), {})])
def cummin(x: Any, dim: int) -> Any:
    """Cumulative minimum along `dim` and its indices."""
    return _extremes_so_far(x, dim, False)


def _extremes_so_far(x: Any, dim: int, largest: bool) -> Any:
    axis = wrap_dim("cummax" if largest else "cummin", dim, x.ndim)
    out = cummax_or_cummin(x if x.ndim else x.reshape(1), dim=axis, largest=largest)
    result = return_types.cummax if largest else return_types.cummin
    return result(*(part if x.ndim else part.reshape(()) for part in out))


# -- others -----------------------------------------------------------------------------------


@op("other", floats=True, method=False, sample=_in_front)
def logcumsumexp_op(xp, x, dim: int):
    """Cumulative ln Σ eˣ, by doubling like `running_extreme`."""
    out, step, size = x.copy(), 1, x.shape[dim]
    while step < size:
        late = (slice(None),) * dim + (slice(step, None),)
        out[late] = xp.logaddexp(out[late], out[(slice(None),) * dim + (slice(0, size - step),)])
        step *= 2
    return out


@logcumsumexp_op.shape
def _(x: Spec, dim: int):
    return x


@logcumsumexp_op.gradient
def _(g, x, out, dim):
    # Σ of g·e^(x − out) over later elements, shifted by the last `out` against overflow.
    if 0 in x.shape:
        return g
    top = out.detach().narrow(dim, out.shape[dim] - 1, 1)
    later = cumsum_op((g * (top - out).exp()).flip((dim,)), dim=dim).flip((dim,))
    return later * (x - top).exp()


@composite(in_place=True, sample=_along)
def logcumsumexp(x: Any, dim: int) -> Any:
    """Cumulative ln Σ eˣ along `dim`."""
    return _scanned(lambda x, dim: logcumsumexp_op(x, dim=dim), x, dim)


@composite(sample=lambda s: [
    ((s.normal(3, 5),), {}), ((s.normal(3, 5),), {"n": 2}), ((s.normal(3, 5),), {"dim": 0}),
    ((s.normal(3, 5),), {"prepend": s.normal(3, 1), "append": s.normal(3, 2)}), ((s.booleans(4),), {}),
    ((s.normal(3),), {"n": 0}),
])  # fmt: skip
def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """n-th difference of adjacent elements along `dim`.

    Args:
        x: any tensor
        n: number of times that differences are taken; each shortens `dim` by 1
        dim: dimension
        prepend: tensor before x along `dim`
        append: tensor after x along `dim`
    """
    if x.ndim == 0:
        raise ShapeError("diff: a 0-d tensor has no adjacent elements")
    if n < 0:
        raise RangeError(f"diff: n must be at least 0, not {n}")
    if n == 0:
        return x.clone()
    x = cat([part for part in (prepend, x, append) if part is not None], dim=dim)
    for _ in range(n):
        size = x.shape[dim]
        if not size:
            break
        late, early = x.narrow(dim, 1, size - 1), x.narrow(dim, 0, size - 1)
        x = late.logical_xor(early) if x.dtype is dtypes.bool_ else late - early
    return x


@composite(method=False, sample=lambda s: [
    ((s.normal(3, 5),), {}), ((s.normal(3, 5),), {"dx": 0.5, "dim": 0}), ((s.normal(3, 5), s.normal(5)), {}),
    ((s.normal(3, 5), s.normal(3, 5)), {"dim": 1}),
], aliases=("trapz",))  # fmt: skip
def trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """Integral of y over x along `dim` by the trapezoidal rule."""
    size = y.shape[wrap_dim("trapezoid", dim, y.ndim)]
    if x is not None:
        return (_widths(y, x, dim) * _pairs(y, dim)).sum(dim) / 2
    if size == 0:
        return y.sum(dim) * 0.0
    ends = y.narrow(dim, 0, 1).squeeze(dim) + y.narrow(dim, size - 1, 1).squeeze(dim)
    return (y.sum(dim) - ends * 0.5) * (1.0 if dx is None else dx)


@composite(method=False, sample=lambda s: [
    ((s.normal(3, 5),), {}), ((s.normal(3, 5),), {"dx": 0.5, "dim": 0}), ((s.normal(3, 5), s.normal(5)), {}),
])  # fmt: skip
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """Cumulative integral of y along `dim` by the trapezoidal rule."""
    pairs = _pairs(y, dim)
    if x is not None:
        return cumsum(_widths(y, x, dim) * pairs, dim) / 2
    return cumsum(pairs, dim) * ((1.0 if dx is None else dx) / 2)


def _pairs(y: Any, dim: int) -> Any:
    """Sums of adjacent elements."""
    fewer = max(y.shape[wrap_dim("trapezoid", dim, y.ndim)] - 1, 0)
    return y.narrow(dim, y.shape[dim] - fewer, fewer) + y.narrow(dim, 0, fewer)


def _widths(y: Any, x: Any, dim: int) -> Any:
    """Differences of adjacent elements of x, which may be 1-D."""
    if x.ndim == 1:
        x = x.reshape([-1 if i == dim % y.ndim else 1 for i in range(y.ndim)])
    return diff(x, dim=dim)
