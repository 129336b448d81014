"""Functions of matrices: pseudo-inverse, least squares, exponential."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from engine.errors import ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.linalg.decompositions import linalg_eigh, svdvals
from engine.ops.linalg.lapack import check_matrices, check_square, run_lapack
from engine.ops.linalg.norms import matrix_rank, tolerance
from engine.ops.linalg.systems import inv, linalg_solve
from engine.ops.matrix_products import matrix_product
from engine.ops.movement.primitives import cat
from engine.ops.record import op
from engine.shape import Dim, Spec, count, format_shape

# -- pseudo-inverse ---------------------------------------------------------------------------


@op("other", method=False, sample=lambda s: [
    ((s.normal(4, 3), s.normal(1) * 0), {}), ((s.normal(2, 3, 4), s.normal(1) * 0), {}),
])  # fmt: skip
def linalg_pinv(xp, A, limit):
    """Pseudo-inverse of matrices. Singular values up to `limit` count as 0 (Golub and Pereyra, 1973)."""
    check_matrices("linalg.pinv", A)

    def pseudo_inverse(a: Any, limit: Any) -> Any:
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        keep = s > limit
        s = xp.where(keep, 1 / xp.where(keep, s, 1), 0).astype(s.dtype)
        return matrix_product(xp, xp.swapaxes(vh, -1, -2) * s[..., None, :], xp.swapaxes(u, -1, -2))

    return run_lapack("linalg.pinv", "has no singular values.", lambda a: pseudo_inverse(a, limit), A)


@linalg_pinv.shape
def _(A: Spec, limit: Spec):
    check_matrices("linalg.pinv", A)
    return (*A.shape[:-2], A.shape[-1], A.shape[-2])


@linalg_pinv.gradient("A")
def _(g, A, out):
    g_T = g.mT
    grad_A = -(out.mT @ g @ out.mT)
    grad_A = grad_A + (g_T - A @ (out @ g_T)) @ out @ out.mT
    return grad_A + out.mT @ out @ (g_T - (g_T @ out) @ A)


@composite(method=False, public=False, sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 4),)])
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """Moore–Penrose pseudo-inverse. Singular values below the tolerance of `matrix_rank` count as 0."""
    if 0 in A.shape:
        return A.mT.clone()
    if A.is_meta:
        return linalg_pinv(A, A.new_empty())
    values = linalg_eigh(A.detach(), side=-1)[0].abs() if hermitian else svdvals(A.detach())
    limit = tolerance(A, values, atol, rcond if rtol is None else rtol)
    return linalg_pinv(A, limit.to(A.dtype))


@composite(sample=lambda s: [(s.normal(4, 3),)])
def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """Old name of `linalg.pinv`."""
    return pinv(input, rtol=rcond)


@composite(method=False, public=False, result="Any", sample=lambda s: [(s.normal(4, 3), s.normal(4, 2))])
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Least-squares solution X of A X = B, with squared residuals, rank and singular values.

    Every `driver` computes X by the pseudo-inverse. As in PyTorch, only "gelsd" and "gelss" return singular values,
    and only "gels", "gelsd" and "gelss" return residuals, for tall matrices of full rank.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f'linalg.lstsq: driver must be "gels", "gelsy", "gelsd" or "gelss", not {driver!r}')
    is_vector = B.ndim == A.ndim - 1 and (B.ndim == 1 or tuple(B.shape) == tuple(A.shape[:-1]))
    columns = B.unsqueeze(-1) if is_vector else B
    if columns.shape[-2] != A.shape[-2]:
        raise ShapeError(
            f"linalg.lstsq: for A of {format_shape(A.shape)}, B must have {A.shape[-2]} rows, "
            f"not {format_shape(B.shape)}"
        )
    X = pinv(A, rtol=rcond) @ columns
    m, n = A.shape[-2:]
    rank = matrix_rank(A, rtol=rcond)
    has_residuals = m > n and (driver == "gels" or (driver in ("gelsd", "gelss") and bool((rank == n).all())))
    difference = A @ X - columns
    residuals = (difference * difference).sum(-2) if has_residuals else X.new_empty(0)
    values = svdvals(A) if driver in ("gelsd", "gelss") else X.new_empty(0)
    reported_rank = rank if driver != "gels" else rank.new_empty(0)
    if is_vector:
        X, residuals = X.squeeze(-1), residuals.squeeze(-1) if has_residuals else residuals
    return return_types.linalg_lstsq(X, residuals, reported_rank, values)


# -- exponential ------------------------------------------------------------------------------

_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip


@op("other", public=True, sample=lambda s: [(s.normal(3, 3),), (s.normal(2, 2, 2),)])
def matrix_exp(xp, A):
    """Matrix exponential e^A = Σ Aᵏ/k!, by scaling and squaring with a Padé approximant (Higham, 2005)."""
    check_square("linalg.matrix_exp", A)
    return run_lapack(
        "linalg.matrix_exp", "has an exponential that overflows.", lambda a: _matrix_exponential(xp, a), A
    )


def _matrix_exponential(xp: Any, A: Any) -> Any:
    if A.size == 0:
        return A.copy()
    norm = xp.abs(A).sum(axis=-2).max(axis=-1)
    max_norm = float(norm.max())
    squarings = max(0, math.ceil(math.log2(max_norm / 5.37))) if 0 < max_norm < math.inf else 0
    A = A / 2.0**squarings
    b, one = _PADE, xp.eye(A.shape[-1], dtype=A.dtype)
    A2 = matrix_product(xp, A, A)
    A4 = matrix_product(xp, A2, A2)
    A6 = matrix_product(xp, A4, A2)
    odd = matrix_product(xp, A6, b[13] * A6 + b[11] * A4 + b[9] * A2) + b[7] * A6 + b[5] * A4 + b[3] * A2 + b[1] * one
    odd = matrix_product(xp, A, odd)
    even = matrix_product(xp, A6, b[12] * A6 + b[10] * A4 + b[8] * A2) + b[6] * A6 + b[4] * A4 + b[2] * A2 + b[0] * one
    result = xp.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        result = matrix_product(xp, result, result)
    return result


@matrix_exp.shape
def _(A: Spec):
    check_square("linalg.matrix_exp", A)
    return A


@matrix_exp.gradient
def _(g, A):
    n = A.shape[-1]
    upper_rows = cat([A.mT, g], dim=-1)
    lower_rows = cat([A.mT * 0, A.mT], dim=-1)
    return matrix_exp(cat([upper_rows, lower_rows], dim=-2))[..., :n, n:]


# -- others ---------------------------------------------------------------------------------


@composite(method=False, public=False, sample=lambda s: [(s.normal(2, 3, 6), 2)])
def tensorinv(A: Any, ind: int = 2) -> Any:
    """Inverse of A as a linear map from the dimensions after the first `ind` to the first `ind` dimensions."""
    front, back = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if count(front) != count(back):
        raise ShapeError(
            f"linalg.tensorinv: {format_shape(front)} and {format_shape(back)} must have the same number of elements"
        )
    return inv(A.reshape(count(front), count(back))).reshape((*back, *front))


@composite(method=False, public=False, sample=lambda s: [(s.normal(2, 3, 6), s.normal(2, 3))])
def tensorsolve(A: Any, B: Any, dims: Sequence[int] | None = None) -> Any:
    """X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        A = A.permute(*(d for d in range(A.ndim) if d not in dims), *dims)
    back = tuple(A.shape[B.ndim :])
    return linalg_solve(A.reshape(count(B.shape), count(back)), B.reshape(count(B.shape))).reshape(back)


@composite(method=False, public=False, sample=lambda s: [(s.normal(4),), ((s.normal(2, 3),), {"N": 5})])
def vander(x: Any, *, N: int | None = None) -> Any:
    """Vandermonde matrix of powers x⁰, x¹, …, with `N` columns (default: the number of elements)."""
    x = x.reshape(1) if x.ndim == 0 and N is not None else x
    n = x.shape[-1] if N is None else N
    if isinstance(n, Dim):
        raise ShapeError(f"vander: the number of columns is unknown for {n} elements. Pass N.")
    return cat([(x**power).unsqueeze(-1) for power in range(n)], dim=-1)


def eig(A: Any) -> NoReturn:
    """Always raises: eigenvalues of general matrices are complex."""
    raise NotImplementedError(_COMPLEX.format("eig"))


def eigvals(A: Any) -> NoReturn:
    """Always raises: eigenvalues of general matrices are complex."""
    raise NotImplementedError(_COMPLEX.format("eigvals"))


_COMPLEX = (
    "linalg.{}(): eigenvalues of a general matrix are complex, and complex dtypes are not supported. "
    "For a symmetric matrix use linalg.eigh(); for others use numpy.linalg.eig(x.detach().numpy())."
)
