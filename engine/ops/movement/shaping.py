"""Shape changes: flatten, unflatten, move, add and repeat dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from engine.errors import ShapeError
from engine.ops.composite import composite
from engine.ops.movement.primitives import expand, permute, reshape, view
from engine.ops.record import op
from engine.ops.shape_rules import reshaped, wrap_dim, wrap_dims
from engine.shape import Shape, Spec, count, format_shape

Sizes: TypeAlias = tuple[int, ...]


@composite(sample=lambda s: [
    ((s.normal(2, 3, 4),), {}), ((s.normal(2, 3, 4), 1), {}), ((s.normal(2, 3, 4), 0, 1), {}), ((s.normal(),), {}),
    ((s.normal(4),), {}), ((s.normal(4, 3).T,), {}),
])  # fmt: skip
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Flatten dimensions `start_dim` to `end_dim` into one."""
    if x.ndim == 0:
        return reshape(x, (1,))
    start, end = wrap_dim("flatten", start_dim, x.ndim), wrap_dim("flatten", end_dim, x.ndim)
    if start > end:
        raise ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    if start == end:
        return x
    return reshape(x, (*x.shape[:start], count(x.shape[start : end + 1]), *x.shape[end + 1 :]))


@composite(sample=lambda s: [((s.normal(2, 3),), {}), ((s.normal(2, 3).T,), {}), ((s.normal(),), {})])
def ravel(x: Any) -> Any:
    """Flatten to one dimension."""
    return reshape(x, (-1 if 0 not in x.shape else 0,))


@composite(sample=lambda s: [((s.normal(2, 6), 1, (2, 3)), {}), ((s.normal(2, 6), -1, (-1, 3)), {})])
def unflatten(x: Any, dim: int, sizes: Sequence[int]) -> Any:
    """Split dimension `dim` into `sizes`; one size may be −1."""
    axis = wrap_dim("unflatten", dim, x.ndim)
    inner = reshaped("unflatten", Spec((x.shape[axis],), x.dtype), sizes)
    return reshape(x, (*x.shape[:axis], *inner, *x.shape[axis + 1 :]))


@composite(public=False, sample=lambda s: [((s.normal(2, 6), s.normal(3, 4)), {})])
def view_as(x: Any, other: Any) -> Any:
    """View x in the shape of `other`."""
    return view(x, tuple(other.shape))


@composite(public=False, sample=lambda s: [((s.normal(2, 6), s.normal(3, 4)), {})])
def reshape_as(x: Any, other: Any) -> Any:
    """Reshape x to the shape of `other`."""
    return reshape(x, tuple(other.shape))


@composite(sample=lambda s: [((s.normal(3, 1), (2, 3, 4)), {}), ((s.normal(3), (3,)), {})])
def broadcast_to(x: Any, size: Any) -> Any:
    """Broadcast x to `size` without copying."""
    return expand(x, tuple(size))


@composite(aliases=("moveaxis",), sample=lambda s: [
    ((s.normal(2, 3, 4), 0, 2), {}), ((s.normal(2, 3, 4), (0, 1), (-1, 0)), {}), ((s.normal(2, 3), -1, 0), {}),
])  # fmt: skip
def movedim(x: Any, source: int | Sizes, destination: int | Sizes) -> Any:
    """Move dimensions from `source` to `destination`; the others keep their order.

    Args:
        x: any tensor
        source: dimension or dimensions to move
        destination: their dimensions in the result
    """
    sources, destinations = (
        wrap_dims("movedim", (d,) if isinstance(d, int) else tuple(d), x.ndim) for d in (source, destination)
    )
    if len(sources) != len(destinations):
        raise ShapeError(f"movedim: {source} and {destination} must name the same number of dimensions")
    rest = iter([d for d in range(x.ndim) if d not in sources])
    placed = dict(zip(destinations, sources, strict=True))
    return permute(x, tuple(placed[d] if d in placed else next(rest) for d in range(x.ndim)))


@composite(sample=lambda s: [((s.normal(2, 3, 4),), {})])
def adjoint(x: Any) -> Any:
    """Swap the last two dimensions; a view."""
    return x.transpose(-2, -1)


@composite(
    method=False, result="Any", sample=lambda s: [((s.normal(),), {}), ((s.normal(3),), {}), ((s.normal(2, 3),), {})]
)
def atleast_1d(*tensors: Any) -> Any:
    """View with at least 1 dimension."""
    return _each(tensors, lambda x: reshape(x, (1,)) if x.ndim == 0 else x)


@composite(
    method=False, result="Any", sample=lambda s: [((s.normal(),), {}), ((s.normal(3),), {}), ((s.normal(2, 3),), {})]
)
def atleast_2d(*tensors: Any) -> Any:
    """View with at least 2 dimensions; a vector becomes a row."""
    return _each(tensors, lambda x: reshape(x, (1, -1 if 0 not in x.shape else 0)) if x.ndim < 2 else x)


