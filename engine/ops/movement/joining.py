"""Joining tensors: stacking, block diagonals, grids, combinations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from engine.errors import ShapeError
from engine.ops import shape_rules
from engine.ops.composite import composite
from engine.ops.movement.primitives import cat, expand
from engine.ops.movement.shaping import atleast_1d, atleast_2d, atleast_3d
from engine.ops.movement.splitting import zero_pad
from engine.shape import Dim, Size, format_shape


@composite(method=False, sample=lambda s: [(([s.normal(2, 3), s.normal(2, 3)], dim), {}) for dim in (0, 1, -1)]
           + [(([s.normal()] * 3,), {})])  # fmt: skip
def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Stack tensors of the same shape along a new dimension.

    Args:
        tensors: tensors of the same shape
        dim: the new dimension
    """
    if hasattr(tensors, "dtype"):
        raise TypeError("stack(): the tensors must be in a list or a tuple. Use stack([a, b]).")
    for number, x in enumerate(tensors):
        if tuple(x.shape) != tuple(tensors[0].shape):
            raise ShapeError(
                f"stack: tensor 0 is {format_shape(tensors[0].shape)} and tensor {number} is {format_shape(x.shape)}; "
                "all must have the same shape.",
                in_code="Use cat() to join along an existing dimension.",
            )
    return cat([x.unsqueeze(dim) for x in tensors], dim=dim)


@composite(
    method=False, sample=lambda s: [(([s.normal(2), s.normal(3)],), {}), (([s.normal(2, 1), s.normal(2, 3)],), {})]
)
def hstack(tensors: Sequence[Any]) -> Any:
    """Join tensors horizontally: along dimension 1, or dimension 0 of vectors."""
    tensors = [atleast_1d(x) for x in tensors]
    return cat(tensors, dim=0 if tensors[0].ndim == 1 else 1)


@composite(method=False, aliases=("row_stack",), sample=lambda s: [
    (([s.normal(3), s.normal(3)],), {}), (([s.normal(3), s.normal(2, 3)],), {}),
])  # fmt: skip
def vstack(tensors: Sequence[Any]) -> Any:
    """Join tensors vertically, along dimension 0; vectors become rows."""
    return cat([atleast_2d(x) for x in tensors], dim=0)


@composite(
    method=False, sample=lambda s: [(([s.normal(3), s.normal(3)],), {}), (([s.normal(2, 3), s.normal(2, 3)],), {})]
)
def dstack(tensors: Sequence[Any]) -> Any:
    """Join tensors in depth, along dimension 2."""
    return cat([atleast_3d(x) for x in tensors], dim=2)


@composite(method=False, sample=lambda s: [(([s.normal(3), s.normal(3)],), {}), (([s.normal(3), s.normal(3, 2)],), {})])
def column_stack(tensors: Sequence[Any]) -> Any:
    """Join tensors as columns; vectors become columns of a matrix."""
    return cat([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors], dim=1)


@composite(method=False, sample=lambda s: [((s.normal(2, 3), s.normal(1, 2)), {}), ((s.normal(2), s.normal()), {})])
def block_diag(*tensors: Any) -> Any:
    """Block-diagonal matrix of the given matrices."""
    blocks = [x.reshape(1, -1) if x.ndim < 2 else x for x in tensors]
    width = sum(block.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        rows.append(zero_pad(block, dim=1, before=start, after=width - start - block.shape[1]))
        start += block.shape[1]
    return cat(rows, dim=0)


@composite(method=False, result="tuple[Tensor, ...]", sample=lambda s: [((s.normal(3, 1), s.normal(2, 1, 4)), {})])
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Expand tensors to their common shape."""
    shape = shape_rules.broadcast_shapes("broadcast_tensors", [tuple(x.shape) for x in _as_list(tensors)])
    return tuple(x if tuple(x.shape) == tuple(shape) else expand(x, shape) for x in _as_list(tensors))


@composite(method=False, result="Any", sample=lambda s: [(((3, 1), (2, 1, 4)), {}), ((2, (3, 1)), {})])
def broadcast_shapes(*shapes: Any) -> Size:
    """Shape that the given shapes broadcast to."""
    return Size(
        shape_rules.broadcast_shapes("broadcast_shapes", [(s,) if isinstance(s, int) else tuple(s) for s in shapes])
    )


def _as_list(tensors: tuple[Any, ...]) -> Sequence[Any]:
    """Tensors passed as separate arguments or as one list."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


@composite(method=False, result="tuple[Tensor, ...]", sample=lambda s: [
    ((s.normal(3), s.normal(2)), {"indexing": indexing}) for indexing in ("ij", "xy")
] + [((s.normal(3), s.normal(), s.normal(2)), {"indexing": "ij"})])  # fmt: skip
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Coordinate grids, one tensor per axis; indexing="xy" swaps the first two dimensions."""
    if indexing not in ("ij", "xy"):
        raise ValueError(f"meshgrid(): indexing must be 'ij' or 'xy', not {indexing!r}")
    axes = [x.reshape(-1) for x in _as_list(tensors)]
    swaps_axes = indexing == "xy" and len(axes) > 1
    order = [1, 0, *range(2, len(axes))] if swaps_axes else list(range(len(axes)))
    shape = tuple(axes[i].shape[0] for i in order)
    return tuple(
        expand(x.reshape([-1 if axis == order[i] else 1 for axis in range(len(axes))]), shape)
        for i, x in enumerate(axes)
    )


@composite(method=False, sample=lambda s: [((s.normal(3), s.normal(2)), {}), ((s.normal(3),), {})])
def cartesian_prod(*tensors: Any) -> Any:
    """Cartesian product of vectors, one tuple per row."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([x.reshape(-1) for x in meshgrid(*tensors)], dim=1)


@composite(method=False, sample=lambda s: [((s.normal(4),), {}), ((s.normal(3), 2, True), {}), ((s.normal(5), 3), {})])
def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Combinations of r elements of a vector, one per row."""
    combine: Callable[..., Any] = (
        itertools.combinations_with_replacement if with_replacement else itertools.combinations
    )
    if isinstance(x.shape[0], Dim):
        raise ShapeError(f"combinations: the number of combinations of {x.shape[0]} elements is unknown")
    chosen = list(combine(range(x.shape[0]), r))
    if not chosen or not r:
        return x.new_empty(0, r) if r else x.new_empty(0)
    return stack([cat([x.narrow(0, row[k], 1) for row in chosen]) for k in range(r)], dim=1)
