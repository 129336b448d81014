"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import DType
from engine.errors import DTypeError, ShapeError
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.linalg.decompositions import eigvalsh, svdvals
from engine.ops.linalg.systems import inv
from engine.ops.record import op
from engine.ops.reduction.reductions import amax, amin
from engine.ops.shape_rules import Dims, reduced, wrap_dim, wrap_dims
from engine.shape import Spec, format_shape


@op("other", method=False, sample=lambda s: [
    ((s.normal(3, 4, 2) + 0.5,), {"p": p, "dim": dim, "keepdim": keep})
    for p, dim, keep in ((2.0, None, False), (2.0, 1, True), (3.0, (0, 2), False), (1.5, -1, False))
])  # fmt: skip
def linalg_vector_norm(xp, x, p: float, dim: Dims = None, keepdim: bool = False):
    """Vector norm (Σ |x|ᵖ)^(1/p). The gradient at 0 is 0."""
    if p == 2:
        return xp.sqrt(xp.square(x).sum(axis=wrap_dims("norm", dim, x.ndim), keepdims=keepdim, dtype=x.dtype))
    total = xp.power(xp.abs(x), p).sum(axis=wrap_dims("norm", dim, x.ndim), keepdims=keepdim, dtype=x.dtype)
    return xp.power(total, xp.asarray(1 / p, x.dtype))


@linalg_vector_norm.shape
def _(x: Spec, p: float, dim: Dims = None, keepdim: bool = False):
    return reduced("norm", x, dim, keepdim)


@linalg_vector_norm.gradient
def _(g, x, out, p, dim, keepdim):
    if not keepdim:
        for axis in sorted(wrap_dims("norm", dim, x.ndim)):
            g, out = g.unsqueeze(axis), out.unsqueeze(axis)
    if p == 2:
        return x * where(out == 0, 0.0, g / where(out == 0, 1.0, out))
    is_zero = (x == 0) | (out == 0)
    ratio = where(is_zero, 1.0, x.abs() / where(out == 0, 1.0, out))
    return where(is_zero, 0.0, g * x.sign() * ratio ** (p - 1))


@composite(method=False, public=False, sample=lambda s: [
    ((s.normal(3, 4), order), {"dim": dim})
    for order in (2, 1, 0, 3.5, float("inf"), -float("inf")) for dim in (None, 1)
])  # fmt: skip
def vector_norm(x: Any, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None) -> Any:
    """Vector norm (Σ |x|ᵒʳᵈ)^(1/ord) over `dim` (default: all); ∞: maximum |x|, −∞: minimum |x|, 0: nonzero count."""
    x = _floating("linalg.vector_norm", x if dtype is None else x.to(dtype=dtype))
    dim = tuple(dim) if isinstance(dim, list) else dim
    if ord == 0:
        return (x != 0).to(x.dtype).sum(dim, keepdim) + (x * 0).sum(dim, keepdim)
    if ord == 1:
        return x.abs().sum(dim, keepdim)
    if abs(ord) == float("inf"):
        if (
            0 in x.shape
            and ord > 0
            and 0 not in [x.shape[d] for d in range(x.ndim) if d not in wrap_dims("norm", dim, x.ndim)]
        ):
            return x.abs().sum(dim, keepdim)
        return (amax if ord > 0 else amin)(x.abs(), dim, keepdim)
    return linalg_vector_norm(x, float(ord), dim, keepdim)


def _floating(name: str, x: Any) -> Any:
    if not x.is_floating_point():
        raise DTypeError(
            f"{name}: the input must be floating point, not {x.dtype.name}.", in_code="Convert with .float()."
        )
    return x


