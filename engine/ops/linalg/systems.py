"""Systems of linear equations: inverses, solutions, Cholesky factors, determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import from_numpy, int32
from engine.errors import LinAlgError, ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.lapack import solved, square
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes, same_dtype
from engine.shape import Spec, format_shape

_SINGULAR = "is singular. Use linalg.lstsq() or linalg.pinv()."


def _systems(s: Any) -> list[Any]:
    wide = 3 * s.normal(2, 3, 3)
    wide[..., range(3), range(3)] += 6
    return [wide[0], wide]


# -- inverse ----------------------------------------------------------------------------------


@op("other", method=False, sample=lambda s: [(x,) for x in _systems(s)])
def inv(xp, A):
    """The inverse of a square matrix, or of each of a batch."""
    square("linalg.inv", A)
    return solved("linalg.inv", _SINGULAR, xp.linalg.inv, A)


@inv.shape
def _(A: Spec):
    square("linalg.inv", A)
    return A


@inv.gradient
def _(g, out):
    return -(out.mT @ g @ out.mT)


@composite(sample=lambda s: [(x,) for x in _systems(s)])
def inverse(input: Any) -> Any:
    """The inverse of a square matrix, or of each of a batch."""
    return inv(input)


# -- solutions --------------------------------------------------------------------------------


def _check_system(name: str, A: Any, B: Any) -> None:
    square(name, A)
    if B.shape[-2] != A.shape[-1]:
        raise ShapeError(
            f"{name}: a matrix of {format_shape(A.shape)} takes right-hand sides of {A.shape[-1]} rows, "
            f"not {format_shape(B.shape)}"
        )


def _system_rule(name: str, A: Spec, B: Spec) -> Any:
    same_dtype(name, A, B)
    _check_system(name, A, B)
    return (*broadcast_shapes(name, [A.shape[:-2], B.shape[:-2]]), *B.shape[-2:])


def _same(name: str, A: Any, B: Any) -> None:
    same_dtype(name, *(Spec(tuple(x.shape), from_numpy(x.dtype)) for x in (A, B)))
    _check_system(name, A, B)


@op("other", method=False, sample=lambda s: [
    (_systems(s)[0], s.normal(3, 2)), (_systems(s)[1], s.normal(3, 2)), (_systems(s)[0], s.normal(2, 3, 1)),
])  # fmt: skip
def linalg_solve_ex(xp, A, B):
    """X with A X = B, for matrices B."""
    _same("linalg.solve", A, B)
    return solved("linalg.solve", _SINGULAR, xp.linalg.solve, A, B)


@linalg_solve_ex.shape
def _(A: Spec, B: Spec):
    return _system_rule("linalg.solve", A, B)


@linalg_solve_ex.gradient
def _(g, A, out):
    of_b = linalg_solve_ex(A.mT, g)
    return -(of_b @ out.mT), of_b


@composite(
    method=False, public=False, sample=lambda s: [(_systems(s)[0], s.normal(3)), (_systems(s)[1], s.normal(2, 3, 2))]
)
def linalg_solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B, or X A = B unless `left`. B is a matrix or a vector, or a batch of either."""
    square("linalg.solve", A.spec)
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    if vector:
        B = B.unsqueeze(-1)
        return linalg_solve_ex(A if left else A.mT, B).squeeze(-1)
    return linalg_solve_ex(A, B) if left else linalg_solve_ex(A.mT, B.mT).mT


# -- triangles --------------------------------------------------------------------------------

_BLOCK = 64
"""Triangles up to this size are solved at once; larger ones by halves, whose product is most of the work."""


def _substituted(xp: Any, A: Any, B: Any, upper: bool) -> Any:
    """X with A X = B, where A is triangular already."""
    n = A.shape[-1]
    if n <= _BLOCK:
        return xp.linalg.solve(A, B)
    half = n // 2
    top, bottom = slice(0, half), slice(half, n)
    first, second = (bottom, top) if upper else (top, bottom)
    x = _substituted(xp, A[..., first, first], B[..., first, :], upper)
    rest = B[..., second, :] - xp.matmul(A[..., second, first], x)
    y = _substituted(xp, A[..., second, second], rest, upper)
    return xp.concatenate((y, x) if upper else (x, y), axis=-2)