@composite(
    method=False, result="Any", sample=lambda s: [((s.normal(),), {}), ((s.normal(3),), {}), ((s.normal(2, 3),), {})]
)
def atleast_3d(*tensors: Any) -> Any:
    """View with at least 3 dimensions; a matrix H×W becomes H×W×1, a vector N becomes 1×N×1."""

    def raised(x: Any) -> Any:
        if x.ndim == 2:
            return x.unsqueeze(-1)
        return reshape(x, (1, *x.shape, *(1,) * (2 - x.ndim))) if x.ndim < 2 else x

    return _each(tensors, raised)


def _each(tensors: tuple[Any, ...], function: Any) -> Any:
    """Apply a function to one tensor, or to each of several."""
    if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
        return function(tensors[0])
    return tuple(function(x) for x in (tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors))


# -- repetition ---------------------------------------------------------------------------------


@op("movement", varargs="repeats", public=False, sample=lambda s: [
    ((s.normal(2, 3),), {"repeats": repeats}) for repeats in ((2, 1), (2, 2, 3), (0, 1), (1, 1))
] + [((s.normal(),), {"repeats": (2,)})])  # fmt: skip
def repeat(xp, x, repeats: Sizes):
    """Repeat the tensor along each dimension.

    Args:
        x: any tensor
        repeats: number of copies along each dimension; further ones in front add dimensions
    """
    _repeated(x.shape, repeats)
    return xp.tile(x, tuple(repeats)) if repeats else x.copy()


def _repeated(shape: Shape, repeats: Sizes) -> Shape:
    if len(repeats) < len(shape):
        raise ShapeError(f"repeat: {format_shape(shape)} requires at least {len(shape)} repeats, not {tuple(repeats)}")
    if any(number < 0 for number in repeats):
        raise ShapeError(f"repeat: repeats must be at least 0, not {tuple(repeats)}")
    sizes = (*(1,) * (len(repeats) - len(shape)), *shape)
    return tuple(size * number for size, number in zip(sizes, repeats, strict=True))


@repeat.shape
def _(x: Spec, repeats: Sizes):
    return _repeated(x.shape, repeats)


@repeat.gradient
def _(g, x: Spec, repeats):
    extra = len(repeats) - x.ndim
    sizes = (*(1,) * extra, *x.shape)
    parted = [part for pair in zip(repeats, sizes, strict=True) for part in pair]
    return g.reshape(parted).sum(tuple(range(0, len(parted), 2))).reshape(x.shape) if repeats else g


@composite(sample=lambda s: [((s.normal(2, 3), (2,)), {}), ((s.normal(2), (2, 2)), {}), ((s.normal(2, 3), 2), {})])
def tile(x: Any, *dims: Any) -> Any:
    """Repeat the tensor along each dimension; `dims` may be shorter than the shape."""
    wanted = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return repeat(x, (*(1,) * (x.ndim - len(wanted)), *wanted))


@composite(sample=lambda s: [
    ((s.normal(2, 3), 2), {}), ((s.normal(2, 3), 2), {"dim": 0}), ((s.normal(2, 3), 3), {"dim": -1}),
    ((s.normal(3), s.integers(3, 3)), {"dim": 0}), ((s.integers(4, 5),), {}), ((s.normal(2, 2), s.integers(3, 4)), {}),
    ((s.normal(2, 3), s.integers(3, 1) + 1), {"dim": 1}),
])  # fmt: skip
def repeat_interleave(x: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Repeat each element: `repeats` is one number, or one number per index of `dim`."""
    if repeats is None:
        return repeat_interleave_indices(x, total=output_size)
    if dim is None:
        x, dim = x.reshape(-1), 0
    axis = wrap_dim("repeat_interleave", dim, x.ndim)
    x = x if x.ndim else x.reshape(1)
    if hasattr(repeats, "dtype") and repeats.numel() == 1:
        repeats = int(repeats)
    if isinstance(repeats, int):
        sizes = list(x.shape)
        wide = expand(x.unsqueeze(axis + 1), (*sizes[: axis + 1], repeats, *sizes[axis + 1 :]))
        result = reshape(wide, (*sizes[:axis], sizes[axis] * repeats, *sizes[axis + 1 :]))
        return result if result._base is None else result.clone()  # a repeated tensor is never a view
    if repeats.shape[0] != x.shape[axis]:
        raise ShapeError(
            f"repeat_interleave: {repeats.shape[0]} repeats do not match the {x.shape[axis]} elements of "
            f"dimension {dim}"
        )
    return x.index_select(axis, repeat_interleave_indices(repeats, total=output_size))


@op("other", method=False, sample=lambda s: [((s.integers(4, 5),), {"total": None})])
def repeat_interleave_indices(xp, repeats, total: int | None):
    """Indices 0, 1, 2, …, each repeated as often as `repeats` says."""
    return xp.asarray(xp.repeat(xp.arange(repeats.shape[0]), repeats.tolist()), xp.int64)


@repeat_interleave_indices.shape
def _(repeats: Spec, total: int | None):
    if total is None:
        raise ShapeError(
            "repeat_interleave: the shape of the result depends on the values, which a tensor on the meta device does "
            "not have. Pass output_size."
        )
    return (total,)
