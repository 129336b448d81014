"""Decompositions of matrices: orthogonal and triangular, singular values, eigenvalues of symmetric matrices.

The gradients are those of the factors that LAPACK chose: singular vectors and eigenvectors are only determined up to
their signs, and not even that where two values are equal, so only what does not depend on that has a meaningful one.
Sources: Townsend, "Differentiating the Singular Value Decomposition", 2016; Walter and Lehmann, arXiv 1009.6112.
"""

from __future__ import annotations

from typing import Any, Literal

from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.lapack import matrices, solved, square
from engine.ops.linalg.systems import linalg_solve_triangular_op
from engine.ops.movement.primitives import cat
from engine.ops.record import op
from engine.shape import Spec

# -- orthogonal and triangular ----------------------------------------------------------------


@op("other", method=False, outputs=2, sample=lambda s: [
    ((s.normal(4, 3),), {"mode": "reduced"}), ((s.normal(2, 3, 3),), {"mode": "complete"}),
    ((s.normal(2, 2, 4),), {"mode": "reduced"}),
])  # fmt: skip
def linalg_qr_op(xp, A, mode: str):
    """Q with orthonormal columns and upper triangular R, with Q R = A."""
    matrices("linalg.qr", A)
    return solved("linalg.qr", "has no decomposition.", lambda a: tuple(xp.linalg.qr(a, mode)), A)


@linalg_qr_op.shape
def _(A: Spec, mode: str):
    matrices("linalg.qr", A)
    *batch, m, n = A.shape
    k = m if mode == "complete" else min(m, n)
    return Spec((*batch, m, k), A.dtype), Spec((*batch, k, n), A.dtype)


@linalg_qr_op.gradient
def _(g, A, out0, out1, mode):
    of_q, of_r = (like * 0 if part is None else part for part, like in zip(g, (out0, out1), strict=True))
    m, n = A.shape[-2:]
    if mode == "complete" and m > n:
        raise NotImplementedError('linalg.qr: mode="complete" of a tall matrix has no gradient. Use mode="reduced".')
    if m >= n:
        return _tall_qr(of_q, of_r, out0, out1)
    right = A[..., m:]
    of_left = _tall_qr(of_q + right @ of_r[..., m:].mT, of_r[..., :m], out0, out1[..., :m])
    return cat([of_left, out0 @ of_r[..., m:]], dim=-1)


def _tall_qr(of_q: Any, of_r: Any, q: Any, r: Any) -> Any:
    middle = r @ of_r.mT - of_q.mT @ q
    mirrored = middle.tril() + middle.tril(-1).mT
    return linalg_solve_triangular_op(r, (of_q + q @ mirrored).mT, upper=True).mT


@composite(method=False, public=False, result="Any", sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 4),)])
def linalg_qr(A: Any, mode: Literal["reduced", "complete", "r"] = "reduced") -> Any:
    """(Q, R) with Q R = A, Q with orthonormal columns and R upper triangular. With mode="r", Q is empty."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f'linalg.qr: mode must be "reduced", "complete" or "r", not {mode!r}')
    q, r = linalg_qr_op(A, mode="reduced" if mode == "r" else mode)
    return return_types.linalg_qr(q.new_empty(0) if mode == "r" else q, r)


@composite(result="Any", sample=lambda s: [(s.normal(4, 3),)])
def qr(input: Any, some: bool = True) -> Any:
    """Older name of `linalg.qr`."""
    return return_types.qr(*linalg_qr(input, "reduced" if some else "complete"))


# -- singular values --------------------------------------------------------------------------


@op("other", method=False, outputs=3, sample=lambda s: [
    ((s.normal(4, 3),), {"full": False}), ((s.normal(2, 3, 3),), {"full": True}),
    ((s.normal(2, 2, 4),), {"full": False}),
])  # fmt: skip
def linalg_svd_op(xp, A, full: bool):
    """U, S and Vᵀ with U diag(S) Vᵀ = A."""
    matrices("linalg.svd", A)
    return solved("linalg.svd", "did not converge.", lambda a: tuple(xp.linalg.svd(a, full_matrices=full)), A)


@linalg_svd_op.shape
def _(A: Spec, full: bool):
    matrices("linalg.svd", A)
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
    of_u, of_s, of_v = g[0], g[1], None if g[2] is None else g[2].mT[..., :k]
    u, s, v = out0[..., :k], out1.unsqueeze(-2), out2.mT[..., :k]
    total = None if of_s is None else (u * of_s.unsqueeze(-2)) @ v.mT
    apart = (s - s.mT) * (s + s.mT) + identity_like(s.mT)
    if of_u is not None:
        of_u = of_u[..., :k]
        middle = u.mT @ of_u
        part = (u @ (_skew(middle) / apart * s)) + ((of_u - u @ middle) / s if u.shape[-2] > k else 0)
        total = part @ v.mT if total is None else total + part @ v.mT
    if of_v is not None:
        middle = v.mT @ of_v
        part = (v @ (_skew(middle).mT / apart.mT * s)).mT
        if v.shape[-2] > k:
            part = part + ((of_v - v @ middle) / s).mT
        part = u @ part
        total = part if total is None else total + part
    return total


def _skew(x: Any) -> Any:
    return x - x.mT


@composite(method=False, public=False, result="Any", sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 4), False)])
def linalg_svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """(U, S, Vh) with U diag(S) Vh = A, and S in descending order. `driver` is PyTorch's choice for GPUs, unused."""
    return return_types.linalg_svd(*linalg_svd_op(A, full=full_matrices))


