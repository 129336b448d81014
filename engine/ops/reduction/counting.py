"""Histograms, unique values and binary search in sorted sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.errors import ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.record import op
from engine.shape import Spec, format_shape

_DEPENDS = "the shape of the result depends on the values, which a tensor on the meta device does not have"


def _no_shape(name: str, remedy: str = "") -> ShapeError:
    return ShapeError(f"{name}: {_DEPENDS}.{remedy}")


@op("other", method=False, sample=lambda s: [((s.integers(5, 9), None), {"minlength": n}) for n in (0, 8)])
def bincount_op(xp, x, weights=None, minlength: int = 0):
    """Count of each non-negative integer, or the sum of its weights."""
    if x.ndim != 1 or dtypes.is_floating(x.dtype) or (x.size and x.min() < 0):
        raise ShapeError("bincount: the input must be a vector of non-negative integers")
    result = xp.bincount(x, weights=weights, minlength=minlength)
    return result if weights is None or weights.dtype != np.float32 else result.astype(np.float32)


@bincount_op.shape
def _(x: Spec, weights: Spec | None = None, minlength: int = 0):
    raise _no_shape("bincount")


@composite(sample=lambda s: [
    ((s.integers(5, 9),), {}), ((s.integers(5, 9), s.normal(9)), {}), ((s.integers(5, 9),), {"minlength": 8}),
])  # fmt: skip
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Count of each non-negative integer, or the sum of its weights."""
    if weights is not None and weights.dtype is not dtypes.float32:
        weights = weights.to(dtypes.float64)
    return bincount_op(x, weights, minlength=minlength)


@op("other", sample=lambda s: [
    ((s.normal(3, 9),), {}), ((s.normal(20),), {"bins": 5, "min": -1.0, "max": 1.0}), ((s.normal(0),), {"bins": 3}),
])  # fmt: skip
def histc(xp, x, bins: int = 100, min: float = 0, max: float = 0):
    """Histogram of `bins` equal bins from `min` to `max`; if both are 0, from the smallest to the largest element."""
    low, high = float(min), float(max)
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    flat = x.reshape(-1)
    inside = flat[(flat >= low) & (flat <= high)]
    at = xp.minimum(((inside - low) / (high - low) * bins).astype(xp.int64), bins - 1)
    counts = xp.bincount(at, minlength=bins)
    return counts.astype(x.dtype)


@histc.shape
def _(x: Spec, bins: int = 100, min: float = 0, max: float = 0):
    return (bins,)


