"""Scatter: write, add, multiply or reduce values at indices along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.errors import DTypeError, ShapeError
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.indexing.gather import gather_backward, gather_op, positions
from engine.ops.indexing.index import TensorSlot, index_backward, index_put_op, slice_
from engine.ops.indexing.index_checks import IndexCaller, check_index
from engine.ops.indexing.masks import masked_fill
from engine.ops.record import op
from engine.ops.shape_rules import copy_checked, wrap_dim
from engine.shape import Spec, format_shape


@op("movement", method=False, sample=lambda s: [
    ((s.normal(3, 5), s.normal(3, 2), np.stack([s.permutation(5)[:2] for _ in range(3)])), {"dim": 1}),
])  # fmt: skip
def scatter_op(xp, x, src, index, dim: int):
    """x with `src` written at `index` along `dim`; for repeated indices, one of the values remains."""
    if index.size and (index.min() < 0 or index.max() >= x.shape[dim]):
        wrong = int(index.min()) if index.min() < 0 else int(index.max())
        raise IndexCaller("scatter").out_of_range(wrong, x.shape[dim], dim)
    out = x.copy()
    out[positions(xp, index, dim)] = src
    return out


@scatter_op.shape
def _(x: Spec, src: Spec, index: Spec, dim: int):
    return x


@scatter_op.gradient("x")
def _(g, src: Spec, index, dim):
    return scatter_op(g, g.new_zeros(src.shape), index, dim=dim)


@scatter_op.gradient("src")
def _(g, index, dim):
    return gather_op(g, index, dim=dim)


def _targets(s: Any) -> Any:
    """Samples with unique indices."""
    index = np.stack([s.permutation(5)[:3] for _ in range(4)])
    return [
        ((s.normal(4, 5), 1, index, s.normal(4, 3)), {}),
        ((s.normal(5, 2), 0, index[:2].T, s.normal(4, 2)), {}),
        ((s.normal(4, 5), -1, index[:2], s.normal(4, 5)), {}),
        ((s.normal(4, 5), 1, index[:0], s.normal(4, 5)), {}),
    ]


def _repeats(s: Any) -> Any:
    """Samples with repeated and missing indices."""
    return [((s.normal(4, 5), 1, s.integers(4, 4, 6), s.normal(4, 6)), {}),
            ((s.normal(5, 3), 0, s.integers(5, 9, 2), s.normal(9, 2)), {})]  # fmt: skip


def _prepare(name: str, x: Any, dim: int, index: Any, src: Any) -> tuple[Any, int, Any, Any]:
    """Check the arguments and crop `src` to the shape of the index."""
    # A 0-d tensor and a vector of one element are interchangeable.
    if x.ndim <= 1 and index.ndim <= 1:
        x, index = x.reshape(-1), index.reshape(-1)
        src = src.reshape(-1) if hasattr(src, "ndim") and src.ndim == 0 else src
    axis = wrap_dim(name, dim, x.ndim)
    if 0 in index.shape:
        return x, axis, index.reshape((0,) * x.ndim), src
    check_index(name, index.spec, x.shape, axis)
    if not hasattr(src, "dtype"):
        src = x.new_full(tuple(index.shape), src)
    _check_dtype(name, "src", x, src)
    if src.ndim != index.ndim or any(a > b for a, b in zip(index.shape, src.shape, strict=True)):
        raise ShapeError(f"{name}: the index {format_shape(index.shape)} is larger than src {format_shape(src.shape)}")
    if tuple(src.shape) != tuple(index.shape):
        src = slice_(src, index=tuple(slice(0, size) for size in index.shape))
    return x, axis, index, src


def _check_dtype(name: str, title: str, x: Any, source: Any) -> None:
    if source.dtype is not x.dtype:
        raise DTypeError(
            f"{name}: {title} must be {x.dtype.name} like the tensor, not {source.dtype.name}.",
            in_code="Convert with .to().",
        )


@composite(in_place=True, sample=lambda s: [
    *_targets(s), *(((x, d, i), {"value": 2.0}) for (x, d, i, _), _ in _targets(s)[:2]),
    *((args, {"reduce": reduction}) for args, _ in _targets(s)[:1] for reduction in ("add", "multiply")),
    ((s.normal(4, 5), 1, s.integers(5, 4, 3), 2.5), {}),
])  # fmt: skip
def scatter(x: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """x with `src` or one value written at `index` along `dim`; added or multiplied with `reduce`."""
    if reduce is not None:
        reduction = {"add": "sum", "multiply": "prod"}.get(reduce)
        if reduction is None:
            raise ValueError(f"scatter(): reduce must be 'add' or 'multiply', not {reduce!r}")
        target, _, target_index, values = _prepare("scatter", x, dim, index, value if src is None else src)
        return scatter_reduce(target, dim, target_index, values, reduction).reshape(x.shape)
    target, axis, index, src = _prepare("scatter", x, dim, index, value if src is None else src)
    if 0 in index.shape:
        return x.clone()
    return scatter_op(target, src, index, dim=axis).reshape(x.shape)


@composite(in_place=True, sample=lambda s: [*_repeats(s), *_targets(s)])
def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    """x with `src` added at `index` along `dim`; `src` may be larger than the index."""
    target, axis, index, src = _prepare("scatter_add", x, dim, index, src)
    if 0 in index.shape:
        return x.clone()
    return (target + gather_backward(src, index, tuple(target.shape), axis)).reshape(x.shape)


@op("movement", method=False, sample=lambda s: [
    ((s.distinct(4, 5), s.distinct(4, 6) + s.dtype(0.05), s.integers(5, 4, 6)), {"dim": 1, "reduction": reduction})
    for reduction in ("amax", "amin", "prod")
])  # fmt: skip
def scatter_reduce_op(xp, x, src, index, dim: int, reduction: str):
    """x combined with `src` at `index` along `dim` by product, maximum or minimum."""
    out = x.copy()
    function = {"amax": xp.maximum, "amin": xp.minimum, "prod": xp.multiply}[reduction]
    function.at(out, positions(xp, index, dim), src)
    return out


@scatter_reduce_op.shape
def _(x: Spec, src: Spec, index: Spec, dim: int, reduction: str):
    return x


@scatter_reduce_op.gradient
def _(g, x, src, index, out, dim, reduction):
    if reduction == "prod":
        others = gather_op(g * out, index, dim=dim)
        # For a factor of 0, the product of the others is no quotient: it is computed without that factor.
        alone = gather_op(
            g * scatter_reduce_op(x, where(src == 0, 1.0, src), index, dim=dim, reduction=reduction), index, dim=dim
        )
        zeros = gather_op(gather_backward((src == 0).to(g.dtype), index, x.shape, dim), index, dim=dim)
        of_src = where(src == 0, where(zeros == 1, alone, 0.0), others / where(src == 0, 1.0, src))
        return g * scatter_reduce_op(x * 0 + 1, src, index, dim=dim, reduction=reduction), of_src, None
    chosen_x = (x == out).to(g.dtype)
    chosen_src = (src == gather_op(out, index, dim=dim)).to(g.dtype)
    shared = g / (chosen_x + gather_backward(chosen_src, index, x.shape, dim))
    return shared * chosen_x, gather_op(shared, index, dim=dim) * chosen_src, None


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@composite(
    in_place=True,
    sample=lambda s: [
        ((*args, reduction), {"include_self": itself})
        for args, _ in _repeats(s)
        for reduction in _REDUCTIONS
        for itself in (True, False)
    ],
)
def scatter_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """x with the values of `src` at the same index reduced: sum, product, mean, maximum or minimum."""
    if reduce not in _REDUCTIONS:
        raise ValueError(f"scatter_reduce(): reduce must be one of {', '.join(_REDUCTIONS)}, not {reduce!r}")
    target, axis, index, src = _prepare("scatter_reduce", x, dim, index, src)
    if 0 in index.shape:
        return x.clone()
    return _reduce_into(target, axis, index, src, reduce, include_self).reshape(x.shape)


def _reduce_into(x: Any, dim: int, index: Any, src: Any, reduction: str, include_self: bool) -> Any:
    hits = gather_backward(index * 0 + 1, index, tuple(x.shape), dim)
    if not include_self:
        x = where(hits > 0, x.new_full((), _neutral(x, reduction)), x)
    if reduction in ("sum", "mean"):
        total = x + gather_backward(src, index, tuple(x.shape), dim)
        if reduction == "sum":
            return total
        number = (hits + 1 if include_self else hits).clamp(min=1)
        return total / number if x.is_floating_point() else (total // number).to(x.dtype)
    return scatter_reduce_op(x, src, index, dim=dim, reduction=reduction)


def _neutral(x: Any, reduction: str) -> Any:
    """Identity element of the reduction."""
    if reduction in ("sum", "mean"):
        return 0
    if reduction == "prod":
        return 1
    if not x.dtype.kind:
        return reduction == "amin"
    if x.is_floating_point():
        return float("-inf") if reduction == "amax" else float("inf")
    limits = np.iinfo(x.dtype.numpy)
    return limits.min if reduction == "amax" else limits.max


# -- whole slices -----------------------------------------------------------------------------


def _slices(s: Any) -> Any:
    return [((s.normal(4, 5), 0, s.permutation(4)[:2], s.normal(2, 5)), {}),
            ((s.normal(4, 5), -1, s.permutation(5)[:3], s.normal(4, 3)), {})]  # fmt: skip


def _layout(name: str, x: Any, dim: int, index: Any, source: Any) -> tuple[Any, ...]:
    """Index of the slices of `source`. Raises ShapeError unless it has one slice for each index."""
    _check_dtype(name, "source", x, source)
    axis = wrap_dim(name, dim, x.ndim)
    expected = (*x.shape[:axis], index.numel(), *x.shape[axis + 1 :])
    if tuple(source.shape) != expected and not (x.ndim == 1 and source.ndim == 0):
        raise ShapeError(f"{name}: source must be {format_shape(expected)}, not {format_shape(source.shape)}")
    return (*(slice(None),) * axis, TensorSlot(0))


@composite(in_place=True, sample=lambda s: [
    *_slices(s), ((s.normal(4, 5), 0, s.integers(4, 6), s.normal(6, 5)), {"alpha": 2}),
])  # fmt: skip
def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    """x with slices of `source` added at the indices `index` of `dim`."""
    if x.ndim == 0:
        return index_add(x.reshape(1), 0, index.reshape(-1), source.reshape(-1), alpha=alpha).reshape(())
    layout = _layout("index_add", x, dim, index, source)
    added = (source * alpha).to(x.dtype) if alpha != 1 else source
    return x + index_backward((added, index), shape=tuple(x.shape), layout=layout)


@composite(in_place=True, sample=_slices)
def index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    """x with slices of `source` written at the indices `index` of `dim`."""
    if x.ndim == 0:
        return index_copy(x.reshape(1), 0, index.reshape(-1), source.reshape(-1)).reshape(())
    return index_put_op((x, source, index), layout=_layout("index_copy", x, dim, index, source))


@composite(
    in_place=True,
    sample=lambda s: [
        *(((x, d, i, 2.0), {}) for (x, d, i, _), _ in _slices(s)),
        ((s.normal(4, 5), 1, s.permutation(5)[:2], s.normal()), {}),
    ],
)
def index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    """x with one value written at the indices `index` of `dim`."""
    axis = wrap_dim("index_fill", dim, x.ndim)
    size = x.shape[axis] if x.ndim else 1
    index = index.reshape(-1)
    hits = index_backward((index * 0 + 1, index), shape=(size,), layout=(TensorSlot(0),)) > 0
    mask = hits.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return masked_fill(x, mask, value)


@composite(in_place=True, sample=lambda s: [
    ((s.normal(4, 5), 0, s.integers(4, 6), s.normal(6, 5), reduction), {"include_self": itself})
    for reduction in _REDUCTIONS[1:] for itself in (True, False)
])  # fmt: skip
def index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """x with slices of `source` reduced at the indices `index` of `dim`; see `scatter_reduce`."""
    axis = wrap_dim("index_reduce", dim, x.ndim)
    expanded = index.reshape([-1 if i == axis else 1 for i in range(x.ndim)]).expand(source.shape)
    return scatter_reduce(x, axis, expanded, source, reduce, include_self=include_self)


@composite(sample=lambda s: [((s.normal(3, 4), s.normal(3), 1, 2), {}), ((s.normal(3, 4), s.normal(4), 0, -1), {})])
def select_scatter(x: Any, src: Any, dim: int, index: int) -> Any:
    """Copy of x with `src` at index `index` of `dim`."""
    out = x.clone()
    copy_checked("select_scatter", out.select(dim, index), src)
    return out


@composite(sample=lambda s: [((s.normal(5, 2), s.normal(2, 2)), {"start": 1, "end": 3}),
                             ((s.normal(2, 5), s.normal(2, 3)), {"dim": 1, "step": 2})])  # fmt: skip
def slice_scatter(
    x: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """Copy of x with `src` written to a slice of `dim`."""
    out = x.clone()
    axis = wrap_dim("slice_scatter", dim, x.ndim)
    copy_checked("slice_scatter", slice_(out, index=(*(slice(None),) * axis, slice(start, end, step))), src)
    return out