def _triangle(xp: Any, A: Any, upper: bool, unit: bool) -> Any:
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
    """X with T X = B, where T is the upper or lower triangle of A, its diagonal taken as 1 if `unitriangular`."""
    _same("linalg.solve_triangular", A, B)
    triangle = _triangle(xp, A, upper, unitriangular)
    try:
        return solved("linalg.solve_triangular", "", lambda a, b: _substituted(xp, a, b, upper), triangle, B)
    except LinAlgError:  # a 0 on the diagonal: infinities, as in PyTorch
        return _row_by_row(xp, triangle, B, upper)


def _row_by_row(xp: Any, A: Any, B: Any, upper: bool) -> Any:
    """The same without a check, one unknown after the other."""
    n = A.shape[-1]
    X = xp.zeros((*np.broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B.dtype)
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        rest = B[..., i : i + 1, :] - xp.matmul(A[..., i : i + 1, known], X[..., known, :])
        X[..., i : i + 1, :] = rest / A[..., i : i + 1, i : i + 1]
    return X


@linalg_solve_triangular_op.shape
def _(A: Spec, B: Spec, upper: bool, unitriangular: bool = False):
    return _system_rule("linalg.solve_triangular", A, B)


@linalg_solve_triangular_op.gradient
def _(g, A, out, upper, unitriangular):
    of_b = linalg_solve_triangular_op(A.mT, g, upper=not upper, unitriangular=unitriangular)
    of_a = -(of_b @ out.mT)
    kept = int(unitriangular)
    return (of_a.triu(kept) if upper else of_a.tril(-kept)), of_b


@composite(method=False, public=False, sample=lambda s: [((_systems(s)[0], s.normal(3, 2)), {"upper": True})])
def linalg_solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """X with A X = B, or X A = B unless `left`, where A is triangular; its other triangle is not read."""
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
    """The lower triangle L with L Lᵀ = A. `side` says what of A counts: −1 the lower triangle, 1 the upper, 0 the mean.

    The gradient is that of symmetric changes.
    """
    square("linalg.cholesky", A)
    A = (A + xp.swapaxes(A, -1, -2)) / 2 if side == 0 else xp.swapaxes(A, -1, -2) if side > 0 else A
    return solved("linalg.cholesky", "is not positive definite.", xp.linalg.cholesky, A)


@linalg_cholesky_ex.shape
def _(A: Spec, side: int):
    square("linalg.cholesky", A)
    return A


@linalg_cholesky_ex.gradient
def _(g, out):
    middle = (out.mT @ g).tril()
    middle = (middle + middle.tril(-1).mT) * 0.5
    inner = linalg_solve_triangular_op(out.mT, middle, upper=True)
    return linalg_solve_triangular_op(out.mT, inner.mT, upper=True).mT


@composite(method=False, public=False, sample=lambda s: [(_positive(s),)])
def linalg_cholesky(A: Any, *, upper: bool = False) -> Any:
    """L with L Lᵀ = A, or U with Uᵀ U = A, of a symmetric positive definite matrix."""
    factor = linalg_cholesky_ex(A, side=1 if upper else -1)
    return factor.mT if upper else factor


@composite(sample=lambda s: [(_positive(s),)])
def cholesky(input: Any, upper: bool = False) -> Any:
    """Older name of `linalg.cholesky`."""
    return input.clone() if 0 in input.shape else linalg_cholesky(input, upper=upper)


@composite(sample=lambda s: [(s.normal(3, 2), _positive(s)[0])])
def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Any:
    """X with A X = B, from A's Cholesky factor L."""
    first, second = (L.mT, L) if upper else (L, L.mT)
    return linalg_solve_triangular_op(second, linalg_solve_triangular_op(first, B, upper=False), upper=True)


@composite(sample=lambda s: [(_positive(s)[0],)])
def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """The inverse of A, from its Cholesky factor L."""
    return cholesky_solve(identity_like(L), L, upper)


# -- determinants -----------------------------------------------------------------------------


@op("other", public=True, sample=lambda s: [(x,) for x in _systems(s)])
def det(xp, A):
    """The determinant of a square matrix, or of each of a batch."""
    square("linalg.det", A)
    return solved("linalg.det", "has no determinant.", xp.linalg.det, A)


@det.shape
def _(A: Spec):
    square("linalg.det", A)
    return A.shape[:-2]


@det.gradient
def _(g, A):
    return g.unsqueeze(-1).unsqueeze(-1) * cofactors(A)


@op("other", method=False, sample=lambda s: [(x,) for x in _systems(s)])
def cofactors(xp, A):
    """The derivative of the determinant for each element; that of a singular matrix is found by its singular values."""
    square("linalg.det", A)

    def found(a: Any) -> Any:
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        n = s.shape[-1]
        others = xp.where(xp.eye(n, dtype=bool), xp.ones_like(s)[..., None], s[..., None, :] + xp.zeros_like(a))
        sign = xp.linalg.det(u) * xp.linalg.det(vh)
        return xp.matmul(u * (others.prod(axis=-1) * sign[..., None])[..., None, :], vh)

    return solved("linalg.det", "has no singular values.", found, A)


@cofactors.shape
def _(A: Spec):
    return A


@cofactors.gradient
def _(g, A, out):
    inverse = inv(A).mT
    return (g * out).sum((-2, -1), True) * inverse - inverse @ g.mT @ out


@op("other", method=False, outputs=2, sample=lambda s: [(x,) for x in _systems(s)])
def linalg_slogdet(xp, A):
    """The sign of the determinant, and the logarithm of its size."""
    square("linalg.slogdet", A)
    found = solved("linalg.slogdet", "has no determinant.", lambda a: tuple(xp.linalg.slogdet(a)), A)
    return tuple(xp.asarray(part) for part in found)


@linalg_slogdet.shape
def _(A: Spec):
    square("linalg.slogdet", A)
    return Spec(A.shape[:-2], A.dtype), Spec(A.shape[:-2], A.dtype)


@linalg_slogdet.gradient
def _(g, A):
    of_log = g[1]
    return None if of_log is None else of_log.unsqueeze(-1).unsqueeze(-1) * inv(A).mT


@composite(result="Any", sample=lambda s: [(x,) for x in _systems(s)])
def slogdet(A: Any) -> Any:
    """(sign, logabsdet): the sign of the determinant and the logarithm of its size, safe for large matrices."""
    return return_types.slogdet(*linalg_slogdet(A))


@composite(sample=lambda s: [(_positive(s),)])
def logdet(input: Any) -> Any:
    """The logarithm of the determinant; NaN where that is negative."""
    sign, logarithm = slogdet(input)
    return where(sign < 0, float("nan"), logarithm)


# -- variants that return info --------------------------------------------------------


def _reported(result: Any, function: Any, A: Any, *rest: Any, check_errors: bool) -> Any:
    try:
        found, failed = function(A, *rest), 0
    except LinAlgError:
        if check_errors:
            raise
        found, failed = A.new_full(A.shape if not rest else rest[0].shape, float("nan")), 1
    return result(found, A.new_zeros(A.shape[:-2], dtype=int32) + failed)


@composite(
    method=False, public=False, result="Any", sample=lambda s: [(s.normal(3, 3) + 3 * np.eye(3).astype(s.dtype),)]
)
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """`inv`, but a singular matrix gives NaN and is reported in `info`."""
    return _reported(return_types.linalg_inv_ex, inv, A, check_errors=check_errors)


@composite(
    method=False, public=False, result="Any", sample=lambda s: [(s.normal(3, 3) * 0 + np.eye(3).astype(s.dtype),)]
)
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`linalg.cholesky`, but a matrix that is not positive definite gives NaN and is reported in `info`."""
    return _reported(
        return_types.linalg_cholesky_ex, lambda a: linalg_cholesky(a, upper=upper), A, check_errors=check_errors
    )


@composite(
    method=False,
    public=False,
    result="Any",
    sample=lambda s: [(s.normal(3, 3) + 3 * np.eye(3).astype(s.dtype), s.normal(3, 2))],
)
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """`linalg.solve`, but a singular matrix gives NaN and is reported in `info`."""

    def solved(a: Any, b: Any) -> Any:
        return linalg_solve(a, b, left=left)

    return _reported(return_types.linalg_solve_ex, solved, A, B, check_errors=check_errors)
