"""Variance, standard deviation, quantiles and medians."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from engine import dtypes
from engine.errors import DTypeError, ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.indexing.gather import gather_backward
from engine.ops.record import op
from engine.ops.reduction.reductions import check_nonempty, expand_reduced, mean
from engine.ops.reduction.scan import running_extreme
from engine.ops.reduction.sort import sort, stable_order
from engine.ops.shape_rules import Dims, reduced, wrap_dim, wrap_dims
from engine.shape import Dim, Spec, count, format_shape


def _spreads(s: Any) -> Any:
    x = s.normal(3, 4, 2)
    return [((x,), {"dim": dim, "keepdim": keep}) for dim in (None, 0, -1, (0, 2)) for keep in (False, True)] + [
        ((x,), {}),
        ((x, False), {}),
        ((x, 1, False), {}),
        ((x, 1, True, True), {}),
        ((x,), {"dim": 1, "correction": 0}),
        ((x,), {"dim": 1, "correction": 2}),
        ((x,), {"unbiased": False}),
        ((x, (0, 1)), {"unbiased": False}),
    ]


@composite(sample=_spreads)
def var(x: Any, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None) -> Any:  # fmt: skip
    """Variance over `dim`, divided by n − correction; the correction is 1, or 0 where `unbiased` is False."""
    return _variance("var", x, dim, unbiased, keepdim, correction)[0]


@composite(sample=_spreads)
def std(x: Any, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None) -> Any:  # fmt: skip
    """Standard deviation over `dim`; see `var`."""
    return std_op(_variance("std", x, dim, unbiased, keepdim, correction)[0])


@composite(method=False, result="tuple[Tensor, Tensor]", sample=_spreads)
def var_mean(x: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None) -> tuple[Any, Any]:  # fmt: skip
    """Variance and mean over `dim`; see `var`."""
    variance, dims = _variance("var_mean", x, dim, unbiased, keepdim, correction)
    return variance, mean(x, dims, keepdim)


@composite(method=False, result="tuple[Tensor, Tensor]", sample=_spreads)
def std_mean(x: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None) -> tuple[Any, Any]:  # fmt: skip
    """Standard deviation and mean over `dim`; see `var`."""
    variance, dims = _variance("std_mean", x, dim, unbiased, keepdim, correction)
    return std_op(variance), mean(x, dims, keepdim)


def _variance(
    name: str, x: Any, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None
) -> tuple[Any, Dims]:
    """Variance and normalized dimensions. A boolean in place of `dim` means `unbiased`, as in PyTorch."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not x.is_floating_point():
        raise DTypeError(f"{name}() needs floating point, not {x.dtype.name}.", in_code="Convert with .float().")
    if correction is None:
        correction = 0 if unbiased is False else 1
    return var_op(x, dim=dim, keepdim=keepdim, correction=correction), dim


@op(
    "reduce",
    method=False,
    sample=lambda s: [
        ((s.normal(3, 4, 2),), {"dim": dim, "keepdim": keep, "correction": 1})
        for dim in (None, 1, (0, 2))
        for keep in (0, 1)
    ],
)
def var_op(xp, x, dim: Dims, keepdim: bool, correction: float):
    """Sum of squared differences from the mean, divided by n − correction."""
    axes = wrap_dims("var", dim, x.ndim)
    number = count(x.shape[axis] for axis in axes)
    centered = x - x.sum(axis=axes, keepdims=True) / x.dtype.type(number)
    total = xp.square(centered).sum(axis=axes, keepdims=keepdim)
    return total / x.dtype.type(_freedom(number, correction))


def _freedom(number: Any, correction: float) -> Any:
    """Divisor n − correction, at least 0: too few elements give NaN or ∞, not a negative variance."""
    free = number - correction
    return free if isinstance(free, Dim) or free > 0 else 0


@var_op.shape
def _(x: Spec, dim: Dims, keepdim: bool, correction: float):
    return reduced("var", x, dim, keepdim)


@var_op.gradient
def _(g, x, dim, correction):
    free = _freedom(count(x.shape[axis] for axis in wrap_dims("var", dim, x.ndim)), correction)
    return expand_reduced(g * (2 / free if free else float("nan")), x.spec, dim) * (x - mean(x, dim, True))


