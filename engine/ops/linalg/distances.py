"""Pairwise distances between rows."""

from __future__ import annotations

from typing import Any

from engine.dtypes import int64
from engine.errors import DTypeError, ShapeError
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.linalg.norms import vector_norm
from engine.ops.matrix_products import matrix_product
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes, same_dtype
from engine.shape import Dim, Spec, format_shape


@op(
    "other",
    method=False,
    sample=lambda s: [(s.normal(4, 3), s.normal(5, 3)), (s.normal(2, 1, 3, 2), s.normal(2, 4, 2))],
)
def euclidean_dist(xp, x, y):
    """√Σ (x − y)² for all pairs of rows, by one matrix product. The gradient is 0 for equal rows."""
    squares = xp.square(x).sum(axis=-1)[..., None] + xp.square(y).sum(axis=-1)[..., None, :]
    squares -= 2 * matrix_product(xp, x, xp.swapaxes(y, -1, -2))
    return xp.sqrt(xp.maximum(squares, 0, out=squares), out=squares)


@euclidean_dist.shape
def _(x: Spec, y: Spec):
    return (*broadcast_shapes("cdist", [x.shape[:-2], y.shape[:-2]]), x.shape[-2], y.shape[-2])


@euclidean_dist.gradient
def _(g, x, y, out):
    weights = where(out == 0, 0.0, g / where(out == 0, 1.0, out))
    return x * weights.sum(-1).unsqueeze(-1) - weights @ y, y * weights.sum(-2).unsqueeze(-1) - weights.mT @ x


_MATMUL_ROWS = 25
"""With more rows PyTorch uses the matrix product, which is faster and less exact for close points."""


@composite(method=False, sample=lambda s: [
    (s.normal(4, 3), s.normal(5, 3), p) for p in (2.0, 1.0, float("inf"), 3.0, 0.0)
])  # fmt: skip
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """Distances in the `p`-norm between rows of `x1`, …×P×M, and rows of `x2`, …×R×M, as …×P×R."""
    same_dtype("cdist", x1.spec, x2.spec)
    if not x1.is_floating_point():
        raise DTypeError(
            f"cdist: the input must be floating point, not {x1.dtype.name}.", in_code="Convert with .float()."
        )
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            "cdist: x1 and x2 must have at least 2 dimensions and the same last size, "
            f"not {format_shape(x1.shape)} and {format_shape(x2.shape)}"
        )
    if p < 0:
        raise ValueError(f"cdist: p must be at least 0, not {p}")
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"cdist: compute_mode must be one of {', '.join(modes)}, not {compute_mode!r}")
    sizes = (x1.shape[-2], x2.shape[-2])
    has_many_rows = any(isinstance(size, Dim) or size > _MATMUL_ROWS for size in sizes)
    if p == 2 and (compute_mode == modes[1] or (compute_mode == modes[0] and has_many_rows)):
        return euclidean_dist(x1, x2)
    return _norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def _norm(difference: Any, p: float) -> Any:
    if difference.shape[-1] == 0:
        return difference.sum(-1)
    return vector_norm(difference, p, -1)


@composite(method=False, sample=lambda s: [(s.normal(4, 3), p) for p in (2.0, 1.0)])
def pdist(input: Any, p: float = 2.0) -> Any:
    """Distances in the `p`-norm between all N (N − 1) / 2 pairs of rows: the upper triangle of `cdist`."""
    if input.ndim != 2:
        raise ShapeError(f"pdist: the input must be a matrix, not {format_shape(input.shape)}")
    n = input.shape[0]
    if isinstance(n, Dim):
        raise ShapeError(f"pdist: the number of rows must be known, not {n}")
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    first = input.new_tensor([i for i, _ in pairs], dtype=int64)
    second = input.new_tensor([j for _, j in pairs], dtype=int64)
    return _norm(input.index_select(0, first) - input.index_select(0, second), p)
