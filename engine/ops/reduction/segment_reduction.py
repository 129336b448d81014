"""Reductions over segments of a dimension, and multi-dimensional histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.errors import DTypeError, ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.movement.joining import stack
from engine.ops.reduction.counting import searchsorted
from engine.ops.shape_rules import wrap_dim
from engine.shape import format_shape

EMPTY = {"sum": 0.0, "mean": math.nan, "max": -math.inf, "min": math.inf, "prod": 1.0}
"""Reductions and their values for empty segments."""


def _parts(s: Any) -> Any:
    x, lengths = s.distinct(6, 3), np.array([2, 0, 4])
    rows = np.array([[1, 2], [3, 0]])
    calls = [((x, reduction), {"lengths": lengths}) for reduction in EMPTY]
    calls += [((x, reduction), {"offsets": np.array([0, 2, 2, 6]), "initial": 0.5}) for reduction in EMPTY]
    return [*calls, ((s.distinct(2, 3, 2), "sum"), {"lengths": rows, "axis": 1, "unsafe": True})]


@composite(method=False, sample=_parts)
def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Any:
    """Sum, mean, maximum, minimum or product of each segment of a dimension.

    Args:
        data: tensor to reduce
        reduce: "sum", "mean", "max", "min" or "prod"
        lengths: length of each segment; with the dimensions of `data` up to `axis`
        indices: must be None; PyTorch does not support it either
        offsets: start of each segment and end of the last one, instead of `lengths`
        axis: dimension to reduce
        unsafe: do not check that the segments cover the dimension
        initial: initial value of each reduction, and the value of empty segments
    """
    if reduce not in EMPTY:
        raise ValueError(f"segment_reduce(): reduce must be one of {', '.join(EMPTY)}, not {reduce!r}")
    _floating("segment_reduce", data)
    if indices is not None or (lengths is None) == (offsets is None):
        raise ValueError("segment_reduce(): pass either lengths or offsets; indices are not supported, as in PyTorch")
    dim = wrap_dim("segment_reduce", axis, data.ndim)
    count = (lengths if offsets is None else offsets[..., 1:]).shape[-1]
    shape = (*data.shape[:dim], count, *data.shape[dim + 1 :])
    if data.is_meta:
        return data.new_empty(shape)
    if dim:
        arguments = {"lengths": lengths, "offsets": offsets}
        rows = [
            segment_reduce(
                data[i], reduce, axis=dim - 1, unsafe=unsafe, initial=initial,
                **{name: None if value is None else value[i] for name, value in arguments.items()},
            )
            for i in range(data.shape[0])
        ]  # fmt: skip
        return stack(rows) if rows else data.sum(dim, True).expand(shape)
    sizes = lengths.tolist() if offsets is None else np.diff(offsets.tolist()).tolist()
    start = 0 if offsets is None else int(offsets[0])
    if not unsafe and (min(sizes, default=0) < 0 or (offsets is None and sum(sizes) != data.shape[0])):
        raise ShapeError(f"segment_reduce(): segments of {sizes} do not cover {format_shape(data.shape)}")
    parts = data[start : start + sum(sizes)].split(sizes) if sizes else ()
    result = [_reduce(part, reduce, initial) for part in parts]
    return stack(result) if result else data[:0]


def _reduce(part: Any, reduction: str, initial: float | None) -> Any:
    if not part.shape[0]:
        return part.sum(0) + (EMPTY[reduction] if initial is None else initial)
    if reduction in ("max", "min"):
        result = part.amax(0) if reduction == "max" else part.amin(0)
        return result if initial is None else result.clamp(**{"min" if reduction == "max" else "max": initial})
    if reduction == "prod":
        return part.prod(0) * (1.0 if initial is None else initial)
    total = part.sum(0) + (0.0 if initial is None else initial)
    return total / part.shape[0] if reduction == "mean" else total


def _points(s: Any) -> Any:
    x, weight = s.uniform(0, 1, 20, 2), s.uniform(0, 1, 20)
    edges = [np.linspace(0, 1, 3).astype(s.dtype), np.linspace(0.1, 0.8, 5).astype(s.dtype)]
    return [((x, [2, 3]), {}), ((x, 4), {"weight": weight, "density": True}), ((x, edges), {}),
            ((x, [2, 2]), {"range": [0.0, 0.5, 0.2, 1.0]})]  # fmt: skip


@composite(method=False, result="Any", sample=_points)
def histogramdd(
    input: Any,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Any = None,
    density: bool = False,
) -> Any:
    """Multi-dimensional histogram (counts or sums of weights) of points, and its bin edges.

    Args:
        input: points; the last dimension holds their coordinates
        bins: number of equal bins for all dimensions or for each, or the edges for each
        range: lowest and highest edge for each dimension; default: those of the points
        weight: weight of each point
        density: divide so that the integral is 1
    """
    _floating("histogramdd", input)
    size = input.shape[-1]
    points = input.detach().reshape(-1, size)
    bins_list = [bins] * size if isinstance(bins, int) else list(bins)
    if len(bins_list) != size:
        raise ShapeError(f"histogramdd(): points of {size} coordinates need {size} bins, not {len(bins_list)}")
    if input.is_meta:
        shape = [bin if isinstance(bin, int) else len(bin) - 1 for bin in bins_list]
        return return_types.histogramdd(input.new_empty(shape), tuple(input.new_empty(n + 1) for n in shape))
    edges = [
        _edges(points[:, d], bins_list[d], None if range is None else range[2 * d : 2 * d + 2]) for d in _up_to(size)
    ]
    shape = [len(edge) - 1 for edge in edges]
    at, inside = points.new_zeros(len(points)).long(), points.new_ones(len(points)).bool()
    for d in _up_to(size):
        x = points[:, d].contiguous()
        inside = inside & (x >= edges[d][0]) & (x <= edges[d][-1])
        at = at * shape[d] + (searchsorted(edges[d], x, right=True) - 1).clamp(0, shape[d] - 1)
    mass = inside.to(input.dtype) if weight is None else weight.reshape(-1) * inside
    counts = points.new_zeros(math.prod(shape)).scatter_add(0, at, mass).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for d in _up_to(size):
            counts = counts / edges[d].diff().reshape([-1 if i == d else 1 for i in _up_to(size)])
    return return_types.histogramdd(counts, tuple(edges))


_up_to = range


def _floating(name: str, x: Any) -> None:
    if not x.is_floating_point():
        raise DTypeError(f"{name}() needs floating point, not {x.dtype.name}.", in_code="Convert with .float().")


def _edges(x: Any, bins: Any, bounds: Sequence[float] | None) -> Any:
    if hasattr(bins, "dtype"):
        return bins
    low, high = bounds or ((x.min().item(), x.max().item()) if len(x) else (0.0, 1.0))
    if low == high:
        low, high = low - 0.5, high + 0.5
    return x.new_tensor(np.linspace(low, high, bins + 1))