@op(floats=True, method=False, domain=(0.2, 3.0))
def std_op(xp, x, out=None):
    """Square root of a variance, with gradient 0 at 0."""
    return xp.sqrt(x, out=out)


@std_op.gradient
def _(g, out):
    return g / where(out == 0, math.inf, out * 2)


# -- medians, k-th values, modes --------------------------------------------------------------


def _middles(s: Any) -> Any:
    return [((s.distinct(3, 5),), {}), *(((s.distinct(3, 4, 2),), {"dim": dim, "keepdim": keep})
            for dim in (0, -1) for keep in (False, True))]  # fmt: skip


@composite(result="Any", sample=_middles)
def median(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Median of all elements, or (values, indices) along `dim`; the lower of two. NaN if any is NaN."""
    return _median("median", x, dim, keepdim, lambda size, missing: where(
        missing > 0, size - missing, missing * 0 + (size - 1) // 2))  # fmt: skip


@composite(result="Any", sample=_middles)
def nanmedian(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Median ignoring NaN; see `median`."""
    return _median("nanmedian", x, dim, keepdim, lambda size, missing: ((size - missing - 1).clamp(min=0)) // 2)


def _median(name: str, x: Any, dim: int | None, keepdim: bool, rank: Callable[[Any, Any], Any]) -> Any:
    if dim is None:
        if x.numel() == 0:
            return x.sum() + math.nan if x.is_floating_point() else x.new_zeros(())
        return _median(name, x.reshape(-1), 0, False, rank).values
    result = getattr(return_types, name)
    axis = wrap_dim(name, dim, x.ndim)
    check_nonempty(name, x.spec, dim)
    if x.ndim == 0:
        return result(x.clone(), x.new_zeros(()).to(dtypes.int64))
    ordered = sort(x, axis)
    at = rank(x.shape[axis], x.isnan().sum(axis, True))
    return _select_outputs(result, [part.gather(axis, at) for part in ordered], axis, keepdim)


def _select_outputs(result: Any, outputs: Sequence[Any], dim: int, keepdim: bool) -> Any:
    return result(*(outputs if keepdim else [part.squeeze(dim) for part in outputs]))


@composite(result="Any", sample=lambda s: [((s.distinct(3, 5), k), {}) for k in (1, 5)]
           + [((s.distinct(3, 5), 2), {"dim": 0, "keepdim": True})])  # fmt: skip
def kthvalue(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along `dim` (k counts from 1) and its index."""
    axis = wrap_dim("kthvalue", dim, x.ndim)
    size = x.shape[axis] if x.ndim else 1
    if not 1 <= k <= size:
        raise ShapeError(f"kthvalue: k must be 1 to {size}, the size of dimension {dim}, not {k}")
    if x.ndim == 0:
        return return_types.kthvalue(x.clone(), x.new_zeros(()).to(dtypes.int64))
    return _select_outputs(
        return_types.kthvalue, [part.narrow(axis, k - 1, 1).contiguous() for part in sort(x, axis)], axis, keepdim
    )


@op("other", method=False, outputs=2, sample=lambda s: [((s.distinct(3, 7),), {"dim": dim}) for dim in (0, 1)])
def mode_op(xp, x, dim: int):
    """Most frequent value along `dim` (kept with size 1) and its last index."""
    order = stable_order(xp, x, dim, False)
    values = xp.take_along_axis(x, order, axis=dim)
    ones = (1,) * x.ndim
    positions = xp.arange(x.shape[dim]).reshape((*ones[:dim], -1, *ones[dim + 1 :]))
    changes = xp.diff(values, axis=dim) != 0
    starts = xp.zeros(x.shape, xp.int64)
    starts[(slice(None),) * dim + (slice(1, None),)] = changes * positions[(slice(None),) * dim + (slice(1, None),)]
    best = (positions - running_extreme(xp, starts, dim, True)[0]).argmax(axis=dim, keepdims=True)
    return xp.take_along_axis(values, best, axis=dim), xp.take_along_axis(order, best, axis=dim)


@mode_op.shape
def _(x: Spec, dim: int):
    shape = tuple(1 if i == dim % x.ndim else size for i, size in enumerate(x.shape))
    return Spec(shape, x.dtype), Spec(shape, dtypes.int64)


@mode_op.gradient
def _(g, out1, x: Spec, dim):
    return gather_backward(g[0], out1, x.shape, dim)


@composite(result="Any", sample=lambda s: [((s.repeated(3, 7),), {}), ((s.repeated(6, 3),), {"dim": 0}),
                                           ((s.repeated(3, 7),), {"keepdim": True})])  # fmt: skip
def mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Most frequent value along `dim` (the smallest if several) and its last index."""
    axis = wrap_dim("mode", dim, x.ndim)
    check_nonempty("mode", x.spec, dim)
    if x.ndim == 0:
        return return_types.mode(x.clone(), x.new_zeros(()).to(dtypes.int64))
    return _select_outputs(return_types.mode, mode_op(x, dim=axis), axis, keepdim)


# -- quantiles --------------------------------------------------------------------------------


def _fractions(s: Any) -> Any:
    x, q = s.normal(3, 5), s.uniform(0, 1, 3)
    modes = ("linear", "lower", "higher", "midpoint", "nearest")
    return [((x, 0.3), {}), ((x, q), {}), ((x, q), {"dim": 1}), ((x, 0.5), {"dim": 0, "keepdim": True}),
            *(((x, q), {"dim": 1, "interpolation": mode}) for mode in modes)]  # fmt: skip


@composite(sample=_fractions)
def quantile(x: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """q-th quantiles of all elements or along `dim`; NaN if any element is NaN."""
    return _quantile("quantile", x, q, dim, keepdim, interpolation, ignore=False)


@composite(sample=_fractions)
def nanquantile(x: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """Quantiles ignoring NaN; see `quantile`."""
    return _quantile("nanquantile", x, q, dim, keepdim, interpolation, ignore=True)


def _quantile(name: str, x: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, *, ignore: bool) -> Any:
    q = q if hasattr(q, "dtype") else x.new_tensor(float(q))
    if not x.is_floating_point() or q.dtype is not x.dtype:
        raise DTypeError(f"{name}(): x and q must have one floating dtype, not {x.dtype.name} and {q.dtype.name}")
    if q.ndim > 1:
        raise ShapeError(f"{name}(): q must be a scalar or a vector, not {format_shape(q.shape)}")
    kept_shape = [1] * x.ndim
    if dim is None:
        axis, x = 0, x.reshape(-1)
    else:
        axis = wrap_dim(name, dim, x.ndim)
        kept_shape = [1 if i == axis else size for i, size in enumerate(x.shape)]
    check_nonempty(name, x.spec, axis)
    values = sort(x.movedim(axis, -1) if x.ndim else x.reshape(1), -1).values
    ranks = _ranks(values, q.reshape(-1), ignore)
    result = _between(values, ranks, interpolation).movedim(-1, 0)
    result = result.reshape((-1, *kept_shape)) if keepdim else result
    return result if q.ndim else result.squeeze(0)


def _ranks(values: Any, q: Any, ignore: bool) -> Any:
    """Fractional indices of the quantiles in the sorted elements; NaN is sorted last."""
    missing = values.isnan().sum(-1, True)
    last = values.shape[-1] - 1
    if ignore:
        return q * (last - missing).clamp(min=0)
    return where(missing > 0, last, q * last)


def _between(values: Any, ranks: Any, interpolation: str) -> Any:
    """Interpolate sorted values at fractional indices."""
    roundings = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}
    if interpolation in roundings:
        return values.gather(-1, roundings[interpolation]().long())
    if interpolation not in ("linear", "midpoint"):
        raise ValueError(
            f"interpolation must be 'linear', 'lower', 'higher', 'midpoint' or 'nearest', not {interpolation!r}"
        )
    below = ranks.floor()
    weight = ranks - below if interpolation == "linear" else (ranks > below) * 0.5
    low, high = values.gather(-1, below.long()), values.gather(-1, ranks.ceil().long())
    return low.lerp(high, weight.to(values.dtype))
