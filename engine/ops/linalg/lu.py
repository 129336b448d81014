"""LU factorization with row exchanges, A = P L U, packed as by LAPACK, and solutions from the factors.

Blocked algorithm: a panel of columns is factored column by column, then one matrix product updates the columns to its
right. The gradient is for fixed row exchanges, which small changes of A do not alter (Walter and Lehmann, arXiv
1009.6112).
"""

from __future__ import annotations

import math
from typing import Any

from engine import dtypes
from engine.errors import DTypeError, LinAlgError, ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.lapack import check_matrices, check_square
from engine.ops.linalg.systems import linalg_solve_triangular_op
from engine.ops.matrix_products import matrix_product
from engine.ops.movement.primitives import cat
from engine.ops.record import op
from engine.shape import Spec, format_shape

# -- factors ----------------------------------------------------------------------------------

_PANEL = 32


def _shapes(s: Any) -> list[Any]:
    return [s.normal(3, 3), s.normal(2, 4, 4), s.normal(4, 2), s.normal(2, 3, 5)]


@op("other", method=False, outputs=3, sample=lambda s: [((x,), {"pivot": True}) for x in _shapes(s)])
def linalg_lu_factor_ex(xp, A, pivot: bool):
    """L and U packed in one matrix, the pivots, and the column of the first zero pivot, counted from 1, or 0."""
    check_matrices("linalg.lu_factor", A)
    compute = A.astype(xp.float32) if A.dtype.itemsize < 4 else A
    packed, pivots, info = _factors(xp, compute, pivot)
    return packed.astype(A.dtype), pivots, info


def _factors(xp: Any, A: Any, pivot: bool) -> tuple[Any, Any, Any]:
    *batch, m, n = A.shape
    work, k = A.reshape((math.prod(batch), m, n)).copy(), min(m, n)
    pivots = xp.zeros((len(work), k), xp.int32)
    info = xp.zeros(len(work), xp.int32)
    for start in range(0, k, _PANEL):
        stop = min(start + _PANEL, k)
        for j in range(start, stop):
            _eliminate(xp, work, j, stop, pivots, info, pivot)
        if stop < n:
            _finish_rows(xp, work, start, stop)
    return work.reshape(A.shape), pivots.reshape((*batch, k)), info.reshape(tuple(batch))


def _eliminate(xp: Any, work: Any, j: int, stop: int, pivots: Any, info: Any, pivot: bool) -> None:
    """Eliminate column `j` of a panel: move the largest element to the diagonal and divide the elements below by it."""
    if pivot:
        batch_index = xp.arange(len(work))
        row = j + xp.abs(work[:, j:, j]).argmax(axis=1)
        first, other = work[:, j].copy(), work[batch_index, row]
        work[batch_index, row] = first
        work[:, j] = other
        pivots[:, j] = row + 1
    else:
        pivots[:, j] = j + 1
    pivot_values = work[:, j, j]
    info[:] = xp.where((info == 0) & (pivot_values == 0), j + 1, info)
    work[:, j + 1 :, j] /= xp.where(pivot_values == 0, 1, pivot_values)[:, None]
    work[:, j + 1 :, j + 1 : stop] -= work[:, j + 1 :, j, None] * work[:, j, None, j + 1 : stop]


def _finish_rows(xp: Any, work: Any, start: int, stop: int) -> None:
    """Update the columns to the right of a panel, in its rows and in the rows below."""
    for i in range(start + 1, stop):
        work[:, i, stop:] -= matrix_product(xp, work[:, i, None, start:i], work[:, start:i, stop:])[:, 0]
    work[:, stop:, stop:] -= matrix_product(xp, work[:, stop:, start:stop], work[:, start:stop, stop:])


@linalg_lu_factor_ex.shape
def _(A: Spec, pivot: bool):
    check_matrices("linalg.lu_factor", A)
    *batch, m, n = A.shape
    return A, Spec((*batch, min(m, n)), dtypes.int32), Spec(tuple(batch), dtypes.int32)


