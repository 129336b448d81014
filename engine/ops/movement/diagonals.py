"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from engine.errors import ShapeError
from engine.ops.composite import composite
from engine.ops.record import op
from engine.ops.shape_rules import copy_checked, wrap_dims
from engine.shape import Shape, Spec

Sizes: TypeAlias = tuple[int, ...]


def _triangles(s: Any) -> Any:
    return [((s.normal(3, 4),), {"diagonal": k}) for k in (-1, 0, 1, 5)] + [((s.normal(2, 3, 3),), {})]


@op("other", in_place=True, sample=_triangles)
def tril(xp, x, diagonal: int = 0):
    """Lower triangle of matrices; the other elements are 0."""
    _check_plane(x.ndim)
    return xp.tril(x, diagonal)


@op("other", in_place=True, sample=_triangles)
def triu(xp, x, diagonal: int = 0):
    """Upper triangle of matrices; the other elements are 0."""
    _check_plane(x.ndim)
    return xp.triu(x, diagonal)


@tril.shape
@triu.shape
def _(x: Spec, diagonal: int = 0):
    _check_plane(x.ndim)
    return x


def _check_plane(ndim: int) -> None:
    if ndim < 2:  # NumPy accepts a vector and returns a matrix
        raise ShapeError(f"tril() and triu() need at least 2 dimensions, not {ndim}")


@tril.gradient
def _(g, diagonal):
    return g.tril(diagonal)


@triu.gradient
def _(g, diagonal):
    return g.triu(diagonal)


@op(
    "movement",
    view=True,
    sample=lambda s: (
        [((s.normal(3, 4),), {"offset": k}) for k in (-1, 0, 2, 5)]
        + [((s.normal(2, 3, 4),), {"offset": 1, "dim1": 0, "dim2": -1}), ((s.normal(2, 3, 4),), {"dim1": 2, "dim2": 1})]
    ),
)
def diagonal(xp, x, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """Diagonal over two dimensions, as the last dimension; above the main one for a positive offset."""
    size = _length(x.shape, offset, *_axes(x.ndim, dim1, dim2))
    if size <= 0:
        return xp.moveaxis(x, _axes(x.ndim, dim1, dim2), (-2, -1))[..., 0, :0] if 0 not in x.shape else xp.zeros(
            _shape(x.shape, offset, dim1, dim2), x.dtype)  # fmt: skip
    out = xp.diagonal(x, offset, dim1, dim2)
    if isinstance(out, np.ndarray) and x.flags.writeable:
        out.flags.writeable = True
    return out


def _axes(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    a, b = (wrap_dims("diagonal", d, ndim)[0] if ndim else 0 for d in (dim1, dim2))
    if a == b:
        raise ShapeError(f"diagonal: dim1 and dim2 must differ, not {dim1} and {dim2}")
    return a, b


def _length(shape: Shape, offset: int, a: int, b: int) -> Any:
    rows, columns = shape[a] + min(offset, 0), shape[b] - max(offset, 0)
    return max(min(rows, columns), 0)


def _shape(shape: Shape, offset: int, dim1: int, dim2: int) -> Shape:
    a, b = _axes(len(shape), dim1, dim2)
    return (*(size for i, size in enumerate(shape) if i not in (a, b)), _length(shape, offset, a, b))


@diagonal.shape
def _(x: Spec, offset: int = 0, dim1: int = 0, dim2: int = 1):
    return _shape(x.shape, offset, dim1, dim2)


@diagonal.gradient
def _(g, x: Spec, offset, dim1, dim2):
    return diag_embed_op(g, shape=x.shape, offset=offset, dim1=dim1, dim2=dim2)


@op("movement", method=False, sample=lambda s: [
    ((s.normal(3),), {"shape": (3, 4), "offset": 1, "dim1": 0, "dim2": 1}),
])  # fmt: skip
def diag_embed_op(xp, x, shape: Sizes, offset: int, dim1: int, dim2: int):
    """Zeros of `shape` with `x` on a diagonal."""
    out = xp.zeros(shape, x.dtype)
    if x.size:
        view = xp.diagonal(out, offset, dim1, dim2)
        if isinstance(view, np.ndarray):
            view.flags.writeable = True
        view[...] = x
    return out


@diag_embed_op.shape
def _(x: Spec, shape: Sizes, offset: int, dim1: int, dim2: int):
    return shape


@diag_embed_op.gradient
def _(g, offset, dim1, dim2):
    return g.diagonal(offset, dim1, dim2)


@composite(sample=lambda s: [
    ((s.normal(2, 3),), {}), ((s.normal(2, 3),), {"offset": -1}), ((s.normal(2, 3), 1, 0, 2), {}), ((s.normal(3),), {}),
])  # fmt: skip
def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices whose diagonals hold the last dimension of x."""
    a, b = _axes(x.ndim + 1, dim1, dim2)
    size = x.shape[-1] + abs(offset)
    rest = iter(x.shape[:-1])
    shape = tuple(size if i in (a, b) else next(rest) for i in range(x.ndim + 1))
    return diag_embed_op(x, shape=shape, offset=offset, dim1=a, dim2=b)


@composite(
    sample=lambda s: [((s.normal(3),), {}), ((s.normal(3), 1), {}), ((s.normal(3, 4),), {}), ((s.normal(3, 4), -1), {})]
)
def diag(x: Any, diagonal: int = 0) -> Any:
    """Matrix with a vector on its diagonal, or the diagonal of a matrix."""
    if x.ndim not in (1, 2):
        raise ShapeError(f"diag: the input must be a vector or a matrix, not a tensor of {x.ndim} dimensions")
    return diag_embed(x, diagonal) if x.ndim == 1 else _diagonal(x, diagonal).clone()


_diagonal = diagonal


@composite(sample=lambda s: [((s.normal(3),), {}), ((s.normal(2, 2), 1), {}), ((s.normal(),), {})])
def diagflat(x: Any, offset: int = 0) -> Any:
    """Matrix with all elements of x on its diagonal."""
    return diag_embed(x.reshape(-1), offset)


@composite(sample=lambda s: [((s.normal(3, 4), s.normal(3)), {}), ((s.normal(3, 4), s.normal(3)), {"offset": 1})])
def diagonal_scatter(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Copy of x with `src` on a diagonal."""
    out = x.clone()
    copy_checked("diagonal_scatter", out.diagonal(offset, dim1, dim2), src)
    return out
