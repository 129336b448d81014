"""Maxima and minima with their indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.indexing.gather import gather_backward
from engine.ops.record import op
from engine.ops.reduction.reductions import amax, amin, check_nonempty, over
from engine.ops.shape_rules import reduced, wrap_dim
from engine.shape import Spec


@op("reduce", sample=lambda s: [*s.reduced(several=False), ((s.repeated(3, 7),), {"dim": 1})])
def argmax(xp, x, dim: int | None = None, keepdim: bool = False):
    """Index of the maximum along `dim`, or in the flattened tensor; the first of equal ones."""
    return xp.asarray(x.argmax(axis=dim, keepdims=keepdim), np.int64)


@op("reduce", sample=lambda s: [*s.reduced(several=False), ((s.repeated(3, 7),), {"dim": 1})])
def argmin(xp, x, dim: int | None = None, keepdim: bool = False):
    """Index of the minimum along `dim`, or in the flattened tensor; the first of equal ones."""
    return xp.asarray(x.argmin(axis=dim, keepdims=keepdim), np.int64)


for _record in (argmax, argmin):
    over(_record, lambda dtype: dtypes.int64, allows_empty=False)


@op("reduce", method=False, outputs=2, sample=lambda s: [
    ((s.distinct(3, 4, 2),), {"dim": dim, "keepdim": keep, "largest": largest})
    for dim, keep, largest in ((0, False, True), (-1, True, False), (1, False, False))
])  # fmt: skip
def max_or_min(xp, x, dim: int, keepdim: bool, largest: bool):
    """Values and indices of the maximum or minimum along one dimension."""
    index = (x.argmax if largest else x.argmin)(axis=dim, keepdims=True)
    value = xp.take_along_axis(x, index, axis=dim)
    index = xp.asarray(index, np.int64)
    return (value, index) if keepdim else (value.squeeze(dim), index.squeeze(dim))


@max_or_min.shape
def _(x: Spec, dim: int, keepdim: bool, largest: bool):
    check_nonempty("max" if largest else "min", x, dim)
    shape = reduced("max" if largest else "min", x, dim, keepdim)
    return Spec(shape, x.dtype), Spec(shape, dtypes.int64)


@max_or_min.gradient
def _(g, out1, x: Spec, dim, keepdim):
    value, index = g[0], out1
    if not keepdim:
        value, index = value.unsqueeze(dim), index.unsqueeze(dim)
    return gather_backward(value, index, x.shape, dim)


def _extremes(s: Any) -> Any:
    return [((s.distinct(3, 4),), {}), ((s.distinct(3, 4, 2),), {"dim": 1}), ((s.distinct(3, 4), -1, True), {}),
            ((s.normal(3, 4), s.normal(4)), {}), ((s.repeated(3, 7),), {"dim": 1}),
            ((s.repeated(3, 7),), {}), ((s.normal(),), {"dim": 0})]  # fmt: skip


@composite(result="Any", sample=_extremes)
def max(x: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """Maximum of all elements; (values, indices) along `dim`; elementwise if `dim` is a tensor."""
    return _extreme(x, dim if other is None else other, keepdim, True)


@composite(result="Any", sample=_extremes)
def min(x: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """Minimum of all elements; (values, indices) along `dim`; elementwise if `dim` is a tensor."""
    return _extreme(x, dim if other is None else other, keepdim, False)


def _extreme(x: Any, dim: Any, keepdim: bool, largest: bool) -> Any:
    if dim is None:
        return amax(x) if largest else amin(x)
    if not isinstance(dim, int):
        return x.maximum(dim) if largest else x.minimum(dim)
    result = return_types.max if largest else return_types.min
    if x.ndim == 0:
        wrap_dim("max" if largest else "min", dim, 0)
        return result(*(f.reshape(()) for f in max_or_min(x.reshape(1), dim=0, keepdim=True, largest=largest)))
    return result(*max_or_min(x, dim=dim, keepdim=keepdim, largest=largest))


@composite(result="Any", sample=lambda s: [((s.distinct(3, 4),), {}), ((s.distinct(3, 4),), {"dim": 1}),
                                           ((s.distinct(3, 4),), {"dim": 0, "keepdim": True})])  # fmt: skip
def aminmax(x: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Minimum and maximum of all elements or along `dim`."""
    return return_types.aminmax(amin(x, dim, keepdim), amax(x, dim, keepdim))
