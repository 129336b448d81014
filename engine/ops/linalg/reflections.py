"""Products of Householder reflections in LAPACK's form of Q: vectors below the diagonal, and factors tau."""

from __future__ import annotations

import math
from typing import Any

from engine.errors import ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.lapack import check_matrices, run_lapack
from engine.ops.record import op
from engine.shape import Spec, format_shape


@op("other", method=False, outputs=2, sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 3),), (s.normal(2, 4),)])
def geqrf_op(xp, A):
    """R with the reflection vectors below the diagonal, and the factors tau."""
    check_matrices("geqrf", A)
    *batch, m, n = A.shape

    def factorize(a: Any) -> tuple[Any, Any]:
        flat = a.reshape((math.prod(batch), m, n))
        packed, factors = xp.empty_like(flat), xp.zeros((len(flat), min(m, n)), a.dtype)
        for k in range(len(flat)):  # CuPy does not support batches
            raw, factors[k] = xp.linalg.qr(flat[k], "raw")
            packed[k] = raw.T
        return packed.reshape(a.shape), factors.reshape((*batch, min(m, n)))

    return run_lapack("geqrf", "has no decomposition.", factorize, A)


@geqrf_op.shape
def _(A: Spec):
    check_matrices("geqrf", A)
    return A, Spec((*A.shape[:-2], min(A.shape[-2:])), A.dtype)


@composite(result="Any", sample=lambda s: [(s.normal(4, 3),), (s.normal(2, 3, 3),)])
def geqrf(input: Any) -> Any:
    """(a, tau) for `linalg.householder_product` and `ormqr`, without gradient, as in PyTorch.

    `a` has R on and above its diagonal and the vectors of the reflections of Q below, `tau` the factors.
    """
    return return_types.geqrf(*geqrf_op(input.detach()))


@composite(aliases=("orgqr",), sample=lambda s: [
    (s.normal(4, 3), s.uniform(0.1, 1.0, 3)), (s.normal(2, 3, 3), s.uniform(0.1, 1.0, 2, 2)),
])  # fmt: skip
def householder_product(A: Any, tau: Any) -> Any:
    """First columns of the product of the reflections I − τᵢ vᵢ vᵢᵀ, with the vectors below the diagonal of A."""
    _check("linalg.householder_product", A, tau)
    if A.shape[-2] < A.shape[-1]:
        raise ShapeError(
            f"linalg.householder_product: A must have at least as many rows as columns, not {format_shape(A.shape)}"
        )
    start = identity_like(A, A.shape[-1]).expand(A.shape)
    return _apply_reflections(A, tau, start, transpose=False) if tau.shape[-1] else start.clone()


@composite(sample=lambda s: [
    ((s.normal(4, 3), s.uniform(0.1, 1.0, 3), s.normal(4, 2), left, transpose) if left else
     (s.normal(4, 3), s.uniform(0.1, 1.0, 3), s.normal(2, 4), left, transpose))
    for left in (True, False) for transpose in (True, False)
])  # fmt: skip
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """Q · other (`left`) or other · Q, for the square Q of the reflections, or Qᵀ if `transpose`."""
    _check("ormqr", input, tau)
    if other.shape[-2 if left else -1] != input.shape[-2]:
        raise ShapeError(
            f"ormqr: other must have {input.shape[-2]} {'rows' if left else 'columns'}, not {format_shape(other.shape)}"
        )
    if left:
        return _apply_reflections(input, tau, other, transpose=transpose)
    return _apply_reflections(input, tau, other.mT, transpose=not transpose).mT


def _apply_reflections(A: Any, tau: Any, x: Any, *, transpose: bool) -> Any:
    """Q x or Qᵀ x, computed one reflection at a time."""
    columns = range(tau.shape[-1])
    vectors = A[..., : tau.shape[-1]]
    vectors = vectors.tril(-1) + identity_like(A, tau.shape[-1])
    for i in columns if transpose else reversed(columns):
        v = vectors[..., i : i + 1]
        x = x - tau[..., i : i + 1].unsqueeze(-1) * v @ (v.mT @ x)
    return x


def _check(name: str, A: Any, tau: Any) -> None:
    check_matrices(name, A.spec)
    maximum = min(A.shape[-2:])
    if tau.shape[-1] > maximum:
        raise ShapeError(f"{name}: {format_shape(A.shape)} has at most {maximum} reflections, not {tau.shape[-1]}")
