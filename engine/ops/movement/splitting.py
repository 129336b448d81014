"""Parts of a tensor along a dimension: slices, splits and single indices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from engine.errors import IndexRangeError, ShapeError
from engine.ops.composite import composite
from engine.ops.indexing.index import slice_
from engine.ops.record import op
from engine.ops.shape_rules import wrap_dim
from engine.shape import Dim, Spec, format_shape


@op("movement", view=True, sample=lambda s: [
    ((s.normal(4, 5),), {"dim": 1, "start": 1, "length": 3}), ((s.normal(4, 5),), {"dim": 0, "start": 0, "length": 0}),
    ((s.normal(4, 5),), {"dim": -1, "start": -2, "length": 2}),
])  # fmt: skip
def narrow(xp, x, dim: int, start: int, length: int):
    """Slice of dimension `dim`: `length` elements from `start`; a view.

    Args:
        x: any tensor
        dim: dimension
        start: first position; negative ones count from the end
        length: number of positions
    """
    axis, start = _check_narrow(x.shape, dim, start, length)
    index: list[Any] = [slice(None)] * x.ndim
    index[axis] = slice(start, start + length)
    return x[tuple(index)]


def _check_narrow(shape: Sequence[Any], dim: int, start: Any, length: int) -> tuple[int, int]:
    """Dimension and start, both non-negative."""
    axis = wrap_dim("narrow", dim, len(shape))
    if not shape:
        raise ShapeError("narrow: a 0-d tensor cannot be narrowed")
    if getattr(start, "ndim", 0):
        raise ShapeError(f"narrow: start must be an integer or a 0-d tensor, not {format_shape(start.shape)}")
    first = start + shape[axis] if start < 0 else start
    if first < 0 or first > shape[axis]:
        raise IndexRangeError(
            f"narrow: start {start} is out of range for dimension {dim} of size {shape[axis]} in {format_shape(shape)}"
        )
    if length < 0 or first + length > shape[axis]:
        raise ShapeError(
            f"narrow: {length} elements from index {start} exceed dimension {dim} of size {shape[axis]} in "
            f"{format_shape(shape)}"
        )
    return axis, first


@narrow.shape
def _(x: Spec, dim: int, start: int, length: int):
    axis, _ = _check_narrow(x.shape, dim, start, length)
    return (*x.shape[:axis], length, *x.shape[axis + 1 :])


@narrow.gradient
def _(g, x: Spec, dim, start, length):
    axis, start = _check_narrow(x.shape, dim, start, length)
    return zero_pad(g, dim=axis, before=start, after=x.shape[axis] - start - length)


@op("movement", method=False, sample=lambda s: [
    ((s.normal(2, 3),), {"dim": 1, "before": 1, "after": 2}),
])  # fmt: skip
def zero_pad(xp, x, dim: int, before: int, after: int):
    """Pad one dimension with `before` and `after` zeros."""
    shape = list(x.shape)
    shape[dim] += before + after
    out = xp.zeros(tuple(shape), x.dtype)
    index: list[Any] = [slice(None)] * x.ndim
    index[dim] = slice(before, before + x.shape[dim])
    out[tuple(index)] = x
    return out


@zero_pad.shape
def _(x: Spec, dim: int, before: int, after: int):
    axis = wrap_dim("pad", dim, x.ndim)
    return (*x.shape[:axis], x.shape[axis] + before + after, *x.shape[axis + 1 :])


@zero_pad.gradient
def _(g, x: Spec, dim, before):
    return g.narrow(dim, before, x.shape[dim])


@composite(sample=lambda s: [((s.normal(3, 4), dim, i), {}) for dim, i in ((0, 1), (1, -1), (-1, 0))])
def select(x: Any, dim: int, index: int) -> Any:
    """Slice at `index` of dimension `dim`, which is removed; a view.

    Args:
        x: any tensor
        dim: dimension to remove
        index: position along `dim`; negative ones count from the end, so that −1 is the last
    """
    axis = wrap_dim("select", dim, x.ndim)
    if x.ndim == 0:
        raise ShapeError("select: a 0-d tensor cannot be indexed")
    return slice_(x, index=(*(slice(None),) * axis, int(index)))


@composite(sample=lambda s: [((s.normal(4, 5), 1, 1, 3), {}), ((s.normal(4, 5), 0, -2, 2), {})])
def narrow_copy(x: Any, dim: int, start: int, length: int) -> Any:
    """Copy of `narrow(x, dim, start, length)`."""
    return narrow(x, dim, start, length).clone()


@composite(result="tuple[Tensor, ...]", aliases=("unsafe_split",), sample=lambda s: [
    ((s.normal(5, 2), 2), {}), ((s.normal(3, 6), 3), {"dim": 1}), ((s.normal(3, 6), [1, 5]), {"dim": -1}),
])  # fmt: skip
def split(x: Any, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Split along `dim` into pieces of one size (the last may be smaller) or of the listed sizes."""
    size = split_size_or_sections
    total = x.shape[wrap_dim("split", dim, x.ndim)] if x.ndim else 0
    sizes = _equal_sizes(_known("split", total, dim), size) if isinstance(size, int) else list(size)
    if sum(sizes) != total:
        raise ShapeError(f"split: the sizes {sizes} add up to {sum(sizes)}, but dimension {dim} has {total}")
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple(narrow(x, dim, start, length) for start, length in zip(starts, sizes, strict=True))