@linalg_lu_factor_ex.gradient
def _(g, out0, out1):
    packed, grad_packed = out0, g[0]
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower, upper = packed[..., :k, :k], packed[..., :k, :k].triu()
    grad_lower, grad_upper = grad_packed[..., :k, :k].tril(-1), grad_packed[..., :k, :k].triu()
    grad_rest = None
    if m < n:
        grad_rest = _solve_lower_T(lower, grad_packed[..., k:])
        grad_lower = grad_lower - (grad_rest @ packed[..., k:].mT).tril(-1)
    elif m > n:
        grad_rest = _solve_upper_T(upper, grad_packed[..., k:, :])
        grad_upper = grad_upper - (packed[..., k:, :].mT @ grad_rest).triu()
    unit = lower.tril(-1) + identity_like(lower)
    middle = (unit.mT @ grad_lower).tril(-1) + (grad_upper @ upper.mT).triu()
    grad_A = _solve_upper_T(upper, _solve_lower_T(lower, middle))
    if grad_rest is not None:
        grad_A = cat([grad_A, grad_rest], dim=-1 if m < n else -2)
    return _permute_rows(grad_A, pivots_to_permutation(out1, rows=m, inverse=True))


def _solve_lower_T(lower: Any, x: Any) -> Any:
    """L⁻ᵀ x."""
    return linalg_solve_triangular_op(lower.mT, x, upper=True, unitriangular=True)


def _solve_upper_T(upper: Any, x: Any) -> Any:
    """x U⁻ᵀ."""
    return linalg_solve_triangular_op(upper, x.mT, upper=True).mT


# -- exchanges of rows ------------------------------------------------------------------------


@op("other", method=False, sample=lambda s: [
    ((s.integers(2, 2, 3) + 3,), {"rows": 4, "inverse": inverse}) for inverse in (False, True)
])  # fmt: skip
def pivots_to_permutation(xp, pivots, rows: int, inverse: bool):
    """The row permutation of a sequence of exchanges, or its inverse."""
    *batch, k = pivots.shape
    flat = pivots.reshape((math.prod(batch), k)).astype(xp.int64) - 1
    batch_index = xp.arange(len(flat))
    order = xp.zeros((len(flat), rows), xp.int64) + xp.arange(rows)
    for j in range(k):
        swapped = order[:, j].copy()
        order[:, j] = order[batch_index, flat[:, j]]
        order[batch_index, flat[:, j]] = swapped
    return (xp.argsort(order, axis=-1) if inverse else order).reshape((*batch, rows))


@pivots_to_permutation.shape
def _(pivots: Spec, rows: int, inverse: bool):
    return Spec((*pivots.shape[:-1], rows), dtypes.int64)


def _permute_rows(x: Any, order: Any) -> Any:
    """Rows of matrices in the order `order`. Batch dimensions broadcast."""
    if x.ndim <= order.ndim:
        x = x.expand(*order.shape[:-1], *x.shape[-2:])
    else:
        order = order.expand(*x.shape[:-2], order.shape[-1])
    return x.take_along_dim(order.unsqueeze(-1), -2)


# -- public functions --------------------------------------------------------------------------


@composite(method=False, public=False, result="Any", sample=lambda s: [(x,) for x in _shapes(s)])
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """`lu_factor` with `info`, which is nonzero for singular matrices."""
    factors = return_types.linalg_lu_factor_ex(*linalg_lu_factor_ex(A, pivot=pivot))
    if check_errors and not A.is_meta and bool((factors.info > 0).any()):
        raise _singular(factors.info)
    return factors


@composite(method=False, public=False, result="Any", sample=lambda s: [(x,) for x in _shapes(s)])
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """LU factorization A = P L U: packed L and U, and pivots; for `lu_solve` and `lu_unpack`."""
    return return_types.linalg_lu_factor(*linalg_lu_factor_ex(A, pivot=pivot)[:2])


