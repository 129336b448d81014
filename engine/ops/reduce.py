"""Reductions over dimensions. The shape rule is the kind's: `dim` is removed, or kept as 1 with `keepdim`."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.errors import DTypeError, ShapeError
from engine.ops.choice import where
from engine.ops.movement import cat
from engine.ops.record import Op, composite, op
from engine.ops.rules import Dims, reduced, wrap_dim, wrap_dims
from engine.shape import Dim, Spec, count, format_shape


def _over(record: Op, dtype: Any = None, *, of_nothing: bool = True) -> Op:
    """Gives a reduction the shape rule of its kind; `of_nothing` says whether no elements have a result."""

    def rule(x: Spec, dim: Dims = None, keepdim: bool = False) -> Spec:
        if not of_nothing:
            _refuse_nothing(record.name, x, dim)
        return Spec(reduced(record.name, x, dim, keepdim), x.dtype if dtype is None else dtype(x.dtype))

    record.shape(rule)
    return record


def _refuse_nothing(name: str, x: Spec, dim: Dims) -> None:
    """Raises ShapeError if there is no element to choose among."""
    if 0 in [x.shape[place] for place in wrap_dims(name, dim, x.ndim)]:
        raise ShapeError(f"{name}: {format_shape(x.shape)} has no elements to choose from along dim={dim}")


def _spread(g: Any, x: Spec, dim: Dims, keepdim: bool) -> Any:
    """`g` with the reduced dimensions back, as views of it."""
    if not keepdim:
        for place in sorted(wrap_dims("reduce", dim, x.ndim)):
            g = g.unsqueeze(place)
    return g.expand(x.shape)


def _axes(dim: Dims) -> Any:
    return None if dim is None or dim == () else tuple(dim) if isinstance(dim, list) else dim


def _whole(dtype: dtypes.DType) -> dtypes.DType:
    return dtype if dtype.is_floating_point else dtypes.int64


@op("reduce")
def sum(xp, x, dim: Dims = None, keepdim: bool = False):
    """Sum over `dim`, or over everything. Whole numbers add up in int64."""
    return x.sum(axis=_axes(dim), keepdims=keepdim, dtype=None if x.dtype.kind == "f" else np.int64)


@sum.gradient
def _(g, x: Spec, dim, keepdim):
    return _spread(g, x, dim, keepdim)


@op("reduce")
def prod(xp, x, dim: Dims = None, keepdim: bool = False):
    """Product over `dim`, or over everything."""
    return x.prod(axis=_axes(dim), keepdims=keepdim, dtype=None if x.dtype.kind == "f" else np.int64)


@prod.gradient
def _(g, x, dim, keepdim):
    dims = wrap_dims("prod", dim, x.ndim)
    order = (*(i for i in range(x.ndim) if i not in dims), *dims)
    kept = tuple(x.shape[i] for i in order[: x.ndim - len(dims)])
    sizes = tuple(x.shape[i] for i in dims)
    others = _product_of_others(x.permute(order).reshape((*kept, count(sizes)))).reshape((*kept, *sizes))
    return _spread(g, x.spec, dim, keepdim) * others.permute(tuple(order.index(i) for i in range(x.ndim)))


def _product_of_others(x: Any) -> Any:
    """For each element the product of all others in the last dimension; without division, since one may be 0.

    Pairs are multiplied up a binary tree; on the way down each half is given the product of the other.
    """
    size = x.shape[-1]
    levels = [x]
    while levels[-1].shape[-1] > 1:
        level = levels[-1]
        if level.shape[-1] % 2:
            level = levels[-1] = cat([level, level[..., :1] * 0 + 1], dim=-1)
        levels.append(level[..., ::2] * level[..., 1::2])
    found = x[..., :1] * 0 + 1
    for level in reversed(levels[:-1]):
        pairs = level.reshape(*level.shape[:-1], level.shape[-1] // 2, 2).flip(-1)
        found = (pairs * found[..., : pairs.shape[-2]].unsqueeze(-1)).reshape(level.shape)
    return found[..., :size]


@op("reduce")
def amax(xp, x, dim: Dims = None, keepdim: bool = False):
    """Maximum over `dim`, or over everything. The gradient is shared evenly among equals."""
    return x.max(axis=_axes(dim), keepdims=keepdim)


@op("reduce")
def amin(xp, x, dim: Dims = None, keepdim: bool = False):
    """Minimum over `dim`, or over everything. The gradient is shared evenly among equals."""
    return x.min(axis=_axes(dim), keepdims=keepdim)


def _to_extremes(g, out, x, dim, keepdim):
    hit = (x == _spread(out, x.spec, dim, keepdim)).to(x.dtype)
    return _spread(g, x.spec, dim, keepdim) * hit / hit.sum(dim, True)


amax.gradient(_to_extremes)
amin.gradient(_to_extremes)


@op("reduce")
def argmax(xp, x, dim: int | None = None, keepdim: bool = False):
    """Index of the maximum along `dim`, or in the flattened tensor. The first of equals."""
    return xp.asarray(x.argmax(axis=dim, keepdims=keepdim), np.int64)


@op("reduce")
def argmin(xp, x, dim: int | None = None, keepdim: bool = False):
    """Index of the minimum along `dim`, or in the flattened tensor. The first of equals."""
    return xp.asarray(x.argmin(axis=dim, keepdims=keepdim), np.int64)


@op("reduce")
def any(xp, x, dim: Dims = None, keepdim: bool = False):
    """Whether one element is not 0."""
    return (x != 0).any(axis=_axes(dim), keepdims=keepdim)


@op("reduce")
def all(xp, x, dim: Dims = None, keepdim: bool = False):
    """Whether no element is 0."""
    return (x != 0).all(axis=_axes(dim), keepdims=keepdim)


for _record in (amax, amin):
    _over(_record, of_nothing=False)
for _record in (sum, prod):
    _over(_record, _whole)
for _record in (argmax, argmin):
    _over(_record, lambda dtype: dtypes.int64, of_nothing=False)
for _record in (any, all):
    _over(_record, lambda dtype: dtypes.bool_)


@op("reduce", method=False, outputs=2)
def extreme(xp, x, dim: int, keepdim: bool, largest: bool):
    """Values and indices of the maximum or minimum along one dimension."""
    index = (x.argmax if largest else x.argmin)(axis=dim, keepdims=True)
    value = xp.take_along_axis(x, index, axis=dim)
    index = xp.asarray(index, np.int64)
    return (value, index) if keepdim else (value.squeeze(dim), index.squeeze(dim))


@extreme.shape
def _(x: Spec, dim: int, keepdim: bool, largest: bool):
    _refuse_nothing("max" if largest else "min", x, dim)
    shape = reduced("max" if largest else "min", x, dim, keepdim)
    return Spec(shape, x.dtype), Spec(shape, dtypes.int64)


@extreme.gradient
def _(g, out1, x: Spec, dim, keepdim):
    value, index = g[0], out1
    if not keepdim:
        value, index = value.unsqueeze(dim), index.unsqueeze(dim)
    return value.scatter_into(index, x.shape, dim)


class Extremes(tuple[Any, ...]):
    """Values and indices, as `x.max(dim)` returns them."""

    __slots__ = ()

    @property
    def values(self) -> Any:
        return self[0]

    @property
    def indices(self) -> Any:
        return self[1]


@composite(result="Any")
def max(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The maximum of everything; along `dim` a pair (values, indices); with a tensor for `dim`, elementwise."""
    return _extreme(x, dim, keepdim, True)


