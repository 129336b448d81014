"""Softmax and log-softmax. The maximum is subtracted first, so that large inputs do not overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import DType, float64
from engine.ops.record import op
from engine.ops.row_blocks import as_rows, row_blocks, row_dots, sums
from engine.ops.shape_rules import wrap_dim
from engine.shape import Spec


def _sample(s: Any) -> Any:
    return [((s.normal(3, 4),), {"dim": dim}) for dim in (0, -1)] + [((s.normal(3, 4), 0, float64), {})]


def _sample_gradient(s: Any) -> Any:
    return [((s.normal(3, 4), s.normal(3, 4)), {"dim": dim}) for dim in (0, -1)]


def _by_rows(xp: Any, kernel: Any, dim: int, *arrays: Any) -> Any:
    """Apply `kernel(*rows, out)` to blocks of rows along `dim`, in float32 for half precision."""
    dtype, shape = arrays[0].dtype, arrays[0].shape
    dim = wrap_dim("softmax", dim, len(shape))
    if not arrays[0].size:
        return arrays[0].copy()
    if dtype.itemsize < 4:
        arrays = tuple(x.astype(xp.float32) for x in arrays)
    last = dim >= len(shape) - 1
    arrays = tuple(x if last else xp.moveaxis(x, dim, -1) for x in arrays)
    result = xp.empty(arrays[0].shape, arrays[0].dtype)
    *rows, target = (as_rows(x, min(len(shape), 1)) for x in (*arrays, result))
    for block in row_blocks(xp, *target.shape):
        kernel(*(x[block] for x in rows), target[block])
    if not last:
        result = xp.ascontiguousarray(xp.moveaxis(result, -1, dim))
    return result if result.dtype == dtype else result.astype(dtype)


def exponentials(xp: Any, x: Any, out: Any) -> Any:
    """Write e^(x − c) of each row into `out` and return the sums of rows as a column.

    c is the row's maximum, or 0 if all numbers are moderate, which takes half the time.
    """
    if xp is np and x.min() > -_MODERATE and x.max() < _MODERATE:
        xp.exp(x, out=out)
    else:
        xp.subtract(x, x.max(axis=1, keepdims=True), out=out)
        xp.exp(out, out=out)
    return sums(xp, out)


_MODERATE = 32.0
"""Sums of e^±32 neither overflow nor lose digits in single precision."""

_SMALL = 8.0
"""If |x| is smaller, x − ln Σ e^x is exact enough without subtracting the maximum."""


@op("other", floats=True, sample=_sample)
def softmax(xp, x, dim: int, dtype: DType | None = None):
    """Softmax along `dim`: e^x / Σ e^x."""

    def rows(x: Any, out: Any) -> None:
        out *= 1 / exponentials(xp, x, out)

    return _by_rows(xp, rows, dim, x if dtype is None else x.astype(dtype.numpy))


@softmax.gradient
def _(g, out, dim):
    return softmax_backward(g, out, dim=dim)


@op("other", method=False, sample=_sample_gradient)
def softmax_backward(xp, g, y, dim: int):
    """Backward of softmax with result y: (g − Σ g·y) · y."""

    def rows(g: Any, y: Any, slope: Any) -> None:
        xp.subtract(g, row_dots(xp, g, y), out=slope)
        slope *= y

    return _by_rows(xp, rows, dim, g, y)


@softmax_backward.gradient("g")
def _(upper, y, dim):
    return softmax_backward(upper, y, dim=dim)


@softmax_backward.gradient("y")
def _(upper, g, y, dim):
    return upper * (g - (g * y).sum(dim, True)) - g * (upper * y).sum(dim, True)


@op("other", floats=True, sample=_sample)
def log_softmax(xp, x, dim: int, dtype: DType | None = None):
    """Logarithm of softmax along `dim`: x − ln Σ e^x."""

    def rows(x: Any, out: Any) -> None:
        if xp is np and x.min() > -_SMALL and x.max() < _SMALL:
            xp.exp(x, out=out)
            xp.subtract(x, xp.log(sums(xp, out)), out=out)
            return
        centered = x - x.max(axis=1, keepdims=True)
        xp.exp(centered, out=out)
        xp.subtract(centered, xp.log(sums(xp, out)), out=out)

    return _by_rows(xp, rows, dim, x if dtype is None else x.astype(dtype.numpy))


@log_softmax.gradient
def _(g, out, dim):
    return log_softmax_backward(g, out, dim=dim)


@op("other", method=False, sample=_sample_gradient)
def log_softmax_backward(xp, g, y, dim: int):
    """Backward of log_softmax with result y: g − e^y · Σ g."""

    def rows(g: Any, y: Any, slope: Any) -> None:
        xp.exp(y, out=slope)
        slope *= sums(xp, g)
        xp.subtract(g, slope, out=slope)

    return _by_rows(xp, rows, dim, g, y)


@log_softmax_backward.gradient("g")
def _(upper, y, dim):
    return upper - (upper * y.exp()).sum(dim, True)


@log_softmax_backward.gradient("y")
def _(upper, g, y, dim):
    return -upper * y.exp() * g.sum(dim, True)


def _rule(x: Spec, dim: int, dtype: DType | None = None) -> Spec:
    wrap_dim("softmax", dim, x.ndim)
    return Spec(x.shape, dtype or x.dtype)


def _slope_rule(g: Spec, y: Spec, dim: int) -> Spec:
    return g


softmax.shape(_rule)
log_softmax.shape(_rule)
softmax_backward.shape(_slope_rule)
log_softmax_backward.shape(_slope_rule)