@composite(method=False, public=False, result="Any", sample=lambda s: [(x,) for x in _shapes(s)])
def linalg_lu(A: Any, *, pivot: bool = True) -> Any:
    """(P, L, U): A = P L U, with P a permutation, L lower triangular with ones on its diagonal, U upper triangular."""
    packed, pivots = lu_factor(A, pivot=pivot)
    return return_types.linalg_lu(*lu_unpack(packed, pivots, True, pivot))


@composite(result="Any", method=False, sample=lambda s: [
    (x, s.integers(1, *shape).astype("int32") + 3) for x, shape in ((s.normal(3, 3), (3,)), (s.normal(2, 4, 2), (2, 2)))
])  # fmt: skip
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """(P, L, U) from the results of `lu_factor`; empty tensors for factors not requested."""
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    empty = LU_data.new_empty(0)
    order = pivots_to_permutation(LU_pivots, rows=m, inverse=False)
    P = _permute_rows(identity_like(LU_data), order).mT.contiguous() if unpack_pivots else empty
    if not unpack_data:
        return return_types.lu_unpack(P, empty, empty)
    return return_types.lu_unpack(P, LU_data[..., :k].tril(-1) + identity_like(LU_data, k), LU_data[..., :k, :].triu())


@composite(method=False, public=False, sample=lambda s: [
    (s.normal(3, 3), s.integers(1, 3).astype("int32") + 3, s.normal(3, 2)),
])  # fmt: skip
def linalg_lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A X = B (`left`) or X A = B, from the factors of A, or of Aᵀ if `adjoint`."""
    check_square("linalg.lu_solve", LU.spec)
    if not left:
        return linalg_lu_solve(LU, pivots, B.mT, adjoint=not adjoint).mT
    n = LU.shape[-1]
    if B.ndim < 2 or B.shape[-2] != n:
        raise ShapeError(
            f"linalg.lu_solve: for factors {format_shape(LU.shape)}, B must have {n} rows, not {format_shape(B.shape)}"
        )
    if LU.dtype is not B.dtype:
        raise DTypeError(f"linalg.lu_solve: LU and B must have the same dtype, not {LU.dtype.name} and {B.dtype.name}")
    if adjoint:
        X = linalg_solve_triangular_op(LU.mT, B, upper=False)
        return _permute_rows(_solve_lower_T(LU, X), pivots_to_permutation(pivots, rows=n, inverse=True))
    X = _permute_rows(B, pivots_to_permutation(pivots, rows=n, inverse=False))
    return linalg_solve_triangular_op(
        LU, linalg_solve_triangular_op(LU, X, upper=False, unitriangular=True), upper=True
    )


@composite(sample=lambda s: [(s.normal(3, 2), s.normal(3, 3), s.integers(1, 3).astype("int32") + 3)])
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """Old name of `linalg.lu_solve`."""
    return linalg_lu_solve(LU_data, LU_pivots, b)


@composite(result="Any", sample=lambda s: [(x,) for x in _shapes(s)])
def lu(A: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """Old name of `linalg.lu_factor`. With `get_infos` the result has `info` as well."""
    factors = linalg_lu_factor_ex(A, pivot=pivot)
    return factors if get_infos else factors[:2]


@composite(result="Any", sample=lambda s: [((s.normal(3, 2), s.normal(3, 3) + 3), {"upper": False})])
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """X with A X = input for triangular A, and A; old form of `linalg.solve_triangular`."""
    system = A.mT if transpose else A
    return return_types.triangular_solve(
        linalg_solve_triangular_op(system, input, upper=upper != transpose, unitriangular=unitriangular), A.clone()
    )


def _singular(info: Any) -> LinAlgError:
    return LinAlgError(f"linalg.lu_factor: a pivot is 0. info={info.tolist()} is its column, counted from 1.")
