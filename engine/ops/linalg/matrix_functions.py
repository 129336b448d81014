"""Functions of matrices: pseudo-inverse, least squares, exponential."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from engine.errors import ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.linalg.decompositions import linalg_eigh, svdvals
from engine.ops.linalg.lapack import matrices, solved, square
from engine.ops.linalg.norms import matrix_rank, tolerance
from engine.ops.linalg.systems import inv, linalg_solve
from engine.ops.movement.primitives import cat
from engine.ops.record import op
from engine.shape import Dim, Spec, count, format_shape

# -- pseudo-inverse ---------------------------------------------------------------------------


@op("other", method=False, sample=lambda s: [
    ((s.normal(4, 3), s.normal(1) * 0), {}), ((s.normal(2, 3, 4), s.normal(1) * 0), {}),
])  # fmt: skip
def linalg_pinv(xp, A, limit):
    """The pseudo-inverse of matrices; singular values up to the limit count as 0 (Golub and Pereyra, 1973)."""
    matrices("linalg.pinv", A)

    def found(a: Any, limit: Any) -> Any:
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        keep = s > limit
        s = xp.where(keep, 1 / xp.where(keep, s, 1), 0).astype(s.dtype)
        return xp.matmul(xp.swapaxes(vh, -1, -2) * s[..., None, :], xp.swapaxes(u, -1, -2))

    return solved("linalg.pinv", "has no singular values.", lambda a: found(a, limit), A)


@linalg_pinv.shape
def _(A: Spec, limit: Spec):
    matrices("linalg.pinv", A)
    return (*A.shape[:-2], A.shape[-1], A.shape[-2])


@linalg_pinv.gradient("A")
def _(g, A, out):
    turned = g.mT
    total = -(out.mT @ g @ out.mT)
    total = total + (turned - A @ (out @ turned)) @ out @ out.mT
    return total + out.mT @ out @ (turned - (turned @ out) @ A)


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
    """Older name of `linalg.pinv`."""
    return pinv(input, rtol=rcond)


@composite(method=False, public=False, result="Any", sample=lambda s: [(s.normal(4, 3), s.normal(4, 2))])
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Least-squares solution X of A X = B, with squared residuals, rank, singular values.

    `driver` is LAPACK's in PyTorch; here all are found by the pseudo-inverse. As there, only "gelsd" and "gelss" return
    singular values, and those and "gels" the residuals, of tall matrices of full rank.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f'linalg.lstsq: driver must be "gels", "gelsy", "gelsd" or "gelss", not {driver!r}')
    vector = B.ndim == A.ndim - 1 and (B.ndim == 1 or tuple(B.shape) == tuple(A.shape[:-1]))
    columns = B.unsqueeze(-1) if vector else B
    if columns.shape[-2] != A.shape[-2]:
        raise ShapeError(
            f"linalg.lstsq: a matrix of {format_shape(A.shape)} takes right-hand sides of {A.shape[-2]} rows, "
            f"not {format_shape(B.shape)}"
        )
    X = pinv(A, rtol=rcond) @ columns
    m, n = A.shape[-2:]
    rank = matrix_rank(A, rtol=rcond)
    full = m > n and (driver == "gels" or (driver in ("gelsd", "gelss") and bool((rank == n).all())))
    gap = A @ X - columns
    residuals = (gap * gap).sum(-2) if full else X.new_empty(0)
    values = svdvals(A) if driver in ("gelsd", "gelss") else X.new_empty(0)
    found_rank = rank if driver != "gels" else rank.new_empty(0)
    if vector:
        X, residuals = X.squeeze(-1), residuals.squeeze(-1) if full else residuals
    return return_types.linalg_lstsq(X, residuals, found_rank, values)


# -- exponential ------------------------------------------------------------------------------

_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip


@op("other", public=True, sample=lambda s: [(s.normal(3, 3),), (s.normal(2, 2, 2),)])
def matrix_exp(xp, A):
    """e^A = Σ Aᵏ/k! of square matrices: scaling, Padé's approximant of degree 13, squaring (Higham, 2005)."""
    square("linalg.matrix_exp", A)
    return solved("linalg.matrix_exp", "has an exponential that overflows.", lambda a: _exponential(xp, a), A)


def _exponential(xp: Any, A: Any) -> Any:
    if A.size == 0:
        return A.copy()
    size = xp.abs(A).sum(axis=-2).max(axis=-1)
    top = float(size.max())
    squarings = max(0, math.ceil(math.log2(top / 5.37))) if 0 < top < math.inf else 0
    A = A / 2.0**squarings
    b, one = _PADE, xp.eye(A.shape[-1], dtype=A.dtype)
    A2 = xp.matmul(A, A)
    A4 = xp.matmul(A2, A2)
    A6 = xp.matmul(A4, A2)
    odd = xp.matmul(A6, b[13] * A6 + b[11] * A4 + b[9] * A2) + b[7] * A6 + b[5] * A4 + b[3] * A2 + b[1] * one
    odd = xp.matmul(A, odd)
    even = xp.matmul(A6, b[12] * A6 + b[10] * A4 + b[8] * A2) + b[6] * A6 + b[4] * A4 + b[2] * A2 + b[0] * one
    result = xp.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        result = xp.matmul(result, result)
    return result


@matrix_exp.shape
def _(A: Spec):
    square("linalg.matrix_exp", A)
    return A


@matrix_exp.gradient
def _(g, A):
    n = A.shape[-1]
    above = cat([A.mT, g], dim=-1)
    below = cat([A.mT * 0, A.mT], dim=-1)
    return matrix_exp(cat([above, below], dim=-2))[..., :n, n:]


# -- others ---------------------------------------------------------------------------------


@composite(method=False, public=False, sample=lambda s: [(s.normal(2, 3, 6), 2)])
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of the map from the dimensions behind `ind` to those before it."""
    front, back = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if count(front) != count(back):
        raise ShapeError(f"linalg.tensorinv: {format_shape(front)} and {format_shape(back)} have different sizes")
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
        raise ShapeError(f"vander: the number of columns for {n} elements is unknown. Pass N.")
    return cat([(x**power).unsqueeze(-1) for power in range(n)], dim=-1)


def eig(A: Any) -> NoReturn:
    """Always raises: eigenvalues of general matrices are complex."""
    raise NotImplementedError(_COMPLEX.format("eig"))


def eigvals(A: Any) -> NoReturn:
    """Always raises, as `eig`."""
    raise NotImplementedError(_COMPLEX.format("eigvals"))


_COMPLEX = (
    "linalg.{}(): the eigenvalues of a general matrix are complex numbers, and there is no complex dtype here. "
    "For a symmetric matrix use linalg.eigh(); for others numpy.linalg.eig(x.detach().numpy())."
)
