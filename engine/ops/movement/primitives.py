"""Primitive ops that move elements: views where the strides allow it, as in PyTorch."""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

import numpy as np

from engine import dtypes
from engine.dtypes import DType, as_dtype
from engine.errors import ShapeError
from engine.ops.composite import composite
from engine.ops.movement.reinterpret import view_dtype
from engine.ops.record import op
from engine.ops.shape_rules import reshaped, wrap_dim, wrap_dims
from engine.shape import Spec, format_shape

Sizes: TypeAlias = tuple[int, ...]


@op("movement", view=True, varargs="shape", sample=lambda s: [
    ((s.normal(2, 6),), {"shape": (3, 4)}), ((s.normal(2, 6).T,), {"shape": (4, -1)}),
    ((s.normal(1),), {"shape": ()}), ((s.normal(0, 3),), {"shape": (3, 0)}),
])  # fmt: skip
def reshape(xp, x, shape: Sizes):
    """Reshape x; one size may be −1. Returns a view where the strides allow it.

    Args:
        x: any tensor
        shape: new sizes, with the same number of elements; −1 is inferred from the others
    """
    if shape and min(shape) < -1:  # NumPy treats any negative size as -1
        reshaped("reshape", Spec(x.shape, dtypes.from_numpy(x.dtype)), shape)
    return x.reshape(shape)


@reshape.shape
def _(x: Spec, shape: Sizes):
    return reshaped("reshape", x, shape)


@reshape.gradient
def _(g, x: Spec):
    return g.reshape(x.shape)


@composite(
    sample=lambda s: [((s.normal(2, 6), 3, 4), {}), ((s.normal(2, 6), (4, -1)), {}), ((s.normal(0, 3), 3, 0), {})],
    public=False,
)
def view(x: Any, *size: Any, dtype: DType | None = None) -> Any:
    """View the same memory in another shape or dtype. Raises ShapeError if that needs a copy."""
    if dtype is not None or (len(size) == 1 and isinstance(size[0], (DType, str, type))):
        return view_dtype(x, dtype=as_dtype("view", dtype or size[0]).name)
    target = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    result = reshape.function(x, target)
    if result._storage is not x._storage and x.numel() > 0:
        raise ShapeError(
            f"view: {format_shape(x.shape)} with strides {x.stride()} cannot be viewed as {format_shape(target)} "
            "without a copy.",
            in_code="Use reshape().",
        )
    return result


@op("movement", view=True, varargs="dims", sample=lambda s: [
    ((s.normal(2, 3, 4),), {"dims": (2, 0, 1)}), ((s.normal(2, 3),), {"dims": (-1, 0)}),
])  # fmt: skip
def permute(xp, x, dims: Sizes):
    """Permute the dimensions; a view."""
    return x.transpose(dims)


@permute.shape
def _(x: Spec, dims: Sizes):
    order = wrap_dims("permute", tuple(dims), x.ndim)
    if len(order) != x.ndim:
        raise ShapeError(f"permute: dims must contain each of the {x.ndim} dimensions once, not {tuple(dims)}")
    return tuple(x.shape[d] for d in order)


@permute.gradient
def _(g, x: Spec, dims):
    order = [d % x.ndim for d in dims]
    return g.permute(tuple(order.index(i) for i in range(x.ndim)))


@composite(
    sample=lambda s: [((s.normal(2, 3, 4), 0, 2), {}), ((s.normal(2, 3), -1, 0), {}), ((s.normal(), 0, -1), {})],
    in_place="view",
    aliases=("swapaxes", "swapdims"),
)
def transpose(x: Any, dim0: int, dim1: int) -> Any:
    """Swap two dimensions; a view."""
    ndim = x.ndim
    if not ndim:
        return x
    a = dim0 if 0 <= dim0 < ndim else wrap_dim("transpose", dim0, ndim)
    b = dim1 if 0 <= dim1 < ndim else wrap_dim("transpose", dim1, ndim)
    order = [*range(ndim)]
    order[a], order[b] = b, a
    return permute.function(x, tuple(order))


@composite(sample=lambda s: [((s.normal(2, 3),), {}), ((s.normal(3),), {}), ((s.normal(),), {})], in_place="view")
def t(x: Any) -> Any:
    """Transpose a matrix; vectors and scalars are returned unchanged."""
    if x.ndim > 2:
        raise ShapeError(f"t() needs at most 2 dimensions, not {x.ndim}.", in_code="Use transpose(-2, -1).")
    return x if x.ndim < 2 else transpose(x, 0, 1)