@composite(method=False, public=False, sample=lambda s: [
    (s.normal(2, 3, 4), order) for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))
])  # fmt: skip
def matrix_norm(
    A: Any,
    ord: float | str = "fro",
    dim: tuple[int, ...] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Any:
    """Matrix norm by `ord`: "fro", "nuc" (sum of singular values), ±1 (columns), ±2 (singular values), ±∞ (rows)."""
    A = _floating("linalg.matrix_norm", A if dtype is None else A.to(dtype=dtype))
    if A.ndim < 2:
        raise ShapeError(
            f"linalg.matrix_norm: expected a matrix, not {format_shape(A.shape)}.", in_code="Use vector_norm()."
        )
    if len(dim) != 2 or wrap_dim("norm", dim[0], A.ndim) == wrap_dim("norm", dim[1], A.ndim):
        raise ShapeError(f"linalg.matrix_norm: dim must be two different dimensions, not {tuple(dim)}")
    rows, columns = (wrap_dim("norm", d, A.ndim) for d in dim)
    if ord == "fro":
        return linalg_vector_norm(A, 2.0, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        values = svdvals(A.permute(*(i for i in range(A.ndim) if i not in (rows, columns)), rows, columns))
        result = values.sum(-1) if ord == "nuc" else amax(values, -1) if ord == 2 else amin(values, -1)
        return _unsqueeze(result, rows, columns) if keepdim else result
    if ord not in (1, -1, float("inf"), -float("inf")):
        raise ValueError(f'linalg.matrix_norm: ord must be "fro", "nuc", ±1, ±2 or ±inf, not {ord!r}')
    summed, reduced_dim = (rows, columns) if abs(ord) == 1 else (columns, rows)
    return _reduce_sums((A.abs()).sum(summed, True), reduced_dim, summed, ord > 0, keepdim)


def _reduce_sums(sums: Any, reduced_dim: int, summed: int, largest: bool, keepdim: bool) -> Any:
    result = (amax if largest else amin)(sums, reduced_dim, True)
    return result if keepdim else result.squeeze((reduced_dim, summed))


def _unsqueeze(x: Any, *axes: int) -> Any:
    for axis in sorted(axes):
        x = x.unsqueeze(axis)
    return x


@composite(method=False, public=False, sample=lambda s: [(s.normal(3, 4),), (s.normal(3, 4), 1), (s.normal(4), 3)])
def linalg_norm(A: Any, ord: Any = None, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None) -> Any:
    """Matrix norm if `ord` is set and the tensor, or `dim`, has two dimensions; otherwise vector norm."""
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if isinstance(dim, int) or (dim is not None and len(dim) == 1) or (dim is None and A.ndim == 1):
        if isinstance(ord, str):
            raise ValueError(f"linalg.norm: ord={ord!r} is a matrix norm. Pass two dimensions.")
        return vector_norm(A, ord, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim != 2:
        raise ShapeError(f"linalg.norm: ord requires dim for a tensor of {A.ndim} dimensions ({format_shape(A.shape)})")
    return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


@composite(sample=lambda s: [(s.normal(3, 4),), ((s.normal(3, 4), 1), {"dim": 1}), (s.normal(3, 4), "nuc")])
def norm(
    input: Any, p: float | str | None = "fro", dim: Dims = None, keepdim: bool = False, dtype: DType | None = None
) -> Any:
    """`p`-norm over `dim` (default: all); "fro" is the 2-norm, "nuc" the sum of singular values of matrices."""
    if p == "nuc":
        dims = (-2, -1) if dim is None else (dim,) if isinstance(dim, int) else dim
        return matrix_norm(input, "nuc", dims, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise ValueError(f'norm: p must be a number, "fro" or "nuc", not {p!r}')
    return vector_norm(input, 2 if p is None or isinstance(p, str) else p, dim, keepdim, dtype=dtype)


@composite(method=False, public=False, sample=lambda s: [(s.normal(3, 3),), (s.normal(4, 3),), (s.normal(3, 3), 1)])
def cond(A: Any, p: float | str | None = None) -> Any:
    """Condition number ‖A‖ · ‖A⁻¹‖ in the norm `p` (default: 2)."""
    if p is None or p in (2, -2):
        values = svdvals(A)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


@composite(method=False, public=False, sample=lambda s: [(s.normal(3, 4),), (s.normal(2, 3, 3),)])
def matrix_rank(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False, tol: Any = None) -> Any:
    """Matrix rank: number of singular values above max(atol, rtol · largest singular value)."""
    values = (eigvalsh(A).abs() if hermitian else svdvals(A)).detach()
    if values.shape[-1] == 0:
        return values.sum(-1).long()
    limit = tolerance(A, values, tol if atol is None else atol, rtol)
    return (values > limit).sum(-1)


def tolerance(A: Any, values: Any, atol: Any, rtol: Any) -> Any:
    """Limit up to which singular values count as 0. The default covers rounding errors, as in PyTorch."""
    if rtol is None:
        has_atol = atol is not None and not (isinstance(atol, (int, float)) and atol == 0)
        rtol = 0.0 if has_atol else max(A.shape[-2:]) * float(np.finfo(A.dtype.numpy).eps)
    atol = 0.0 if atol is None else atol
    largest = amax(values, -1, True)
    atol, rtol = (part.unsqueeze(-1) if hasattr(part, "unsqueeze") else part for part in (atol, rtol))
    relative = largest * rtol
    return relative.maximum(atol) if hasattr(atol, "unsqueeze") else relative.clamp(min=atol)


@composite(sample=lambda s: [(s.normal(3, 4), s.normal(3, 4)), (s.normal(3, 4), s.normal(4), 1)])
def dist(input: Any, other: Any, p: float = 2) -> Any:
    """`p`-norm of the difference of two tensors."""
    return vector_norm(input - other, p)


@composite(in_place=True, sample=lambda s: [(s.normal(3, 4), 2, 0, 1.0), (s.normal(3, 4), 1, 1, 2.0)])
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Scale each slice along `dim` down to a `p`-norm of at most `maxnorm`."""
    axis = wrap_dim("renorm", dim, input.ndim)
    norms = vector_norm(input, p, tuple(i for i in range(input.ndim) if i != axis), True)
    return input * where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
