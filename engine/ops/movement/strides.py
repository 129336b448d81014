"""Views by strides: sliding windows and `as_strided`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from engine.errors import ShapeError
from engine.ops.composite import composite
from engine.ops.record import op
from engine.ops.shape_rules import copy_checked, wrap_dim
from engine.shape import Spec, count, format_shape

Sizes: TypeAlias = tuple[int, ...]


@op(
    "movement",
    view=True,
    public=False,
    sample=lambda s: [
        ((s.normal(7),), {"dimension": 0, "size": 3, "step": 2}),
        ((s.normal(2, 5),), {"dimension": -1, "size": 2, "step": 1}),
        ((s.normal(5, 2),), {"dimension": 0, "size": 3, "step": 1}),
    ],
)
def unfold(xp, x, dimension: int, size: int, step: int):
    """Sliding windows of `size` every `step` elements of a dimension, as a new last dimension; a view."""
    axis, window_count = _windows(x.shape, dimension, size, step)
    if x.ndim == 0:
        return x.reshape(1)[:size]
    shape = (*x.shape[:axis], window_count, *x.shape[axis + 1 :], size)
    strides = (*x.strides[:axis], x.strides[axis] * step, *x.strides[axis + 1 :], x.strides[axis])
    return xp.lib.stride_tricks.as_strided(x, shape, strides)


def _windows(shape: Any, dim: int, size: int, step: int) -> tuple[int, Any]:
    axis = wrap_dim("unfold", dim, len(shape))
    shape = tuple(shape) or (1,)
    if step < 1 or not 0 <= size <= shape[axis]:
        raise ShapeError(
            f"unfold: windows of {size} every {step} elements do not fit dimension {dim} of {format_shape(shape)}"
        )
    return axis, (shape[axis] - size) // step + 1


@unfold.shape
def _(x: Spec, dimension: int, size: int, step: int):
    axis, window_count = _windows(x.shape, dimension, size, step)
    return (*x.shape[:axis], window_count, *x.shape[axis + 1 :], size) if x.ndim else (size,)


@unfold.gradient
def _(g, x: Spec, dimension, size, step):
    if x.ndim == 0:
        return g.sum()
    return unfold_backward(g, shape=x.shape, dim=wrap_dim("unfold", dimension, x.ndim), step=step)


@op("movement", method=False, sample=lambda s: [((s.normal(3, 3),), {"shape": (7,), "dim": 0, "step": 2})])
def unfold_backward(xp, x, shape: Sizes, dim: int, step: int):
    """Backward of `unfold`: windows summed into zeros of `shape`."""
    out = xp.zeros(shape, x.dtype)
    for k in range(x.shape[-1]):
        out[(slice(None),) * dim + (slice(k, k + step * (x.shape[dim] - 1) + 1, step),)] += x[..., k]
    return out


@unfold_backward.shape
def _(x: Spec, shape: Sizes, dim: int, step: int):
    return shape


@unfold_backward.gradient
def _(g, x: Spec, dim, step):
    return g.unfold(dim, x.shape[-1], step)


@op("movement", view=True, in_place=True, sample=lambda s: [
    ((s.normal(3, 4),), {"size": (2, 2), "stride": (1, 2)}), ((s.normal(3, 4),), {"size": (3,), "stride": (5,)}),
    ((s.normal(3, 4),), {"size": (2, 2), "stride": (4, 1), "storage_offset": 5}),
])  # fmt: skip
def as_strided(xp, x, size: Sizes, stride: Sizes, storage_offset: int | None = None):
    """View of the tensor's storage with the given strides and offset, in elements."""
    _check_not_negative(size, stride, storage_offset)
    source = x
    if storage_offset is not None:
        while isinstance(source.base, type(x)):
            source = source.base
        if not source.flags.c_contiguous:
            raise ShapeError("as_strided: the storage is not contiguous.", in_code="Call contiguous() first.")
        source = source.reshape(-1)
        if source.itemsize != x.itemsize:  # x is a view with another dtype, whose elements count
            source = source.view(xp.uint8)[: source.nbytes // x.itemsize * x.itemsize].view(x.dtype)
        source = source[storage_offset:]
    last = sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if 0 not in size and last >= (source.size if source.flags.c_contiguous else _reach(source)):
        raise ShapeError(
            f"as_strided: {format_shape(size)} with strides {tuple(stride)} exceeds the storage of "
            f"{format_shape(x.shape)}"
        )
    return xp.lib.stride_tricks.as_strided(source, tuple(size), tuple(step * x.itemsize for step in stride))


def _check_not_negative(size: Sizes, stride: Sizes, storage_offset: int | None) -> None:
    """Raise ShapeError for numbers that lead to memory before the storage."""
    for name, numbers in (("size", size), ("stride", stride), ("storage_offset", (storage_offset or 0,))):
        if min(numbers, default=0) < 0:
            raise ShapeError(f"as_strided: {name} is {tuple(numbers)}. Use numbers of at least 0.")


def _reach(x: Any) -> int:
    return sum((length - 1) * step // x.itemsize for length, step in zip(x.shape, x.strides, strict=True)) + 1


@as_strided.shape
def _(x: Spec, size: Sizes, stride: Sizes, storage_offset: int | None = None):
    return tuple(size)


@as_strided.gradient
def _(g, x: Spec, size, stride, storage_offset):
    return as_strided_backward(g, shape=x.shape, stride=tuple(stride), offset=storage_offset or 0)


@op("movement", method=False, sample=lambda s: [((s.normal(2, 2),), {"shape": (3, 4), "stride": (1, 2), "offset": 1})])
def as_strided_backward(xp, x, shape: Sizes, stride: Sizes, offset: int):
    """Backward of `as_strided`: `x` summed into zeros of `shape`, in memory order."""
    out = xp.zeros(count(shape), x.dtype)
    at = xp.asarray(np.full(x.shape, offset))
    for axis, step in enumerate(stride):
        along = (1,) * axis + (-1,) + (1,) * (x.ndim - axis - 1)
        at = at + xp.arange(x.shape[axis]).reshape(along) * step
    xp.add.at(out, at, x)
    return out.reshape(shape)


@as_strided_backward.shape
def _(x: Spec, shape: Sizes, stride: Sizes, offset: int):
    return shape


@as_strided_backward.gradient
def _(g, x: Spec, stride, offset):
    return g.clone().as_strided(x.shape, stride, offset)  # the storage of a clone starts at its first element


@composite(sample=lambda s: [
    ((s.normal(3, 4), s.normal(2, 2)), {"size": (2, 2), "stride": (1, 2)}),
    ((s.normal(3, 4), s.normal(3)), {"size": (3,), "stride": (4,), "storage_offset": 1}),
])  # fmt: skip
def as_strided_scatter(x: Any, src: Any, size: Sizes, stride: Sizes, storage_offset: int | None = None) -> Any:
    """Copy of x with `src` written into its `as_strided` view."""
    out = x.clone()
    copy_checked("as_strided_scatter", out.as_strided(size, stride, storage_offset), src)
    return out