@composite(result="tuple[Tensor, ...]", aliases=("unsafe_split_with_sizes",), sample=lambda s: [
    ((s.normal(3, 6), [1, 5]), {"dim": -1}),
])  # fmt: skip
def split_with_sizes(x: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Split along `dim` into pieces of the listed sizes.

    Args:
        x: any tensor
        split_sizes: size of each piece along `dim`; their sum is the size of `dim`
        dim: dimension to split
    """
    return split(x, list(split_sizes), dim)


def _known(name: str, total: Any, dim: int) -> int:
    """Size of a dimension. Raises ShapeError if it is symbolic."""
    if isinstance(total, Dim):
        raise ShapeError(f"{name}: dimension {dim} is {total}, so the number of pieces is unknown")
    return total


def _equal_sizes(total: int, size: int) -> list[int]:
    """Sizes of the pieces of `total`: `size` each, the last smaller; a total of 0 is one empty piece."""
    if size < 1:
        raise ShapeError(f"split: the piece size must be at least 1, not {size}")
    return [min(size, total - start) for start in range(0, total, size)] or [0]


@composite(result="tuple[Tensor, ...]", aliases=("unsafe_chunk",), sample=lambda s: [
    *(((s.normal(5, 2), n), {}) for n in (1, 2, 3, 7)), ((s.normal(3, 4), 2, -1), {}),
])  # fmt: skip
def chunk(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Split along `dim` into at most `chunks` pieces of equal size (the last may be smaller).

    Args:
        x: any tensor
        chunks: number of pieces
        dim: dimension to split
    """
    if chunks < 1:
        raise ShapeError(f"chunk: chunks must be at least 1, not {chunks}")
    total = x.shape[wrap_dim("chunk", dim, x.ndim)] if x.ndim else 0
    if _known("chunk", total, dim) == 0:
        return split(x, [0] * chunks, dim)
    return split(x, max(1, -(-total // chunks)), dim)


@composite(result="tuple[Tensor, ...]", sample=lambda s: [
    ((s.normal(7, 2), 3), {}), ((s.normal(7), (1, 4)), {}), ((s.normal(2, 5), 2), {"dim": 1}),
    ((s.normal(5), [2, 1, 9]), {}),
])  # fmt: skip
def tensor_split(x: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Split along `dim` into N nearly equal pieces, or at the listed indices."""
    total = _known("tensor_split", x.shape[wrap_dim("tensor_split", dim, x.ndim)], dim)
    cuts = indices_or_sections.tolist() if hasattr(indices_or_sections, "tolist") else indices_or_sections
    if isinstance(cuts, int):
        if cuts < 1:
            raise ShapeError(f"tensor_split: the number of pieces must be at least 1, not {cuts}")
        small, larger = divmod(total, cuts)
        cuts = [i * small + min(i, larger) for i in range(1, cuts)]
    bounds = [0, *(min(cut, total) if cut >= 0 else max(cut + total, 0) for cut in cuts), total]
    return tuple(narrow(x, dim, start, max(stop - start, 0)) for start, stop in itertools.pairwise(bounds))


@composite(result="tuple[Tensor, ...]", sample=lambda s: [((s.normal(2, 4), 2), {}), ((s.normal(4), [1]), {})])
def hsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Split horizontally: along dimension 1, or dimension 0 of a vector."""
    return _equal_split("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1, 1)


@composite(result="tuple[Tensor, ...]", sample=lambda s: [((s.normal(4, 2), 2), {}), ((s.normal(4, 1), [1]), {})])
def vsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Split vertically, along dimension 0; x has at least 2 dimensions."""
    return _equal_split("vsplit", x, indices_or_sections, 0, 2)


@composite(result="tuple[Tensor, ...]", sample=lambda s: [((s.normal(1, 2, 4), 2), {}), ((s.normal(1, 2, 4), [1]), {})])
def dsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Split in depth, along dimension 2; x has at least 3 dimensions."""
    return _equal_split("dsplit", x, indices_or_sections, 2, 3)


def _equal_split(name: str, x: Any, pieces: Any, dim: int, least: int) -> tuple[Any, ...]:
    if x.ndim < least:
        raise ShapeError(f"{name}: the input must have at least {least} dimensions, not {format_shape(x.shape)}")
    if isinstance(pieces, int) and x.shape[dim] % pieces:
        raise ShapeError(f"{name}: {x.shape[dim]} elements do not divide into {pieces} equal pieces")
    return tensor_split(x, pieces, dim)


@composite(result="tuple[Tensor, ...]", sample=lambda s: [((s.normal(3, 2), dim), {}) for dim in (0, 1, -1)])
def unbind(x: Any, dim: int = 0) -> tuple[Any, ...]:
    """Tuple of all slices along dimension `dim`, which is removed; views.

    Args:
        x: any tensor
        dim: dimension to remove
    """
    axis = wrap_dim("unbind", dim, x.ndim)
    if x.ndim == 0:
        raise ShapeError("unbind: a 0-dimensional tensor cannot be split")
    return tuple(select(x, axis, i) for i in range(_known("unbind", x.shape[axis], dim)))
