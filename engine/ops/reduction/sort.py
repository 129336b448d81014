"""Sorting. NaN is the largest value, as in PyTorch."""

from __future__ import annotations

from typing import Any

from engine import dtypes
from engine.errors import ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.indexing.gather import gather_backward
from engine.ops.record import op
from engine.ops.shape_rules import wrap_dim
from engine.shape import Dim, Spec


def stable_order(xp: Any, x: Any, dim: int, descending: bool) -> Any:
    """Indices that sort `x` along `dim`; stable."""
    if not descending:
        return x.argsort(axis=dim, kind="stable")
    return x.shape[dim] - 1 - xp.flip(xp.flip(x, dim).argsort(axis=dim, kind="stable"), dim)


def _sorted(s: Any) -> Any:
    return [((s.distinct(3, 4, 2),), {"dim": dim, "descending": down}) for dim in (0, 1, -1) for down in (False, True)]


@op("other", method=False, outputs=2, sample=_sorted)
def sort_op(xp, x, dim: int, descending: bool):
    """Sorted values and their original indices; stable."""
    order = stable_order(xp, x, dim, descending)
    return xp.take_along_axis(x, order, axis=dim), xp.ascontiguousarray(xp.asarray(order, xp.int64))


@sort_op.shape
def _(x: Spec, dim: int, descending: bool):
    return x, Spec(x.shape, dtypes.int64)


@sort_op.gradient
def _(g, out1, x: Spec, dim):
    return gather_backward(g[0], out1, x.shape, dim, True)


@composite(result="Any", sample=lambda s: [
    *_sorted(s), ((s.distinct(3, 4),), {}), ((s.repeated(3, 9),), {"stable": True}),
    ((s.repeated(9),), {"stable": True, "descending": True}), ((s.normal(),), {}),
])  # fmt: skip
def sort(x: Any, dim: int = -1, descending: bool = False, *, stable: bool = True) -> Any:
    """Sorted values along `dim` and their original indices. The sort is always stable."""
    axis = wrap_dim("sort", dim, x.ndim)
    if x.ndim == 0:
        return return_types.sort(x.clone(), x.new_zeros(()).to(dtypes.int64))
    return return_types.sort(*sort_op(x, dim=axis, descending=descending))


@composite(sample=lambda s: [*_sorted(s), ((s.repeated(3, 9),), {"stable": True})])
def argsort(x: Any, dim: int = -1, descending: bool = False, *, stable: bool = True) -> Any:
    """Indices that sort `x` along `dim`."""
    return sort(x.detach(), dim, descending).indices


@composite(sample=lambda s: [((s.distinct(4, 3),), {})])
def msort(x: Any) -> Any:
    """Sort values along the first dimension."""
    return sort(x, 0).values


def _tops(s: Any) -> Any:
    return [((s.distinct(3, 6), k), {"largest": largest}) for k in (0, 1, 3, 6) for largest in (True, False)] + [
        ((s.distinct(3, 6), 2), {"dim": 0}), ((s.distinct(40), 5), {}), ((s.distinct(4, 3).T, 2), {"dim": 1}),
    ]  # fmt: skip


@op("other", method=False, outputs=2, sample=lambda s: [
    ((s.distinct(3, 6),), {"k": 2, "dim": dim, "largest": largest}) for dim in (0, 1) for largest in (True, False)
])  # fmt: skip
def topk_op(xp, x, k: int, dim: int, largest: bool):
    """The k largest or smallest elements along `dim`, sorted, and their indices."""
    size = x.shape[dim]
    if 0 < k < size // 4:  # cheaper than a full sort
        first = size - k if largest else 0
        order = xp.argpartition(x, size - k if largest else k - 1, axis=dim)
        order = order[(slice(None),) * dim + (slice(first, first + k),)]
        inner = stable_order(xp, xp.take_along_axis(x, order, axis=dim), dim, largest)
        order = xp.take_along_axis(order, inner, axis=dim)
    else:
        order = stable_order(xp, x, dim, largest)[(slice(None),) * dim + (slice(0, k),)]
    return xp.take_along_axis(x, order, axis=dim), xp.ascontiguousarray(xp.asarray(order, xp.int64))


@topk_op.shape
def _(x: Spec, k: int, dim: int, largest: bool):
    shape = (*x.shape[:dim], k, *x.shape[dim + 1 :])
    return Spec(shape, x.dtype), Spec(shape, dtypes.int64)


@topk_op.gradient
def _(g, out1, x: Spec, dim):
    return gather_backward(g[0], out1, x.shape, dim, True)


@composite(result="Any", sample=_tops)
def topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements along `dim`, sorted, and their indices.

    Args:
        x: any tensor
        k: number of elements
        dim: dimension
        largest: the largest elements; False: the smallest ones
        sorted: ignored; the elements are always sorted
    """
    axis = wrap_dim("topk", dim, x.ndim)
    size = x.shape[axis] if x.ndim else 1
    if k < 0 or (not isinstance(size, Dim) and k > size):
        raise ShapeError(f"topk: k must be 0 to {size}, the size of dimension {dim}, not {k}")
    if x.ndim == 0:
        return return_types.topk(x.clone(), x.new_zeros(()).to(dtypes.int64))
    return return_types.topk(*topk_op(x, k=k, dim=axis, largest=largest))