@composite(
    result="Any",
    sample=lambda s: [
        ((s.normal(20), 5), {}),
        ((s.normal(20), 5), {"range": (-1.0, 1.0)}),
        ((s.normal(20), 4), {"weight": s.uniform(0, 1, 20), "density": True}),
        ((s.normal(9), s.dtype(1) * np.arange(4)), {}),
    ],
)
def histogram(x: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """Histogram (counts or sums of weights) and its bin edges; `bins` is a number of bins or the edges."""
    flat = x.detach().reshape(-1)
    if hasattr(bins, "dtype"):
        edges = bins
    else:
        low, high = range or ((flat.min().item(), flat.max().item()) if flat.numel() else (0.0, 1.0))
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = x.new_tensor(np.linspace(low, high, bins + 1))
    number = edges.shape[0] - 1
    inside = (flat >= edges[0]) & (flat <= edges[number])
    at = (searchsorted(edges, flat, right=True) - 1).clamp(0, number - 1)
    mass = inside.to(x.dtype) if weight is None else weight.reshape(-1) * inside
    counts = x.new_zeros(number).scatter_add(0, at, mass)
    if density:
        counts = counts / (counts.sum() * edges.diff())
    return return_types.histogram(counts, edges)


# -- binary search ------------------------------------------------------------------


def _sorted_rows(s: Any) -> Any:
    rows, sorted_values = np.sort(s.repeated(3, 6) + s.dtype(2), -1), np.sort(s.repeated(6) + s.dtype(2))
    return [((sorted_values, s.repeated(2, 4)), {"right": right}) for right in (False, True)] + [
        ((rows, s.repeated(3, 4)), {}),
        ((sorted_values, s.repeated(3)), {"side": "right"}),
        ((sorted_values, s.repeated(3)), {"out_int32": True}),
    ]


@op(
    "other",
    method=False,
    promotes=True,
    sample=lambda s: [((a, b), {"right": True}) for (a, b), _ in _sorted_rows(s)[:3]],
)
def searchsorted_op(xp, edges, x, right: bool = False):
    """Number of sorted `edges` below each element of x; with `right`, below or equal to it."""
    side = "right" if right else "left"
    if edges.ndim == 1:
        return xp.asarray(xp.searchsorted(edges, x, side=side), xp.int64)
    out = xp.empty(x.shape, xp.int64)
    for row in np.ndindex(x.shape[:-1]):
        out[row] = xp.searchsorted(edges[row], x[row], side=side)
    return out


@searchsorted_op.shape
def _(edges: Spec, x: Spec, right: bool = False):
    if edges.ndim == 0 or (edges.ndim > 1 and edges.shape[:-1] != x.shape[:-1]):
        raise ShapeError(
            f"searchsorted: rows of {format_shape(x.shape)} cannot be searched in rows of {format_shape(edges.shape)}: "
            "all sizes but the last must agree, or the sorted sequence has one dimension"
        )
    return Spec(x.shape, dtypes.int64)


@composite(method=False, sample=_sorted_rows)
def searchsorted(sorted_sequence: Any, x: Any, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Any = None) -> Any:  # fmt: skip
    """Insertion indices that keep sorted rows in order: before equal elements, or after them with `right`."""
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    if not hasattr(x, "dtype"):
        x = sorted_sequence.new_tensor(x)
    result = searchsorted_op(sorted_sequence.detach(), x.detach(), right=right or side == "right")
    return result.to(dtypes.int32) if out_int32 else result


@composite(method=False, sample=lambda s: [
    ((s.repeated(3, 4), np.sort(s.repeated(5) + s.dtype(2))), {"right": right}) for right in (False, True)
])  # fmt: skip
def bucketize(x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """Index of the bucket, between sorted boundaries, of each element."""
    if not hasattr(x, "dtype"):
        x = boundaries.new_tensor(x)
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


# -- unique values --------------------------------------------------------------------------


@op(
    "other",
    method=False,
    outputs=3,
    sample=lambda s: [((s.repeated(9),), {"dim": None}), ((s.repeated(6, 2),), {"dim": 0})],
)
def unique_op(xp, x, dim: int | None = None):
    """Sorted unique values, the index of each element in them, and their counts."""
    values, inverse, counts = xp.unique(x, return_inverse=True, return_counts=True, axis=dim)
    inverse = inverse.reshape(x.shape if dim is None else (x.shape[dim],))
    return values, xp.asarray(inverse, xp.int64), xp.asarray(counts, xp.int64)


@unique_op.shape
def _(x: Spec, dim: int | None = None):
    raise _no_shape("unique")


def _repeats(s: Any) -> Any:
    return [((s.repeated(9),), {}), ((s.repeated(3, 5),), {"return_inverse": True}), ((s.repeated(6, 2),), {"dim": 0}),
            ((s.repeated(9),), {"return_counts": True}), ((s.repeated(6, 1),), {
                "return_inverse": True, "return_counts": True, "dim": 0})]  # fmt: skip


@composite(result="Any", sample=_repeats)
def unique(x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:  # fmt: skip
    """Sorted unique values (or slices along `dim`); optionally inverse indices and counts."""
    return _requested_outputs(unique_op(x.detach(), dim=dim), return_inverse, return_counts)


def _requested_outputs(result: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = result
    parts = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return parts if len(parts) > 1 else values


@op(
    "other",
    method=False,
    outputs=3,
    sample=lambda s: [((s.repeated(9),), {"dim": None}), ((s.repeated(6, 1),), {"dim": 0})],
)
def unique_consecutive_op(xp, x, dim: int | None = None):
    """First element of each run of equal elements, the run index of each element, and the run lengths."""
    flat = x.reshape(-1) if dim is None else xp.moveaxis(x, dim, 0)
    later = flat[1:] != flat[:-1]
    new = later.any(axis=tuple(range(1, later.ndim))) if later.ndim > 1 else later
    starts = xp.concatenate([xp.ones(min(len(flat), 1), bool), new])
    number = xp.cumsum(starts) - 1
    values = flat[starts] if dim is None else xp.moveaxis(flat[starts], 0, dim)
    inverse = number.reshape(x.shape) if dim is None else number
    return values, xp.asarray(inverse, xp.int64), xp.asarray(xp.bincount(number), xp.int64)


@unique_consecutive_op.shape
def _(x: Spec, dim: int | None = None):
    raise _no_shape("unique_consecutive")


@composite(result="Any", sample=_repeats)
def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """First element of each run of equal elements; optionally run index of each element and run lengths."""
    return _requested_outputs(unique_consecutive_op(x.detach(), dim=dim), return_inverse, return_counts)