@composite(result="Any")
def min(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The minimum of everything; along `dim` a pair (values, indices); with a tensor for `dim`, elementwise."""
    return _extreme(x, dim, keepdim, False)


def _extreme(x: Any, dim: Any, keepdim: bool, largest: bool) -> Any:
    if dim is None:
        return amax(x) if largest else amin(x)
    if not isinstance(dim, int):
        return x.maximum(dim) if largest else x.minimum(dim)
    if x.ndim == 0:
        wrap_dim("max" if largest else "min", dim, 0)
        return Extremes(found.reshape(()) for found in extreme(x.reshape(1), dim=0, keepdim=True, largest=largest))
    return Extremes(extreme(x, dim=dim, keepdim=keepdim, largest=largest))


@composite
def mean(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """Mean over `dim`, or over everything. Floating point only."""
    return sum(x, dim, keepdim) / _count(x, dim)


@composite
def var(x: Any, dim: Dims = None, keepdim: bool = False, correction: int = 1) -> Any:
    """Variance over `dim`, divided by n − correction."""
    centred = x - mean(x, dim, True)
    return sum(centred * centred, dim, keepdim) / _at_least_zero(_count(x, dim) - correction)


def _at_least_zero(number: Any) -> Any:
    """Too few elements for their correction give NaN or ∞, never a negative variance."""
    return number if isinstance(number, Dim) or number > 0 else 0


@composite
def std(x: Any, dim: Dims = None, keepdim: bool = False, correction: int = 1) -> Any:
    """Standard deviation over `dim`; see `var`."""
    return var(x, dim, keepdim, correction).sqrt()


def _count(x: Any, dim: Dims) -> Any:
    """How many elements one result is made of."""
    number = count(x.shape[place] for place in wrap_dims("mean", dim, x.ndim))
    if not x.is_floating_point():
        raise DTypeError(f"mean and var need floating point, not {x.dtype.name}. Convert with .float().")
    return number


@composite
def logsumexp(x: Any, dim: Dims, keepdim: bool = False) -> Any:
    """ln Σ eˣ over `dim`, safe for large x."""
    if 0 in x.shape:
        return x.exp().sum(dim, keepdim).log()
    top = amax(x, dim, True).detach()
    top = where(top.isfinite(), top, 0.0)
    total = (x - top).exp().sum(dim, True).log() + top
    return total if keepdim else total.squeeze(dim)


@composite
def sum_to_size(x: Any, *shape: Any) -> Any:
    """Sums `x` down to `shape`, from which it could have been broadcast."""
    wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    extra = x.ndim - len(wanted)
    dims = (*range(extra), *(i + extra for i, size in enumerate(wanted) if size == 1 and x.shape[i + extra] != 1))
    reduced_ = sum(x, dims, True) if dims else x
    return reduced_.reshape(wanted) if extra else reduced_
