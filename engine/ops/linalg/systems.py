"""Linear systems: inverses, solutions, Cholesky factors and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import from_numpy, int32
from engine.errors import LinAlgError, ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.lapack import check_square, run_lapack
from engine.ops.matrix_products import matrix_product
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes, same_dtype
from engine.shape import Spec, format_shape

_SINGULAR = "is singular."
_PSEUDOINVERSE = "Use linalg.lstsq() or linalg.pinv()."
_DEFINITE = "Add a small multiple of the identity matrix."


def _systems(s: Any) -> list[Any]:
    systems = 3 * s.normal(2, 3, 3)
    systems[..., range(3), range(3)] += 6
    return [systems[0], systems]


# -- inverse ----------------------------------------------------------------------------------


@op("other", method=False, sample=lambda s: [(x,) for x in _systems(s)])
def inv(xp, A):
    """Inverse of a square matrix, or of each matrix of a batch."""
    check_square("linalg.inv", A)
    return run_lapack("linalg.inv", _SINGULAR, xp.linalg.inv, A, in_code=_PSEUDOINVERSE)


@inv.shape
def _(A: Spec):
    check_square("linalg.inv", A)
    return A


@inv.gradient
def _(g, out):
    return -(out.mT @ g @ out.mT)


@composite(sample=lambda s: [(x,) for x in _systems(s)])
def inverse(input: Any) -> Any:
    """Inverse of a square matrix, or of each matrix of a batch."""
    return inv(input)


# -- solutions --------------------------------------------------------------------------------


def _check_system(name: str, A: Any, B: Any) -> None:
    check_square(name, A)
    if B.shape[-2] != A.shape[-1]:
        raise ShapeError(
            f"{name}: for A of {format_shape(A.shape)}, B must have {A.shape[-1]} rows, not {format_shape(B.shape)}"
        )


def _system_rule(name: str, A: Spec, B: Spec) -> Any:
    same_dtype(name, A, B)
    _check_system(name, A, B)
    return (*broadcast_shapes(name, [A.shape[:-2], B.shape[:-2]]), *B.shape[-2:])


def _check_arrays(name: str, A: Any, B: Any) -> None:
    same_dtype(name, *(Spec(tuple(x.shape), from_numpy(x.dtype)) for x in (A, B)))
    _check_system(name, A, B)


@op("other", method=False, sample=lambda s: [
    (_systems(s)[0], s.normal(3, 2)), (_systems(s)[1], s.normal(3, 2)), (_systems(s)[0], s.normal(2, 3, 1)),
])  # fmt: skip
def linalg_solve_ex(xp, A, B):
    """X with A X = B, for matrices B."""
    _check_arrays("linalg.solve", A, B)
    return run_lapack("linalg.solve", _SINGULAR, xp.linalg.solve, A, B, in_code=_PSEUDOINVERSE)


@linalg_solve_ex.shape
def _(A: Spec, B: Spec):
    return _system_rule("linalg.solve", A, B)


@linalg_solve_ex.gradient
def _(g, A, out):
    grad_B = linalg_solve_ex(A.mT, g)
    return -(grad_B @ out.mT), grad_B


@composite(
    method=False, public=False, sample=lambda s: [(_systems(s)[0], s.normal(3)), (_systems(s)[1], s.normal(2, 3, 2))]
)
def linalg_solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B (`left`) or X A = B. B is a matrix or a vector, or a batch of either."""
    check_square("linalg.solve", A.spec)
    is_vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    if is_vector:
        B = B.unsqueeze(-1)
        return linalg_solve_ex(A if left else A.mT, B).squeeze(-1)
    return linalg_solve_ex(A, B) if left else linalg_solve_ex(A.mT, B.mT).mT


# -- triangular systems -----------------------------------------------------------------------

_BLOCK = 64
"""Maximum size of a triangle that is solved directly. Larger ones are split in halves, to use matrix products."""


def _solve_blocks(xp: Any, A: Any, B: Any, upper: bool) -> Any:
    """X with A X = B for triangular A, by recursive halves."""
    n = A.shape[-1]
    if n <= _BLOCK:
        return xp.linalg.solve(A, B)
    half = n // 2
    top, bottom = slice(0, half), slice(half, n)
    first, second = (bottom, top) if upper else (top, bottom)
    x = _solve_blocks(xp, A[..., first, first], B[..., first, :], upper)
    remaining = B[..., second, :] - matrix_product(xp, A[..., second, first], x)
    y = _solve_blocks(xp, A[..., second, second], remaining, upper)
    return xp.concatenate((y, x) if upper else (x, y), axis=-2)


def _extract_triangle(xp: Any, A: Any, upper: bool, unit: bool) -> Any:
    A = xp.triu(A) if upper else xp.tril(A)
    if unit:
        diagonal = xp.arange(A.shape[-1])
        A[..., diagonal, diagonal] = 1
    return A


