"""Indexing: slices, masks, index tensors, gather."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from engine.dtypes import int64
from engine.errors import DTypeError, PositionError, RangeError, ShapeError
from engine.ops.composite import composite
from engine.ops.movement.primitives import cast
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes, wrap_dim
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
    """The shape after basic indexing. Slices of a symbolic dimension must take all of it or a known number."""
    index_count = sum(1 for item in index if item is not None and item is not Ellipsis)
    if index_count > len(shape):
        raise PositionError(f"{index_count} indices for a tensor of {len(shape)} dimensions ({format_shape(shape)})")
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
                raise PositionError(f"index {item} is outside dimension of size {size} in {format_shape(shape)}")
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


@op("movement", method=False, keeps_from=1, sample=lambda s: [
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
    found = tensors[0][fill(layout, tensors[1:])]
    # NumPy chooses the memory order of x[..., index]; view() must work as in PyTorch.
    return found if found.ndim == 0 else xp.ascontiguousarray(found)


@index_op.shape
def _(*tensors: Spec, layout: Index, owner: IndexCaller | None = None):
    return _taken(tensors[0].shape, tensors[1:], layout)


@index_op.gradient
def _(g, tensors, layout):
    x, *index = tensors
    return (index_backward((g, *index), shape=x.shape, layout=layout), *(None for _ in index))


@op("movement", method=False, keeps_from=1, sample=lambda s: [
    ((s.normal(3, 5), s.integers(4, 3)), {"shape": (4, 5), "layout": (TensorSlot(0),)}),
])  # fmt: skip
def index_backward(xp, *tensors, shape: Shape, layout: Index):
    """Backward of advanced indexing: the first tensor summed into zeros of `shape` at the given indices."""
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


@op("movement", method=False, keeps_from=2, sample=lambda s: [
    ((s.normal(4, 5), s.normal(2, 5), s.permutation(4)[:2]), {"layout": (TensorSlot(0),)}),
    ((s.normal(3, 4, 5), s.normal(3, 2), s.permutation(4)[:2], s.permutation(5)[:2]),
     {"layout": (slice(None), TensorSlot(0), TensorSlot(1))}),
    ((s.normal(4, 3, 5), s.normal(2, 3), s.permutation(4)[:2], s.permutation(5)[:2]),
     {"layout": (TensorSlot(0), slice(None), TensorSlot(1))}),
])  # fmt: skip
def index_put_op(xp, *tensors, layout: Index):
    """Copy of the first tensor with the second written at the given indices."""
    out = tensors[0].copy()
    out[fill(layout, tensors[2:])] = tensors[1]
    return out


@index_put_op.shape
def _(*tensors: Spec, layout: Index):
    target, value, *index = tensors
    if all(spec.dtype.kind for spec in index):
        axis = _taken(target.shape, index, layout)
        tail = axis[max(len(axis) - value.ndim, 0) :]
        fits = value.ndim <= len(axis) and all(b in (1, a) for a, b in zip(tail, value.shape, strict=True))
        if not fits and count(value.shape) != 1:
            raise ShapeError(
                f"setting by index: {format_shape(value.shape)} does not broadcast to the {format_shape(axis)} indexed"
            )
    return target


@index_put_op.gradient
def _(g, tensors, layout):
    _, value, *index = tensors
    kept = index_put_op((g, g.new_tensor(0.0), *index), layout=layout)
    return (kept, index_op((g, *index), layout=layout).sum_to_size(value.shape), *(None for _ in index))


def fill(layout: Index, tensors: Sequence[Any]) -> Index:
    """Index of `layout` with each `TensorSlot` replaced by its tensor."""
    return tuple(tensors[item.number] if isinstance(item, TensorSlot) else item for item in layout)


@dataclass(frozen=True, slots=True)
class TensorSlot:
    """Placeholder in a layout for the index tensor of this number."""

    number: int

    def __repr__(self) -> str:
        return f"tensor {self.number}"


def _taken(shape: Shape, index: Sequence[Spec], layout: Index) -> Shape:
    if any(spec.dtype.kind == 0 for spec in index):
        raise ShapeError(
            "indexing by a mask: the shape of the result depends on the values.", in_code="Use where() instead."
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
    # Where something stands between the tensors, NumPy puts their dimensions first.
    at = tensor_dims[0] if len(set(tensor_dims)) == 1 else 0
    try:
        found = broadcast_shapes("indexing", [spec.shape for spec in index])
    except ShapeError as error:
        raise PositionError(str(error)) from None
    return (*result[:at], *found, *result[at:])


# -- along one dimension ----------------------------------------------------------------------


class IndexCaller(NamedTuple):
    """Caller and item names for messages about indices out of range."""

    name: str = "gather"
    things: str = ""

    def refuse(self, wrong: int, size: int, dim: int) -> PositionError:
        if self.things:
            return PositionError(f"{self.name}: {wrong} is not one of the {size} {self.things}. Use 0 to {size - 1}.")
        return PositionError(
            f"{self.name}: index {wrong} is outside dimension {dim} of size {size}. Use 0 to {size - 1}."
        )


_GATHER, _INDEX_SELECT, _SCATTER = IndexCaller(), IndexCaller("index_select"), IndexCaller("scatter")


@op("movement", method=False, sample=lambda s: [
    ((s.normal(4, 5), s.integers(5, 4, 3)), {"dim": 1}), ((s.normal(4, 5), s.integers(4, 2, 3)), {"dim": 0}),
])  # fmt: skip
def gather_op(xp, x, index, dim: int, owner: IndexCaller = _GATHER):
    """Elements of x at `index` along `dim`."""
    check_range(owner, index, x.shape[dim], dim)
    whole = tuple(slice(None) if i == dim % x.ndim else slice(0, size) for i, size in enumerate(index.shape))
    return xp.ascontiguousarray(xp.take_along_axis(x[whole], index, axis=dim))


@gather_op.shape
def _(x: Spec, index: Spec, dim: int, owner: IndexCaller = _GATHER):
    check_index(owner.name, index, x.shape, dim)
    return Spec(index.shape, x.dtype)


def check_range(owner: IndexCaller, index: Any, size: int, dim: int) -> None:
    """Raise PositionError for an index outside dimension `dim`."""
    # As unsigned integers, negative numbers are large: one comparison finds both errors.
    if index.size and index.view(_UNSIGNED[index.itemsize]).max() >= size:
        raise owner.refuse(int(index.min()) if index.min() < 0 else int(index.max()), size, dim)


_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def check_index(name: str, index: Spec, shape: Shape, dim: int) -> None:
    """Raise unless `index` fits `shape`: as many dimensions, none larger except `dim`."""
    axis = wrap_dim(name, dim, len(shape))
    if index.dtype.kind != 1:
        raise DTypeError(
            f"{name}: the index must be integers, not {index.dtype.name}.",
            in_code="Convert with .long().",
        )
    if index.ndim != len(shape):
        raise ShapeError(f"{name}: the index has {index.ndim} dimensions, the tensor {len(shape)}; they must be equal")
    for i, (a, b) in enumerate(zip(index.shape, shape, strict=True)):
        if i != axis and a > b:
            raise ShapeError(
                f"{name}: index {format_shape(index.shape)} is larger than {format_shape(shape)} in dimension {i}"
            )


@gather_op.gradient("x")
def _(g, x: Spec, index, dim):
    return gather_backward(g, index, x.shape, dim)


@op("movement", method=False, sample=lambda s: [
    ((s.normal(4, 3), s.integers(5, 4, 3)), {"shape": (4, 5), "dim": 1}),
])  # fmt: skip
def gather_backward(xp, x, index, shape: Shape, dim: int, unique: bool = False, owner: IndexCaller = _SCATTER):
    """x summed into zeros of `shape` at `index` along `dim`; `unique`: no index occurs twice."""
    out = xp.zeros(tuple(shape), x.dtype)
    dim = wrap_dim("scatter", dim, x.ndim)
    check_range(owner, index, out.shape[dim], dim)
    if unique and x.shape[:dim] == out.shape[:dim] and x.shape[dim + 1 :] == out.shape[dim + 1 :]:
        xp.put_along_axis(out, index, x, axis=dim)
        return out
    xp.add.at(out, positions(xp, index, dim), x)
    return out


def positions(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """Index arrays: `index` along `dim`, the identity along all other dimensions."""
    ones = (1,) * index.ndim
    coordinates = [xp.arange(size).reshape((*ones[:i], size, *ones[i + 1 :])) for i, size in enumerate(index.shape)]
    coordinates[dim] = index
    return tuple(coordinates)


@gather_backward.shape
def _(x: Spec, index: Spec, shape: Shape, dim: int, unique: bool = False, owner: IndexCaller = _SCATTER):
    check_index("scatter", index, tuple(shape), dim)
    if x.shape != index.shape:
        raise ShapeError(f"scatter: source {format_shape(x.shape)} and index {format_shape(index.shape)} must be equal")
    return Spec(tuple(shape), x.dtype)


@gather_backward.gradient("x")
def _(g, index, dim):
    return gather_op(g, index, dim=dim)


@composite(sample=lambda s: [
    ((s.normal(4, 5), 1, s.integers(5, 4, 3)), {}), ((s.normal(4, 5), -2, s.integers(4, 2, 3)), {}),
    ((s.normal(), 0, s.integers(1)), {}), ((s.normal(4, 5), 1, s.integers(5, 0, 3)), {}),
])  # fmt: skip
def gather(x: Any, dim: int, index: Any, *, sparse_grad: bool = False, owner: IndexCaller = _GATHER) -> Any:
    """Gather the elements of x at `index` along `dim`."""
    if (x.ndim != index.ndim and max(x.ndim, index.ndim) <= 1) or x.ndim == index.ndim == 0:  # as rows of one element
        flat = gather(x.reshape(-1), dim, index.reshape(-1), owner=owner)
        return flat.reshape(tuple(index.shape))
    if x.ndim != index.ndim and 0 in index.shape:
        return gather(x, dim, index.reshape((0,) * x.ndim), owner=owner).reshape(tuple(index.shape))
    check_index(owner.name, index.spec, x.shape, dim)
    return gather_op(x, index, dim=dim, owner=owner)


@composite(
    sample=lambda s: [
    ((s.normal(4, 5), s.integers(5, 4, 3), 1), {}), ((s.normal(4, 5), s.integers(4, 2, 1), 0), {}),
    ((s.normal(4, 5), s.integers(20, 7)), {}),
])  # fmt: skip
def take_along_dim(x: Any, indices: Any, dim: int | None = None) -> Any:
    """Elements of x at `indices` along `dim`, other dimensions broadcast; x is flattened without `dim`."""
    if indices.dtype is not int64:
        raise DTypeError(
            f"take_along_dim: indices must be int64, not {indices.dtype.name}.", in_code="Convert with .long()."
        )
    if dim is None:
        x, indices, dim = x.reshape(-1), indices.reshape(-1), 0
    if x.ndim != indices.ndim:
        raise ShapeError(
            f"take_along_dim: x and indices must have the same number of dimensions, "
            f"not {format_shape(x.shape)} and {format_shape(indices.shape)}"
        )
    axis = wrap_dim("take_along_dim", dim, x.ndim)
    if x.ndim:
        indices = indices + (indices < 0) * x.shape[axis]  # negative ones count from the end
    shape = list(broadcast_shapes("take_along_dim", [
        tuple(1 if i == axis else size for i, size in enumerate(t.shape)) for t in (x, indices)
    ]))  # fmt: skip
    wide = [tuple(t.shape[i] if i == axis else size for i, size in enumerate(shape)) for t in (x, indices)]
    return gather(x.expand(wide[0]), axis, indices.expand(wide[1]), owner=IndexCaller("take_along_dim"))


@composite(sample=lambda s: [
    ((s.normal(4, 5), 0, s.integers(4, 3)), {}), ((s.normal(4, 5), -1, s.integers(5, 7)), {}),
    ((s.normal(4, 5), 1, s.integers(5, 0)), {}),
])  # fmt: skip
def index_select(x: Any, dim: int, index: Any, *, owner: IndexCaller = _INDEX_SELECT) -> Any:
    """Slices of x at the indices `index` along `dim`."""
    axis = wrap_dim(owner.name, dim, x.ndim)
    if index.ndim > 1:
        raise ShapeError(f"{owner.name}: the index must be a vector, not {format_shape(index.shape)}. Use x[index].")
    if x.ndim == 0:
        return x.reshape(1).take(index).reshape(())
    return index_op((x, index.reshape(-1)), layout=(*(slice(None),) * axis, TensorSlot(0)), owner=owner)


@composite(sample=lambda s: [((s.normal(4, 5), s.integers(20, 2, 3)), {}), ((s.normal(4), s.integers(4)), {})])
def take(x: Any, index: Any) -> Any:
    """Elements of the flattened x at `index`."""
    index = index + (index < 0).to(index.dtype) * x.numel()  # negative ones count from the end
    return index_op((x.reshape(-1), index), layout=(TensorSlot(0),), owner=IndexCaller("take"))


@composite(
    method=False,
    public=False,
    sample=lambda s: [((s.integers(4, 2, 3), 5), {}), ((s.integers(4, 3),), {}), ((s.integers(4), 4), {})],
)
def one_hot(x: Any, num_classes: int = -1) -> Any:
    """One-hot encoding of integers with `num_classes` classes; −1 means the largest integer + 1."""
    if x.dtype is not int64:
        raise DTypeError(f"one_hot: class numbers must be int64, not {x.dtype.name}.", in_code="Convert with .long().")
    if num_classes == -1:
        if x.numel() == 0:
            raise ShapeError("one_hot: num_classes cannot be inferred from an empty tensor. Pass num_classes.")
        num_classes = int(x.max()) + 1
    elif num_classes < 1:
        raise RangeError(f"one_hot: num_classes must be at least 1, or -1 to infer it, not {num_classes}")
    hot = (x.unsqueeze(-1) * 0 + 1, x.unsqueeze(-1))
    owner = IndexCaller("one_hot", "classes")
    return cast(gather_backward(*hot, (*x.shape, num_classes), x.ndim, True, owner), dtype=x.dtype)
