"""Weighted sums of elements along one dimension, for interpolation and adaptive average pooling."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import ShapeError
from engine.ops.record import op
from engine.ops.shape_rules import wrap_dim
from engine.shape import Spec

MAX_RESULT_ELEMENTS = 2**24
"""Maximum size of a resampled dimension, and of a pooled channel: tables have an entry for each element."""


@dataclass(frozen=True, eq=False)
class ResampleTable:
    """Indices and weights, terms × results, of the elements that each result sums, from a dimension of `size`.

    Results with fewer terms than others repeat a term with weight 0.
    """

    index: np.ndarray[Any, Any]
    weight: np.ndarray[Any, Any]
    size: int

    @functools.cached_property
    def transposed(self) -> ResampleTable:
        """Transposed table: the results that each element contributes to."""
        results = np.broadcast_to(np.arange(self.index.shape[1]), self.index.shape)[self.weight != 0]
        elements, weights = self.index[self.weight != 0], self.weight[self.weight != 0]
        order = np.argsort(elements, kind="stable")
        elements, results, weights = elements[order], results[order], weights[order]
        counts = np.bincount(elements, minlength=self.size)
        term = np.arange(len(elements)) - np.repeat(np.cumsum(counts) - counts, counts)
        terms = max(1, int(counts.max(initial=0)))
        index, weight = np.zeros((terms, self.size), np.int64), np.zeros((terms, self.size))
        index[:, elements[term == 0]] = results[term == 0]
        index[term, elements], weight[term, elements] = results, weights
        return ResampleTable(index, weight, self.index.shape[1])


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 4, 3),), {"dim": 1, "table": averages(4, 3)}),
    ((s.normal(2, 3),), {"dim": -1, "table": averages(3, 2)}),
])  # fmt: skip
def resample(xp, x, dim: int, table: ResampleTable):
    """Weighted sums of elements along `dim` by `table`."""
    index, weight = table.index, table.weight
    wide = x.astype(xp.float32) if x.dtype.itemsize <= 2 and x.dtype.kind not in "iub" else x
    along = [1] * x.ndim
    along[dim] = index.shape[1]
    out: Any = None
    for elements, factors in zip(index, weight, strict=True):
        term = xp.take(wide, xp.asarray(elements), axis=dim)
        if (factors != 1).any():
            term = term * xp.asarray(factors.astype(wide.dtype)).reshape(along)
        out = term if out is None else out + term
    return out.astype(x.dtype, copy=False)


@resample.shape
def _(x: Spec, dim: int, table: Any):
    axis = wrap_dim("resample", dim, x.ndim)
    if x.shape[axis] != table.size:
        raise ShapeError(f"resample: the table is for a size of {table.size}, not {x.shape[axis]}")
    return (*x.shape[:axis], table.index.shape[1], *x.shape[axis + 1 :])


@resample.gradient
def _(g, dim, table):
    return resample(g, dim, table.transposed)


def averages(size: int, results: int) -> ResampleTable:
    """Table for averages: result i is the mean of elements ⌊i·size/results⌋ to ⌈(i+1)·size/results⌉ − 1."""
    index, valid = spans(size, results)
    return ResampleTable(index, valid / valid.sum(0), size)


def check_result_size(elements: int) -> None:
    """Raises ShapeError for an output with more elements than a resampling table supports."""
    if elements > MAX_RESULT_ELEMENTS:
        raise ShapeError(
            f"the result would have {elements:,} elements, the maximum is {MAX_RESULT_ELEMENTS:,}. Use a smaller size"
        )


def spans(size: int, results: int) -> tuple[Any, Any]:
    """Indices of the elements of each of `results` parts, terms × results, and a mask that is false for filler."""
    check_result_size(results)
    axis = np.arange(results)
    start, end = axis * size // results, -(-(axis + 1) * size // results)
    index = start + np.arange(int((end - start).max(initial=1)))[:, None]
    return np.minimum(index, end - 1), index < end