@op("other", method=False, sample=lambda s: [
    ((_systems(s)[0], s.normal(3, 2)), {"upper": True}), ((_systems(s)[1], s.normal(3, 2)), {"upper": False}),
    ((_systems(s)[0], s.normal(3, 1)), {"upper": False, "unitriangular": True}),
])  # fmt: skip
def linalg_solve_triangular_op(xp, A, B, upper: bool, unitriangular: bool = False):
    """X with T X = B for the upper or lower triangle T of A. With `unitriangular` its diagonal counts as 1."""
    _check_arrays("linalg.solve_triangular", A, B)
    triangle = _extract_triangle(xp, A, upper, unitriangular)
    try:
        return run_lapack("linalg.solve_triangular", "", lambda a, b: _solve_blocks(xp, a, b, upper), triangle, B)
    except LinAlgError:  # a zero on the diagonal gives infinities, as in PyTorch
        return _row_by_row(xp, triangle, B, upper)


def _row_by_row(xp: Any, A: Any, B: Any, upper: bool) -> Any:
    """X with A X = B for triangular A, row by row. Zeros on the diagonal give infinities or NaN."""
    n = A.shape[-1]
    X = xp.zeros((*np.broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B.dtype)
    for i in reversed(range(n)) if upper else range(n):
        solved_rows = slice(i + 1, n) if upper else slice(0, i)
        remaining = B[..., i : i + 1, :] - matrix_product(xp, A[..., i : i + 1, solved_rows], X[..., solved_rows, :])
        X[..., i : i + 1, :] = remaining / A[..., i : i + 1, i : i + 1]
    return X


@linalg_solve_triangular_op.shape
def _(A: Spec, B: Spec, upper: bool, unitriangular: bool = False):
    return _system_rule("linalg.solve_triangular", A, B)


@linalg_solve_triangular_op.gradient
def _(g, A, out, upper, unitriangular):
    grad_B = linalg_solve_triangular_op(A.mT, g, upper=not upper, unitriangular=unitriangular)
    grad_A = -(grad_B @ out.mT)
    offset = int(unitriangular)
    return (grad_A.triu(offset) if upper else grad_A.tril(-offset)), grad_B


@composite(method=False, public=False, sample=lambda s: [((_systems(s)[0], s.normal(3, 2)), {"upper": True})])
def linalg_solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """X with A X = B (`left`) or X A = B for triangular A. The other triangle of A is not read."""
    if left:
        return linalg_solve_triangular_op(A, B, upper=upper, unitriangular=unitriangular)
    return linalg_solve_triangular_op(A.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT


# -- Cholesky ---------------------------------------------------------------------------------


def _positive(s: Any) -> Any:
    x = s.normal(2, 3, 3)
    return (x @ x.swapaxes(-1, -2) + 2 * _identity(x)).astype(x.dtype)


def _identity(x: Any) -> Any:
    return (x[0] * 0 + [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).astype(x.dtype)


@op("other", method=False, sample=lambda s: [((_positive(s)[0],), {"side": 0}), ((_positive(s),), {"side": 0})])
def linalg_cholesky_ex(xp, A, side: int):
    """Lower triangular L with L Lᵀ = A. The gradient is for symmetric changes of A.

    `side` selects the triangle of A that is read: −1 lower, 1 upper, 0 the mean of both.
    """
    check_square("linalg.cholesky", A)
    A = (A + xp.swapaxes(A, -1, -2)) / 2 if side == 0 else xp.swapaxes(A, -1, -2) if side > 0 else A
    return run_lapack("linalg.cholesky", "is not positive definite.", xp.linalg.cholesky, A, in_code=_DEFINITE)


@linalg_cholesky_ex.shape
def _(A: Spec, side: int):
    check_square("linalg.cholesky", A)
    return A


@linalg_cholesky_ex.gradient
def _(g, out):
    middle = (out.mT @ g).tril()
    middle = (middle + middle.tril(-1).mT) * 0.5
    inner = linalg_solve_triangular_op(out.mT, middle, upper=True)
    return linalg_solve_triangular_op(out.mT, inner.mT, upper=True).mT


@composite(method=False, public=False, sample=lambda s: [(_positive(s),)])
def linalg_cholesky(A: Any, *, upper: bool = False) -> Any:
    """L with L Lᵀ = A, or U with Uᵀ U = A if `upper`, for a symmetric positive definite matrix A."""
    factor = linalg_cholesky_ex(A, side=1 if upper else -1)
    return factor.mT if upper else factor


@composite(sample=lambda s: [(_positive(s),)])
def cholesky(input: Any, upper: bool = False) -> Any:
    """Old name of `linalg.cholesky`."""
    return input.clone() if 0 in input.shape else linalg_cholesky(input, upper=upper)


@composite(sample=lambda s: [(s.normal(3, 2), _positive(s)[0])])
def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Any:
    """X with A X = B, from the Cholesky factor of A."""
    first, second = (L.mT, L) if upper else (L, L.mT)
    return linalg_solve_triangular_op(second, linalg_solve_triangular_op(first, B, upper=False), upper=True)


@composite(sample=lambda s: [(_positive(s)[0],)])
def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """Inverse of A, from its Cholesky factor."""
    return cholesky_solve(identity_like(L), L, upper)


# -- determinants -----------------------------------------------------------------------------


@op("other", public=True, sample=lambda s: [(x,) for x in _systems(s)])
def det(xp, A):
    """Determinant of a square matrix, or of each matrix of a batch."""
    check_square("linalg.det", A)
    return run_lapack("linalg.det", "has no determinant.", xp.linalg.det, A)


@det.shape
def _(A: Spec):
    check_square("linalg.det", A)
    return A.shape[:-2]


@det.gradient
def _(g, A):
    return g.unsqueeze(-1).unsqueeze(-1) * cofactors(A)


@op("other", method=False, sample=lambda s: [(x,) for x in _systems(s)])
def cofactors(xp, A):
    """Derivative of the determinant for each element, by singular values, so that A may be singular.

    It is NaN for matrices with infinite elements or NaN, which have no singular values.
    """
    check_square("linalg.det", A)

    def compute(a: Any) -> Any:
        is_finite = xp.isfinite(a).all((-2, -1), keepdims=True)
        a = xp.where(is_finite, a, xp.zeros_like(a))
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        n = s.shape[-1]
        others = xp.where(xp.eye(n, dtype=bool), xp.ones_like(s)[..., None], s[..., None, :] + xp.zeros_like(a))
        sign = xp.linalg.det(u) * xp.linalg.det(vh)
        found = matrix_product(xp, u * (others.prod(axis=-1) * sign[..., None])[..., None, :], vh)
        return xp.where(is_finite, found, xp.full_like(found, xp.nan))

    return run_lapack("linalg.det", "has no singular values.", compute, A)


@cofactors.shape
def _(A: Spec):
    return A


@cofactors.gradient
def _(g, A, out):
    inverse = inv(A).mT
    return (g * out).sum((-2, -1), True) * inverse - inverse @ g.mT @ out


@op("other", method=False, outputs=2, sample=lambda s: [(x,) for x in _systems(s)])
def linalg_slogdet(xp, A):
    """Sign of the determinant and logarithm of its absolute value."""
    check_square("linalg.slogdet", A)
    sign_and_log = run_lapack("linalg.slogdet", "has no determinant.", lambda a: tuple(xp.linalg.slogdet(a)), A)
    return tuple(xp.asarray(part) for part in sign_and_log)


@linalg_slogdet.shape
def _(A: Spec):
    check_square("linalg.slogdet", A)
    return Spec(A.shape[:-2], A.dtype), Spec(A.shape[:-2], A.dtype)


@linalg_slogdet.gradient
def _(g, A):
    grad_log = g[1]
    return None if grad_log is None else grad_log.unsqueeze(-1).unsqueeze(-1) * inv(A).mT


@composite(result="Any", sample=lambda s: [(x,) for x in _systems(s)])
def slogdet(A: Any) -> Any:
    """(sign, logabsdet): sign of the determinant and logarithm of its absolute value, which does not overflow."""
    return return_types.slogdet(*linalg_slogdet(A))


@composite(sample=lambda s: [(_positive(s),)])
def logdet(input: Any) -> Any:
    """Logarithm of the determinant; NaN if it is negative."""
    sign, logarithm = slogdet(input)
    return where(sign < 0, float("nan"), logarithm)


# -- variants that return info --------------------------------------------------------


def _with_info(result: Any, function: Any, A: Any, *remaining: Any, check_errors: bool) -> Any:
    try:
        value, failed = function(A, *remaining), 0
    except LinAlgError:
        if check_errors:
            raise
        value, failed = A.new_full(A.shape if not remaining else remaining[0].shape, float("nan")), 1
    return result(value, A.new_zeros(A.shape[:-2], dtype=int32) + failed)


@composite(
    method=False, public=False, result="Any", sample=lambda s: [(s.normal(3, 3) + 3 * np.eye(3).astype(s.dtype),)]
)
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """`inv` with `info`, which is nonzero if a matrix is singular; the result is then NaN."""
    return _with_info(return_types.linalg_inv_ex, inv, A, check_errors=check_errors)


@composite(
    method=False, public=False, result="Any", sample=lambda s: [(s.normal(3, 3) * 0 + np.eye(3).astype(s.dtype),)]
)
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`linalg.cholesky` with `info`, which is nonzero if a matrix is not positive definite; the result is then NaN."""
    return _with_info(
        return_types.linalg_cholesky_ex, lambda a: linalg_cholesky(a, upper=upper), A, check_errors=check_errors
    )


@composite(
    method=False,
    public=False,
    result="Any",
    sample=lambda s: [(s.normal(3, 3) + 3 * np.eye(3).astype(s.dtype), s.normal(3, 2))],
)
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """`linalg.solve` with `info`, which is nonzero if a matrix is singular; the result is then NaN."""

    def run_lapack(a: Any, b: Any) -> Any:
        return linalg_solve(a, b, left=left)

    return _with_info(return_types.linalg_solve_ex, run_lapack, A, B, check_errors=check_errors)
