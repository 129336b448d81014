"""Matrix decompositions: QR, singular values, eigenvalues of symmetric matrices.

Singular vectors and eigenvectors are unique up to sign, and not unique for equal values. Gradients are for the vectors
that LAPACK returns, so they are meaningful only for functions that do not depend on this choice.
Sources: Townsend, "Differentiating the Singular Value Decomposition", 2016; Walter and Lehmann, arXiv 1009.6112.
"""

from __future__ import annotations

from typing import Any, Literal

from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.lapack import check_matrices, check_square, run_lapack
from engine.ops.linalg.systems import linalg_solve_triangular_op
from engine.ops.movement.primitives import cat
from engine.ops.record import op
from engine.shape import Spec

# -- QR ---------------------------------------------------------------------------------------


@op("other", method=False, outputs=2, sample=lambda s: [
    ((s.normal(4, 3),), {"mode": "reduced"}), ((s.normal(2, 3, 3),), {"mode": "complete"}),
    ((s.normal(2, 2, 4),), {"mode": "reduced"}),
])  # fmt: skip
def linalg_qr_op(xp, A, mode: str):
    """Q with orthonormal columns and upper triangular R, with Q R = A."""
    check_matrices("linalg.qr", A)
    return run_lapack("linalg.qr", "has no decomposition.", lambda a: tuple(xp.linalg.qr(a, mode)), A)


@linalg_qr_op.shape
def _(A: Spec, mode: str):
    check_matrices("linalg.qr", A)
    *batch, m, n = A.shape
    k = m if mode == "complete" else min(m, n)
    return Spec((*batch, m, k), A.dtype), Spec((*batch, k, n), A.dtype)


@linalg_qr_op.gradient
def _(g, A, out0, out1, mode):
    grad_q, grad_r = (like * 0 if part is None else part for part, like in zip(g, (out0, out1), strict=True))
    m, n = A.shape[-2:]
    if mode == "complete" and m > n:
        raise NotImplementedError(
            'linalg.qr: mode="complete" does not support gradients of a tall matrix. Use mode="reduced".'
        )
    if m >= n:
        return _tall_qr(grad_q, grad_r, out0, out1)
    right = A[..., m:]
    grad_left = _tall_qr(grad_q + right @ grad_r[..., m:].mT, grad_r[..., :m], out0, out1[..., :m])
    return cat([grad_left, out0 @ grad_r[..., m:]], dim=-1)


def _tall_qr(grad_q: Any, grad_r: Any, q: Any, r: Any) -> Any:
    middle = r @ grad_r.mT - grad_q.mT @ q
    symmetric = middle.tril() + middle.tril(-1).mT
    return linalg_solve_triangular_op(r, (grad_q + q @ symmetric).mT, upper=True).mT


