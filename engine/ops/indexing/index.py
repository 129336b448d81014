"""Indexing with slices (views) and with index tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.errors import IndexRangeError, ShapeError
from engine.ops.indexing.index_checks import IndexCaller, check_range
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes
from engine.shape import Dim, Shape, Spec, count, format_shape

Index: TypeAlias = tuple[Any, ...]


# -- slices: views ----------------------------------------------------------------------------


@op("movement", view=True, method=False, sample=lambda s: [
    ((s.normal(4, 5),), {"index": index})
    for index in ((1,), (slice(1, 3), -1), (..., None, slice(None, None, 2)), (slice(3, 1),))
])  # fmt: skip
def slice_(xp, x, index: Index):
    """Basic indexing with integers, slices, None and one ellipsis: a view."""
    return x[index] if Ellipsis in index else x[(*index, Ellipsis)]  # NumPy would return a scalar


@slice_.shape
def _(x: Spec, index: Index):
    return sliced(x.shape, index)


@slice_.gradient
def _(g, x: Spec, index):
    return slice_backward(g, shape=x.shape, index=index)


@op("movement", method=False, sample=lambda s: [
    ((s.normal(2, 5),), {"shape": (4, 5), "index": (slice(1, 3),)}),
])  # fmt: skip
def slice_backward(xp, x, shape: Shape, index: Index):
    """Backward of basic indexing: zeros of `shape` with `x` at `index`."""
    out = xp.zeros(shape, x.dtype)
    out[index] = x
    return out


@slice_backward.shape
def _(x: Spec, shape: Shape, index: Index):
    return shape


@slice_backward.gradient
def _(g, index):
    return slice_(g, index=index)


def sliced(shape: Shape, index: Index) -> Shape:
    """Shape after basic indexing. A slice of a symbolic dimension must be full or have a known length."""
    index_count = sum(1 for item in index if item is not None and item is not Ellipsis)
    if index_count > len(shape):
        raise IndexRangeError(
            f"too many indices: got {index_count} for a tensor of {len(shape)} dimensions ({format_shape(shape)})"
        )
    full = (slice(None),) * (len(shape) - index_count)
    at = next((i for i, item in enumerate(index) if item is Ellipsis), len(index))
    index = (*index[:at], *full, *index[at + 1 :])
    result: list[Any] = []
    sizes = iter(shape)
    for item in index:
        if item is None:
            result.append(1)
        elif isinstance(item, slice):
            result.append(_slice_length(next(sizes), item))
        else:
            size = next(sizes)
            if not isinstance(size, Dim) and not -size <= item < size:
                raise IndexRangeError(
                    f"index {item} is out of range for a dimension of size {size} in {format_shape(shape)}"
                )
    return tuple(result)


def _slice_length(size: Any, item: slice) -> Any:
    if not isinstance(size, Dim):
        return len(range(*item.indices(size)))
    if item == slice(None):
        return size
    start, stop, step = item.start or 0, item.stop, item.step or 1
    if stop is None:
        stop = size
    elif stop < 0:
        stop = size + stop
    if start < 0:
        start = size + start
    return (stop - start + (step - 1)) // step


# -- index tensors and masks ------------------------------------------------------------------


@op("movement", method=False, first_saved=1, sample=lambda s: [
    ((s.normal(4, 5), s.integers(4, 3)), {"layout": (TensorSlot(0),)}),
    ((s.normal(4, 5), s.integers(4, 2, 1), s.integers(5, 3)), {"layout": (TensorSlot(0), TensorSlot(1))}),
    ((s.normal(4, 5), s.integers(5, 3)), {"layout": (slice(0, 2), TensorSlot(0))}),
    ((s.normal(4, 3, 5), s.integers(4, 2, 1), s.integers(5, 2)),
     {"layout": (TensorSlot(0), slice(None), TensorSlot(1))}),
])  # fmt: skip
def index_op(xp, *tensors, layout: Index, owner: IndexCaller | None = None):
    """Advanced indexing: the first tensor indexed by the others; `layout` holds their positions in the index."""
    if owner is not None:
        dim = next(i for i, item in enumerate(layout) if isinstance(item, TensorSlot))
        check_range(owner, tensors[1], tensors[0].shape[dim], dim)
    out = tensors[0][fill(layout, tensors[1:])]
    # NumPy may return another memory order, on which view() would fail.
    return out if out.ndim == 0 else xp.ascontiguousarray(out)


@index_op.shape
def _(*tensors: Spec, layout: Index, owner: IndexCaller | None = None):
    return _indexed_shape(tensors[0].shape, tensors[1:], layout)


@index_op.gradient
def _(g, tensors, layout):
    x, *index = tensors
    return (index_backward((g, *index), shape=x.shape, layout=layout), *(None for _ in index))


@op("movement", method=False, first_saved=1, sample=lambda s: [
    ((s.normal(3, 5), s.integers(4, 3)), {"shape": (4, 5), "layout": (TensorSlot(0),)}),
])  # fmt: skip
def index_backward(xp, *tensors, shape: Shape, layout: Index):
    """Backward of advanced indexing: the first tensor summed into zeros of `shape` at the indices."""
    out = xp.zeros(shape, tensors[0].dtype)
    xp.add.at(out, fill(layout, tensors[1:]), tensors[0])
    return out


@index_backward.shape
def _(*tensors: Spec, shape: Shape, layout: Index):
    return shape


@index_backward.gradient
def _(g, tensors, layout):
    index = tensors[1:]
    return (index_op((g, *index), layout=layout), *(None for _ in index))


@op("movement", method=False, first_saved=2, sample=lambda s: [
    ((s.normal(4, 5), s.normal(2, 5), s.permutation(4)[:2]), {"layout": (TensorSlot(0),)}),
    ((s.normal(3, 4, 5), s.normal(3, 2), s.permutation(4)[:2], s.permutation(5)[:2]),
     {"layout": (slice(None), TensorSlot(0), TensorSlot(1))}),
    ((s.normal(4, 3, 5), s.normal(2, 3), s.permutation(4)[:2], s.permutation(5)[:2]),
     {"layout": (TensorSlot(0), slice(None), TensorSlot(1))}),
])  # fmt: skip
def index_put_op(xp, *tensors, layout: Index):
    """Copy of the first tensor with the second written at the indices given by the others."""
    out = tensors[0].copy()
    out[fill(layout, tensors[2:])] = tensors[1]
    return out


@index_put_op.shape
def _(*tensors: Spec, layout: Index):
    target, value, *index = tensors
    if all(spec.dtype.kind for spec in index):
        shape = _indexed_shape(target.shape, index, layout)
        tail = shape[max(len(shape) - value.ndim, 0) :]
        fits = value.ndim <= len(shape) and all(b in (1, a) for a, b in zip(tail, value.shape, strict=True))
        if not fits and count(value.shape) != 1:
            raise ShapeError(
                f"index assignment: the value {format_shape(value.shape)} does not broadcast to the indexed shape "
                f"{format_shape(shape)}"
            )
    return target


@index_put_op.gradient
def _(g, tensors, layout):
    _, value, *index = tensors
    grad_target = index_put_op((g, g.new_tensor(0.0), *index), layout=layout)
    grad_value = index_op((g, *index), layout=layout).sum_to_size(value.shape)
    return (grad_target, grad_value, *(None for _ in index))


def fill(layout: Index, tensors: Sequence[Any]) -> Index:
    """`layout` with each `TensorSlot` replaced by its tensor."""
    return tuple(tensors[item.number] if isinstance(item, TensorSlot) else item for item in layout)


@dataclass(frozen=True, slots=True)
class TensorSlot:
    """Placeholder in a layout for index tensor `number`."""

    number: int

    def __repr__(self) -> str:
        return f"tensor {self.number}"


def _indexed_shape(shape: Shape, index: Sequence[Spec], layout: Index) -> Shape:
    """Shape after advanced indexing. Raises ShapeError for a mask, IndexRangeError if the indices do not broadcast."""
    if any(spec.dtype.kind == 0 for spec in index):
        raise ShapeError(
            "indexing by a mask: the shape of the result depends on the values of the mask.",
            in_code="Use where() instead.",
        )
    sizes, result, tensor_dims = list(shape), [], []
    full = (slice(None),) * (len(shape) - sum(1 for item in layout if item is not None and item is not Ellipsis))
    ellipsis = next((i for i, item in enumerate(layout) if item is Ellipsis), len(layout))
    for item in (*layout[:ellipsis], *full, *layout[ellipsis + 1 :]):
        if item is None:
            result.append(1)
        elif isinstance(item, slice):
            result.append(_slice_length(sizes.pop(0), item))
        else:
            sizes.pop(0)
            tensor_dims.append(len(result))
    # If index tensors are not adjacent, NumPy puts their dimensions first.
    position = tensor_dims[0] if len(set(tensor_dims)) == 1 else 0
    try:
        broadcast = broadcast_shapes("indexing", [spec.shape for spec in index])
    except ShapeError as error:
        raise IndexRangeError(str(error)) from None
    return (*result[:position], *broadcast, *result[position:])
