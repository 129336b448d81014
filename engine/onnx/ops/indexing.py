"""Translators of indexing, gathering and scattering."""

from __future__ import annotations

from typing import Any

from engine.dtypes import bool_, int64
from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.translators import NotExpressible, translates
from engine.ops.indexing.index import TensorSlot, sliced
from engine.shape import Dim, Spec

_END = 2**62


def _expanded(layout: Any, ndim: int) -> list[Any]:
    """An index with the ellipsis written out."""
    used = sum(1 for item in layout if item is not None and item is not Ellipsis)
    full = [slice(None)] * (ndim - used)
    at = next((i for i, item in enumerate(layout) if item is Ellipsis), len(layout))
    return [*layout[:at], *full, *layout[at + 1 :]]


@translates("slice")
def _(g, x, index):
    return basic_slice(g, x, index)


def basic_slice(g: GraphBuilder, x: Value, index: Any) -> Value:
    """Basic indexing with integers, slices, None and an ellipsis."""
    spec = g.spec(x)
    starts: list[Any] = []
    ends: list[Any] = []
    axes: list[int] = []
    steps: list[int] = []
    sizes = iter(enumerate(spec.shape))
    for item in _expanded(index, spec.ndim):
        if item is None:
            continue
        axis, size = next(sizes)
        part = item if isinstance(item, slice) else slice(item, item + 1 if item != -1 else _END, 1)
        if isinstance(item, slice) and not isinstance(size, Dim):
            part = slice(*item.indices(size))
        if part in (slice(None), slice(0, size, 1)):
            continue
        starts.append(part.start or 0)
        ends.append(_END if part.stop is None else part.stop)
        axes.append(axis)
        steps.append(part.step or 1)
    shape = sliced(spec.shape, index)
    if axes:
        bounds = (g.shape(starts), g.shape(ends))
        x = g.op("Slice", x, *bounds, g.integers(*axes), g.integers(*steps))
        parts = (slice(i, i + 1 or None) if isinstance(i, int) else i for i in index if i is not None)
        kept = sliced(spec.shape, tuple(parts))
        g.describe(x, spec.with_shape(kept))
    return g.reshape(x, shape) if g.spec(x).shape != shape else x


@translates("index")
def _(g, *tensors, layout, owner):
    x, *indices = tensors
    x, order, slots, position = _selected(g, x, indices, layout)
    if len(slots) == 1:
        return g.op("Gather", x, g.cast(slots[0], int64), axis=position)
    moved = g.transpose(x, order)
    shape = _common(g, slots)
    found = g.op("GatherND", moved, _stacked(g, slots, shape))
    return _placed(g, found, len(shape), position)


def _selected(
    g: GraphBuilder, x: Value, indices: list[Value], layout: Any
) -> tuple[Value, list[int], list[Value], int]:
    """The sliced tensor, the order that puts the indexed dimensions first, the indices, and their position."""
    if any(g.dtype(each) == bool_ for each in indices):
        raise NotExpressible("the shape of the result depends on the values of a mask")
    items = _expanded(layout, g.spec(x).ndim)
    if None in items:
        raise NotExpressible("an index with new dimensions between index tensors")
    basic = tuple(slice(None) if isinstance(item, TensorSlot) else item for item in items)
    x = basic_slice(g, x, basic)
    axes = [axis for axis, item in enumerate(items) if isinstance(item, TensorSlot)]
    slots = [indices[items[axis].number] for axis in axes]
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    order = [*axes, *(axis for axis in range(g.spec(x).ndim) if axis not in axes)]
    return x, order, slots, axes[0] if adjacent else 0


def _common(g: GraphBuilder, indices: list[Value]) -> tuple[Any, ...]:
    shapes = [g.spec(each).shape for each in indices]
    ndim = max(map(len, shapes))
    wide = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*wide, strict=True))