@composite(method=False, public=False, result="Any", sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 4),)])
def linalg_qr(A: Any, mode: Literal["reduced", "complete", "r"] = "reduced") -> Any:
    """(Q, R) with Q R = A, Q with orthonormal columns and R upper triangular. With mode="r", Q is empty."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f'linalg.qr: mode must be "reduced", "complete" or "r", not {mode!r}')
    q, r = linalg_qr_op(A, mode="reduced" if mode == "r" else mode)
    return return_types.linalg_qr(q.new_empty(0) if mode == "r" else q, r)


@composite(result="Any", sample=lambda s: [(s.normal(4, 3),)])
def qr(input: Any, some: bool = True) -> Any:
    """Old name of `linalg.qr`."""
    return return_types.qr(*linalg_qr(input, "reduced" if some else "complete"))


# -- singular values --------------------------------------------------------------------------


@op("other", method=False, outputs=3, sample=lambda s: [
    ((s.normal(4, 3),), {"full": False}), ((s.normal(2, 3, 3),), {"full": True}),
    ((s.normal(2, 2, 4),), {"full": False}),
])  # fmt: skip
def linalg_svd_op(xp, A, full: bool):
    """U, S and Vᵀ with U diag(S) Vᵀ = A."""
    check_matrices("linalg.svd", A)
    return run_lapack("linalg.svd", "did not converge.", lambda a: tuple(xp.linalg.svd(a, full_matrices=full)), A)


@linalg_svd_op.shape
def _(A: Spec, full: bool):
    check_matrices("linalg.svd", A)
    *batch, m, n = A.shape
    k = min(m, n)
    rows, columns = (m, n) if full else (k, k)
    return (
        Spec((*batch, m, rows), A.dtype),
        Spec((*batch, k), A.dtype),
        Spec((*batch, columns, n), A.dtype),
    )


@linalg_svd_op.gradient
def _(g, out0, out1, out2):
    k = out1.shape[-1]
    grad_u, grad_s, grad_v = g[0], g[1], None if g[2] is None else g[2].mT[..., :k]
    u, s, v = out0[..., :k], out1.unsqueeze(-2), out2.mT[..., :k]
    grad_A = None if grad_s is None else (u * grad_s.unsqueeze(-2)) @ v.mT
    gaps = (s - s.mT) * (s + s.mT) + identity_like(s.mT)
    if grad_u is not None:
        grad_u = grad_u[..., :k]
        middle = u.mT @ grad_u
        part = (u @ (_twice_skew_part(middle) / gaps * s)) + ((grad_u - u @ middle) / s if u.shape[-2] > k else 0)
        grad_A = part @ v.mT if grad_A is None else grad_A + part @ v.mT
    if grad_v is not None:
        middle = v.mT @ grad_v
        part = (v @ (_twice_skew_part(middle).mT / gaps.mT * s)).mT
        if v.shape[-2] > k:
            part = part + ((grad_v - v @ middle) / s).mT
        part = u @ part
        grad_A = part if grad_A is None else grad_A + part
    return grad_A


def _twice_skew_part(x: Any) -> Any:
    return x - x.mT


@composite(method=False, public=False, result="Any", sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 4), False)])
def linalg_svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """(U, S, Vh) with U diag(S) Vh = A, S in descending order. `driver` has no effect."""
    return return_types.linalg_svd(*linalg_svd_op(A, full=full_matrices))


@composite(result="Any", sample=lambda s: [(s.normal(4, 3),)])
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """(U, S, V) with U diag(S) Vᵀ = A; old form of `linalg.svd`."""
    u, s, vh = linalg_svd_op(input, full=not some)
    return return_types.svd(u, s, vh.mT) if compute_uv else return_types.svd(u * 0, s, vh.mT * 0)


@composite(method=False, public=False, sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 4),)])
def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """Singular values in descending order."""
    return linalg_svd_op(A, full=False)[1]


# -- eigenvalues ------------------------------------------------------------------------------


def _symmetric(s: Any) -> Any:
    x = s.normal(2, 3, 3)
    return x + x.swapaxes(-1, -2)


@op("other", method=False, outputs=2, sample=lambda s: [
    ((_symmetric(s)[0],), {"side": 0}), ((_symmetric(s),), {"side": 0}),
])  # fmt: skip
def linalg_eigh(xp, A, side: int):
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix. `side` is that of `linalg_cholesky_ex`."""
    check_square("linalg.eigh", A)
    A = (A + xp.swapaxes(A, -1, -2)) / 2 if side == 0 else A
    result = run_lapack(
        "linalg.eigh", "did not converge.", lambda a: tuple(xp.linalg.eigh(a, "U" if side > 0 else "L")), A
    )
    return tuple(result)


@linalg_eigh.shape
def _(A: Spec, side: int):
    check_square("linalg.eigh", A)
    return Spec(A.shape[:-1], A.dtype), A


@linalg_eigh.gradient
def _(g, out0, out1):
    grad_values, grad_vectors = g
    values, vectors = out0.unsqueeze(-2), out1
    grad_A = None if grad_values is None else (vectors * grad_values.unsqueeze(-2)) @ vectors.mT
    if grad_vectors is not None:
        gaps = values - values.mT + identity_like(values.mT)
        rotation = _twice_skew_part(vectors.mT @ grad_vectors) * 0.5 / gaps
        rotation = vectors @ rotation @ vectors.mT
        grad_A = rotation if grad_A is None else grad_A + rotation
    return grad_A


@composite(method=False, public=False, result="Any", sample=lambda s: [(_symmetric(s),)])
def eigh(A: Any, UPLO: Literal["L", "U"] = "L") -> Any:
    """(eigenvalues, eigenvectors) of a symmetric matrix, read from its lower or upper triangle only."""
    return return_types.linalg_eigh(*linalg_eigh(A, side=_side(UPLO)))


@composite(method=False, public=False, sample=lambda s: [(_symmetric(s),)])
def eigvalsh(A: Any, UPLO: Literal["L", "U"] = "L") -> Any:
    """Eigenvalues of a symmetric matrix, ascending."""
    return linalg_eigh(A, side=_side(UPLO))[0]


def _side(triangle: str) -> int:
    if triangle.upper() not in ("L", "U"):
        raise ValueError(f'linalg.eigh: UPLO must be "L" or "U", not {triangle!r}')
    return -1 if triangle.upper() == "L" else 1