@op("movement", view=True, varargs="size", sample=lambda s: [
    ((s.normal(3, 1), (2, 3, 4)), {}), ((s.normal(3, 1), (-1, 4)), {}),
])  # fmt: skip
def expand(xp, x, size: Sizes):
    """Expand dimensions of size 1 to `size` without copying; −1 keeps a size.

    Args:
        x: any tensor
        size: new sizes; −1 keeps a size. Dimensions may be added in front
    """
    sizes = [x.shape[i - len(size)] if n == -1 and len(size) - i <= x.ndim else n for i, n in enumerate(size)]
    out = xp.broadcast_to(x, tuple(sizes))
    if isinstance(out, np.ndarray) and x.flags.writeable:
        out.flags.writeable = True  # writable, as in PyTorch, where no element is repeated
    return out


@expand.shape
def _(x: Spec, size: Sizes):
    extra = len(size) - x.ndim
    if extra < 0:
        raise ShapeError(f"expand: {format_shape(x.shape)} has more dimensions than {format_shape(size)}")
    sizes: list[Any] = []
    for i, target in enumerate(size):
        have = x.shape[i - extra] if i >= extra else 1
        keeps_size = isinstance(target, int) and target == -1
        if keeps_size and i < extra:
            raise ShapeError(
                f"expand: {format_shape(x.shape)} has no dimension for the -1 at index {i} of {tuple(size)}. "
                "Give its size."
            )
        if not keeps_size and have != 1 and have != target:
            raise ShapeError(
                f"expand: {format_shape(x.shape)} to {format_shape(size)}: size {have} cannot become {target}"
            )
        sizes.append(have if keeps_size else target)
    return tuple(sizes)


@expand.gradient
def _(g, x: Spec):
    return g.sum_to_size(x.shape)


@op("movement", view=True, method=False, sample=lambda s: [
    ((s.normal(2),), {"shape": (2, 3), "dims": (1,)}), ((s.normal(),), {"shape": (2, 3), "dims": (0, 1)}),
    ((s.normal(1, 3),), {"shape": (2, 3), "dims": (0,)}),
])  # fmt: skip
def sum_backward(xp, x, shape: Sizes, dims: Sizes):
    """Expand the gradient of a sum over `dims` back to `shape`."""
    if x.ndim == 0 and prod(shape) <= 1024:  # for small shapes, filling takes a fifth of the time of a view
        out = xp.empty(shape, x.dtype)
        out[...] = x
        return out
    kept = x.reshape(tuple([1 if i in dims else size for i, size in enumerate(shape)]))
    return xp.broadcast_to(kept, shape)


@sum_backward.shape
def _(x: Spec, shape: Sizes, dims: Sizes):
    return shape


@sum_backward.gradient
def _(g, x: Spec, dims):
    return g.sum(dims, len(x.shape) == g.ndim) if dims else g


@composite(sample=lambda s: [((s.normal(3, 1), s.normal(2, 3, 4)), {})], public=False)
def expand_as(x: Any, other: Any) -> Any:
    """Expand x to the shape of `other`."""
    return expand(x, tuple(other.shape))


@op("movement", view=True, in_place=True, sample=lambda s: [
    ((s.normal(2, 3),), {"dim": dim}) for dim in (0, 1, -1)
])  # fmt: skip
def unsqueeze(xp, x, dim: int):
    """Insert a dimension of size 1 at `dim`; a view."""
    axis = dim if 0 <= dim <= x.ndim else wrap_dim("unsqueeze", dim, x.ndim + 1)
    return x[(*(_EVERY,) * axis, None, ...)]


_EVERY = slice(None)


@unsqueeze.shape
def _(x: Spec, dim: int):
    axis = wrap_dim("unsqueeze", dim, x.ndim + 1)
    return (*x.shape[:axis], 1, *x.shape[axis:])


@unsqueeze.gradient
def _(g, x: Spec):
    return g.reshape(x.shape)


@op("movement", view=True, in_place=True, sample=lambda s: [
    ((s.normal(2, 1, 3, 1),), {"dim": dim}) for dim in (None, 1, -1, 0, (1, 3))
])  # fmt: skip
def squeeze(xp, x, dim: int | Sizes | None = None):
    """Remove dimensions of size 1: those in `dim`, or all."""
    dims = _squeezed(dim, x.ndim)
    return x.reshape(tuple(size for i, size in enumerate(x.shape) if i not in dims or size != 1))


