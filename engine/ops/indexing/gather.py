"""Gather along one dimension, and selection of slices and elements."""

from __future__ import annotations

from typing import Any

from engine.dtypes import int64
from engine.errors import DTypeError, RangeError, ShapeError
from engine.ops.composite import composite
from engine.ops.indexing.index import TensorSlot, index_op
from engine.ops.indexing.index_checks import IndexCaller, check_index, check_range
from engine.ops.movement.primitives import cast
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes, wrap_dim
from engine.shape import Shape, Spec, format_shape

_GATHER, _INDEX_SELECT, _SCATTER = IndexCaller(), IndexCaller("index_select"), IndexCaller("scatter")


@op("movement", method=False, sample=lambda s: [
    ((s.normal(4, 5), s.integers(5, 4, 3)), {"dim": 1}), ((s.normal(4, 5), s.integers(4, 2, 3)), {"dim": 0}),
])  # fmt: skip
def gather_op(xp, x, index, dim: int, owner: IndexCaller = _GATHER):
    """Elements of x at `index` along `dim`."""
    check_range(owner, index, x.shape[dim], dim)
    region = tuple(slice(None) if i == dim % x.ndim else slice(0, size) for i, size in enumerate(index.shape))
    return xp.ascontiguousarray(xp.take_along_axis(x[region], index, axis=dim))


@gather_op.shape
def _(x: Spec, index: Spec, dim: int, owner: IndexCaller = _GATHER):
    check_index(owner.name, index, x.shape, dim)
    return Spec(index.shape, x.dtype)


@gather_op.gradient("x")
def _(g, x: Spec, index, dim):
    return gather_backward(g, index, x.shape, dim)


@op("movement", method=False, sample=lambda s: [
    ((s.normal(4, 3), s.integers(5, 4, 3)), {"shape": (4, 5), "dim": 1}),
])  # fmt: skip
def gather_backward(xp, x, index, shape: Shape, dim: int, unique: bool = False, owner: IndexCaller = _SCATTER):
    """x summed into zeros of `shape` at `index` along `dim`. `unique` states that no index occurs twice."""
    out = xp.zeros(tuple(shape), x.dtype)
    dim = wrap_dim("scatter", dim, x.ndim)
    check_range(owner, index, out.shape[dim], dim)
    if unique and x.shape[:dim] == out.shape[:dim] and x.shape[dim + 1 :] == out.shape[dim + 1 :]:
        xp.put_along_axis(out, index, x, axis=dim)
        return out
    xp.add.at(out, positions(xp, index, dim), x)
    return out


def positions(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """Index arrays for the elements at `index` along `dim`; the other dimensions count upwards."""
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
    """Gather the elements of x at `index` along `dim`.

    Args:
        x: any tensor
        dim: dimension
        index: integers, with as many dimensions as x; the result has its shape
    """
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
    """Elements of x at `indices` along `dim`; other dimensions broadcast. Without `dim`, x is flattened."""
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
    """Slices of x at the indices `index` along `dim`.

    Args:
        x: any tensor
        dim: dimension
        index: vector of integers, one for each slice of the result
    """
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
    """One-hot encoding of integers with `num_classes` classes; −1 means the largest integer + 1.

    Args:
        x: integers from 0, ``(*)``
        num_classes: size of the new last dimension; −1 means the largest integer + 1
    """
    if x.dtype is not int64:
        raise DTypeError(f"one_hot: class numbers must be int64, not {x.dtype.name}.", in_code="Convert with .long().")
    if num_classes == -1:
        if x.numel() == 0:
            raise ShapeError("one_hot: num_classes cannot be inferred from an empty tensor. Pass num_classes.")
        num_classes = int(x.max()) + 1
    elif num_classes < 1:
        raise RangeError(f"one_hot: num_classes must be at least 1, or -1 to infer it, not {num_classes}")
    ones = x.unsqueeze(-1) * 0 + 1
    owner = IndexCaller("one_hot", "classes")
    one_hot_ = gather_backward(ones, x.unsqueeze(-1), (*x.shape, num_classes), x.ndim, True, owner)
    return cast(one_hot_, dtype=x.dtype)