def _stacked(g: GraphBuilder, indices: list[Value], shape: tuple[Any, ...]) -> Value:
    """Index tensors as one with a last dimension."""
    parts = [g.expand(g.cast(each, int64), shape) for each in indices]
    rows = [g.reshape(part, (*shape, 1)) for part in parts]
    return g.op("Concat", *rows, axis=-1, spec=Spec((*shape, len(rows)), int64))


def _placed(g: GraphBuilder, found: Value, width: int, position: int) -> Value:
    """Move the dimensions of the index from the front to their position."""
    ndim = g.result.ndim
    if not position:
        return found
    order = [*range(width, width + position), *range(width), *range(width + position, ndim)]
    return g.op("Transpose", found, perm=order)


@translates("index_put")
def _(g, *tensors, layout):
    target, value, *indices = tensors
    return _scattered(g, target, value, indices, layout, "none")


@translates("index_backward")
def _(g, *tensors, shape, layout):
    value, *indices = tensors
    zeros = g.full(shape, 0, g.dtype(value))
    return _scattered(g, zeros, value, indices, layout, "add")


def _scattered(
    g: GraphBuilder, target: Value, value: Value, indices: list[Value], layout: Any, reduction: str
) -> Value:
    spec = g.spec(target)
    whole, order, slots, position = _selected(g, target, indices, layout)
    if g.spec(whole).shape != spec.shape:
        raise NotExpressible("a write to a slice and to index tensors at the same time")
    shape = _common(g, slots)
    rest = tuple(spec.shape[axis] for axis in order[len(slots) :])
    indexed = (*rest[:position], *shape, *rest[position:])
    values = g.expand(g.cast(value, spec.dtype), indexed)
    if position:
        width = len(shape)
        front = [*range(position, position + width), *range(position), *range(position + width, len(indexed))]
        values = g.transpose(values, front)
    moved = g.transpose(target, order)
    out = g.op("ScatterND", moved, _stacked(g, slots, shape), values, reduction=reduction, spec=g.spec(moved))
    return g.transpose(out, [order.index(axis) for axis in range(spec.ndim)])


@translates("slice_backward")
def _(g, x, shape, index):
    items = _expanded(index, len(shape))
    before: list[Any] = []
    after: list[Any] = []
    kept: list[Any] = []
    sizes = iter(shape)
    for item in items:
        if item is None:
            continue
        size = next(sizes)
        part = item if isinstance(item, slice) else slice(item % size, item % size + 1)
        start, stop, step = (0, size, 1) if part == slice(None) else part.indices(size)
        if step != 1:
            raise NotExpressible("a write to every second element of a slice")
        before.append(start)
        after.append(size - max(stop, start))
        kept.append(max(stop - start, 0) if part != slice(None) else size)
    return g.op("Pad", g.reshape(x, tuple(kept)), g.shape((*before, *after)))


@translates("gather")
def _(g, x, index, dim: int, owner):
    return g.op("GatherElements", x, g.cast(index, int64), axis=dim)


@translates("gather_backward")
def _(g, x, index, shape, dim: int, unique: bool, owner):
    zeros = g.full(tuple(shape), 0, g.dtype(x))
    return _scatter_elements(g, zeros, index, x, dim, None if unique else "add")


@translates("scatter")
def _(g, x, src, index, dim: int):
    return _scatter_elements(g, x, index, src, dim, None)


@translates("scatter_reduce")
def _(g, x, src, index, dim: int, reduction: str):
    kinds = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
    if reduction not in kinds:
        raise NotExpressible(f"ONNX cannot scatter with the reduction {reduction!r}")
    return _scatter_elements(g, x, index, src, dim, kinds[reduction])


def _scatter_elements(g: GraphBuilder, x: Value, index: Value, source: Value, dim: int, reduction: str | None) -> Value:
    return g.op("ScatterElements", x, g.cast(index, int64), g.cast(source, g.dtype(x)), axis=dim, reduction=reduction)


__all__ = ["basic_slice"]