def _squeezed(dim: int | Sizes | None, ndim: int) -> tuple[int, ...]:
    """Dimensions to remove. () means none, unlike in other ops."""
    return () if isinstance(dim, (tuple, list)) and not dim else wrap_dims("squeeze", dim, ndim)


@squeeze.shape
def _(x: Spec, dim: int | Sizes | None = None):
    dims = _squeezed(dim, x.ndim)
    return tuple(size for i, size in enumerate(x.shape) if i not in dims or size != 1)


@squeeze.gradient
def _(g, x: Spec):
    return g.reshape(x.shape)


@composite(sample=lambda s: [((s.normal(2, 3),), {}), ((s.normal(2, 3).T,), {})], public=False)
def contiguous(x: Any, memory_format: Any = None) -> Any:
    """x if it is contiguous in the memory format, else a contiguous copy."""
    if memory_format is not None and memory_format.order:
        return _ordered(x, memory_format.order)
    return x if x.is_contiguous() else x.clone()


def _ordered(x: Any, order: tuple[int, ...]) -> Any:
    """Copy with the dimensions laid out in this order, the last one contiguous."""
    if x.ndim != len(order):
        raise ShapeError(f"contiguous: this memory format needs {len(order)} dimensions, not {x.ndim}")
    back = sorted(range(x.ndim), key=order.__getitem__)
    return permute(contiguous(permute(x, order)), back)


@op("movement", method=False, public=True, promotes=True, aliases=("concat", "concatenate"), sample=lambda s: [
    ((s.normal(2, 3), s.normal(2, 1)), {"dim": 1}), ((s.normal(2, 3), s.normal(0, 3), s.normal(1, 3)), {"dim": 0}),
    ((s.normal(0), s.normal(2, 3)), {"dim": -1}),
])  # fmt: skip
def cat(xp, *tensors, dim: int = 0):
    """Concatenate tensors along `dim`. Other sizes must be equal. Tensors of shape (0,) are skipped, as in PyTorch."""
    joined = xp.concatenate([x for x in tensors if x.shape != _NOTHING] or tensors[:1], axis=dim)
    return xp.ascontiguousarray(joined)  # NumPy keeps the order of transposed arrays; view() must work after it


_NOTHING = (0,)


@cat.shape
def _(*tensors: Spec, dim: int = 0):
    number, first = next(((i, x) for i, x in enumerate(tensors) if x.shape != _NOTHING), (0, tensors[0]))
    if first.ndim == 0:
        raise ShapeError("cat: 0-d tensors cannot be concatenated.", in_code="Use stack().")
    axis = wrap_dim("cat", dim, first.ndim)
    total: Any = 0
    for other, x in enumerate(tensors):
        if x.shape == _NOTHING:
            continue
        if x.ndim != first.ndim:
            raise ShapeError(
                f"cat: tensor {number} is {format_shape(first.shape)} and tensor {other} is {format_shape(x.shape)}. "
                "All need the same number of dimensions.",
                in_code="Use stack() for a new dimension.",
            )
        for i, (a, b) in enumerate(zip(first.shape, x.shape, strict=True)):
            if i != axis and a != b:
                raise ShapeError(
                    f"cat along dimension {dim}: {format_shape(first.shape)} and {format_shape(x.shape)} differ "
                    f"in dimension {i}: {a} and {b}. All other sizes must match."
                )
        total = total + x.shape[axis]
    return (*first.shape[:axis], total, *first.shape[axis + 1 :])


@cat.gradient
def _(g, tensors: Spec, dim):
    start, pieces = 0, []
    for spec in tensors:  # pyright: ignore[reportGeneralTypeIssues]
        if spec.shape == _NOTHING:
            pieces.append(g.new_empty(0))
            continue
        size = spec.shape[dim]
        pieces.append(g.narrow(dim, start, size))
        start += size
    return tuple(pieces)


@op("movement", method=False, sample=lambda s: [
    ((s.normal(2, 3),), {"dtype": dtypes.float64}),
])  # fmt: skip
def cast(xp, x, dtype: Any):
    """Convert x to a dtype."""
    return x.astype(dtype.numpy)


@cast.shape
def _(x: Spec, dtype: Any):
    return Spec(x.shape, dtype)


@cast.gradient
def _(g):
    return g  # the backward pass converts it to the input's dtype
