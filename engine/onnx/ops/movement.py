"""Translators of ops that move elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import int64
from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.translators import NotExpressible, translates
from engine.ops.shape_rules import wrap_dim
from engine.shape import Dim, Spec, count

_END = 2**62
"""A slice end beyond every size."""


@translates("reshape", "squeeze", "unsqueeze")
def _(g, x, **_: Any):
    return g.reshape(x, g.result.shape)


@translates("permute")
def _(g, x, dims):
    ndim = g.spec(x).ndim
    return g.transpose(x, [dim % ndim for dim in dims]) if ndim else x


@translates("expand")
def _(g, x, size):
    return g.expand(x, g.result.shape)


@translates("sum_backward")
def _(g, x, shape, dims):
    kept = tuple(1 if axis in dims else size for axis, size in enumerate(shape))
    return g.expand(g.reshape(x, kept) if g.spec(x).ndim else x, g.result.shape)


@translates("cat")
def _(g, *tensors, dim: int):
    parts = [each for each in tensors if g.spec(each).shape != (0,)] or tensors[:1]
    return g.op("Concat", *parts, axis=dim) if len(parts) > 1 else g.op("Identity", *parts)


@translates("cast")
def _(g, x, dtype):
    return g.cast(x, dtype)


@translates("flip")
def _(g, x, dims):
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    if not g.spec(x).ndim or not dims:
        return x
    axes = [dim % g.spec(x).ndim for dim in dims]
    starts, ends, steps = ([value] * len(axes) for value in (-1, -_END, -1))
    return g.op("Slice", x, g.integers(*starts), g.integers(*ends), g.integers(*axes), g.integers(*steps))


@translates("roll")
def _(g, x, shifts, dims):
    shape = g.spec(x).shape
    if dims is None or dims == ():
        flat = g.reshape(x, (count(shape),))
        return g.reshape(_rolled(g, flat, _only(shifts), 0, count(shape)), shape)
    pairs = zip(_numbers(shifts), _numbers(dims), strict=True)
    for shift, dim in pairs:
        x = _rolled(g, x, shift, dim % len(shape), shape[dim])
        g.describe(x, Spec(shape, g.result.dtype))
    return x


def _numbers(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def _only(shifts: Any) -> int:
    return _numbers(shifts)[0]


def _rolled(g: GraphBuilder, x: Value, shift: int, axis: int, size: Any) -> Value:
    if not isinstance(size, Dim):
        shift = shift % size if size else 0
    if not shift:
        return g.op("Identity", x, spec=g.spec(x))
    parts = [slice_axis(g, x, axis, -shift, _END), slice_axis(g, x, axis, 0, -shift)]
    return g.op("Concat", *parts, axis=axis, spec=g.spec(x))


def slice_axis(g: GraphBuilder, x: Value, axis: int, start: Any, end: Any, step: int = 1) -> Value:
    """A slice along one dimension; start and end may be symbolic."""
    if start == 0 and isinstance(end, int) and end >= _END and step == 1:
        return x
    return g.op("Slice", x, g.size(start), g.size(end), g.integers(axis), g.integers(step))


@translates("narrow")
def _(g, x, dim: int, start: Any, length: Any):
    axis = wrap_dim("narrow", dim, g.spec(x).ndim)
    first = start + g.spec(x).shape[axis] if start < 0 else start
    return slice_axis(g, x, axis, first, first + length)


@translates("zero_pad")
def _(g, x, dim: int, before: Any, after: Any):
    axis = wrap_dim("pad", dim, g.spec(x).ndim)
    return g.op("Pad", x, g.shape((before, after)), None, g.integers(axis))


@translates("repeat")
def _(g, x, repeats):
    repeats = _numbers(repeats)
    missing = len(repeats) - g.spec(x).ndim
    wide = g.reshape(x, (*(1,) * missing, *g.spec(x).shape)) if missing else x
    return g.op("Tile", wide, g.shape(repeats)) if repeats else x


@translates("tril")
def _(g, x, diagonal: int):
    return g.op("Trilu", x, g.number(diagonal, int64), upper=0)


@translates("triu")
def _(g, x, diagonal: int):
    return g.op("Trilu", x, g.number(diagonal, int64), upper=1)


@translates("diagonal")
def _(g, x, offset: int, dim1: int, dim2: int):
    spec = g.spec(x)
    a, b = dim1 % spec.ndim, dim2 % spec.ndim
    others = [axis for axis in range(spec.ndim) if axis not in (a, b)]
    rows, columns = _known(spec.shape[a]), _known(spec.shape[b])
    index = np.diagonal(np.arange(rows * columns).reshape(rows, columns), offset)
    plane = g.transpose(x, [*others, a, b])
    flat = g.reshape(plane, (*(spec.shape[axis] for axis in others), rows * columns))
    return g.op("Gather", flat, g.constant(index.astype(np.int64)), axis=len(others))


@translates("diag_embed")
def _(g, x, shape, offset: int, dim1: int, dim2: int):
    ndim = len(shape)
    a, b = dim1 % ndim, dim2 % ndim
    others = [axis for axis in range(ndim) if axis not in (a, b)]
    rows, columns = _known(shape[a]), _known(shape[b])
    length = _known(g.spec(x).shape[-1])
    source = np.full((rows, columns), length)  # the padding
    np.fill_diagonal(source[max(-offset, 0) :, max(offset, 0) :], np.arange(length))
    padded = g.op("Pad", x, g.integers(0, 1), None, g.integers(len(others)))
    flat = g.op("Gather", padded, g.constant(source.reshape(-1).astype(np.int64)), axis=len(others))
    g.describe(flat, Spec((*(shape[axis] for axis in others), rows * columns), g.result.dtype))
    planes = g.reshape(flat, (*(shape[axis] for axis in others), rows, columns))
    order = [*others, a, b]
    return g.transpose(planes, [order.index(axis) for axis in range(ndim)])


@translates("unfold")
def _(g, x, dimension: int, size: int, step: int):
    spec = g.spec(x)
    if not spec.ndim:
        return g.reshape(x, g.result.shape) if size else slice_axis(g, g.reshape(x, (1,)), 0, 0, 0)
    axis = dimension % spec.ndim
    windows = _known(g.result.shape[axis])
    index = np.arange(windows)[:, None] * step + np.arange(size)
    found = g.op("Gather", x, g.constant(index.astype(np.int64)), axis=axis)
    g.describe(found, spec.with_shape((*spec.shape[:axis], windows, size, *spec.shape[axis + 1 :])))
    return g.transpose(found, [*range(axis + 1), *range(axis + 2, spec.ndim + 1), axis + 1])


def _known(size: Any) -> int:
    if isinstance(size, Dim):
        raise NotExpressible(f"it needs a known size, but the size is {size}")
    return size


@translates("index_along")
def _(g, x, dim: int):
    spec = g.spec(x)
    axis = dim % spec.ndim
    along = [1] * spec.ndim
    along[axis] = spec.shape[axis]
    return g.expand(g.reshape(_count_up(g, spec.shape[axis]), tuple(along)), spec.shape)


def _count_up(g: GraphBuilder, size: Any) -> Value:
    """0, 1, 2, … below a size."""
    if not isinstance(size, Dim):
        return g.constant(np.arange(size))
    end = g.op("Squeeze", g.size(size), g.integers(0))
    return g.op("Range", g.number(0, int64), end, g.number(1, int64), spec=Spec((size,), int64))


@translates("arange")
def _(g, length: Any):
    return g.cast(_count_up(g, length), g.result.dtype)


@translates("fill")
def _(g, shape, dtype: Any, value: Any):
    return g.full(shape, value, g.result.dtype)


@translates("copy_slices")
def _(g, base, value, chain):
    """Write to a view: the view of the numbers of the elements tells where the values go."""
    spec = g.spec(base)
    total = count(spec.shape)
    numbers = g.reshape(_count_up(g, total), spec.shape)
    for op, statics in chain:
        numbers = _viewed(g, op, numbers, statics)
    view = g.spec(numbers)
    values = g.expand(g.cast(value, spec.dtype), view.shape)
    flat = g.reshape(base, (total,))
    places = g.reshape(numbers, (count(view.shape),))
    out = g.op("ScatterElements", flat, places, g.reshape(values, (count(view.shape),)), axis=0, spec=g.spec(flat))
    return g.reshape(out, spec.shape)


def _viewed(g: GraphBuilder, op: Any, x: Value, statics: Any) -> Value:
    """Translate a view of another tensor."""
    found = op.infer([g.spec(x)], statics)
    return g.nested(op.name, (x,), statics, found if isinstance(found, Spec) else g.spec(x).with_shape(found))