@composite(result="Any", sample=lambda s: [(s.normal(4, 3),)])
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """(U, S, V) with U diag(S) Vᵀ = A; the older form of `linalg.svd`."""
    u, s, vh = linalg_svd_op(input, full=not some)
    return return_types.svd(u, s, vh.mT) if compute_uv else return_types.svd(u * 0, s, vh.mT * 0)


@composite(method=False, public=False, sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 4),)])
def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """The singular values in descending order."""
    return linalg_svd_op(A, full=False)[1]


# -- eigenvalues ------------------------------------------------------------------------------


def _symmetric(s: Any) -> Any:
    x = s.normal(2, 3, 3)
    return x + x.swapaxes(-1, -2)


@op("other", method=False, outputs=2, sample=lambda s: [
    ((_symmetric(s)[0],), {"side": 0}), ((_symmetric(s),), {"side": 0}),
])  # fmt: skip
def linalg_eigh(xp, A, side: int):
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix; `side` as of `linalg_cholesky_ex`."""
    square("linalg.eigh", A)
    A = (A + xp.swapaxes(A, -1, -2)) / 2 if side == 0 else A
    found = solved("linalg.eigh", "did not converge.", lambda a: tuple(xp.linalg.eigh(a, "U" if side > 0 else "L")), A)
    return tuple(found)


@linalg_eigh.shape
def _(A: Spec, side: int):
    square("linalg.eigh", A)
    return Spec(A.shape[:-1], A.dtype), A


@linalg_eigh.gradient
def _(g, out0, out1):
    of_values, of_vectors = g
    values, vectors = out0.unsqueeze(-2), out1
    total = None if of_values is None else (vectors * of_values.unsqueeze(-2)) @ vectors.mT
    if of_vectors is not None:
        apart = values - values.mT + identity_like(values.mT)
        turned = _skew(vectors.mT @ of_vectors) * 0.5 / apart
        turned = vectors @ turned @ vectors.mT
        total = turned if total is None else total + turned
    return total


@composite(method=False, public=False, result="Any", sample=lambda s: [(_symmetric(s),)])
def eigh(A: Any, UPLO: Literal["L", "U"] = "L") -> Any:
    """(eigenvalues, eigenvectors) of a symmetric matrix, read from its lower or upper triangle only."""
    return return_types.linalg_eigh(*linalg_eigh(A, side=_side(UPLO)))


@composite(method=False, public=False, sample=lambda s: [(_symmetric(s),)])
def eigvalsh(A: Any, UPLO: Literal["L", "U"] = "L") -> Any:
    """The eigenvalues of a symmetric matrix, ascending."""
    return linalg_eigh(A, side=_side(UPLO))[0]


def _side(triangle: str) -> int:
    if triangle.upper() not in ("L", "U"):
        raise ValueError(f'linalg.eigh: UPLO must be "L" or "U", not {triangle!r}')
    return -1 if triangle.upper() == "L" else 1
