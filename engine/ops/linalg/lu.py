"""Triangular factors with row exchanges: A = P L U, packed as LAPACK packs them, and what is solved with them.

Factors in blocks: a panel of columns one by one, then a product for all that is to its right. The gradient is that of
the chosen exchanges, which do not change with small changes of A (Walter and Lehmann, arXiv 1009.6112).
"""

from __future__ import annotations

import math
from typing import Any

from engine import dtypes
from engine.errors import DTypeError, LinAlgError, ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.lapack import matrices, square
from engine.ops.linalg.systems import linalg_solve_triangular_op
from engine.ops.movement.primitives import cat
from engine.ops.record import op
from engine.shape import Spec, format_shape

# -- factors ----------------------------------------------------------------------------------

_PANEL = 32


def _shapes(s: Any) -> list[Any]:
    return [s.normal(3, 3), s.normal(2, 4, 4), s.normal(4, 2), s.normal(2, 3, 5)]


@op("other", method=False, outputs=3, sample=lambda s: [((x,), {"pivot": True}) for x in _shapes(s)])
def linalg_lu_factor_ex(xp, A, pivot: bool):
    """L and U in one matrix, the rows exchanged, and the column of the first pivot that is 0."""
    matrices("linalg.lu_factor", A)
    exact = A.astype(xp.float32) if A.dtype.itemsize < 4 else A
    packed, pivots, info = _factors(xp, exact, pivot)
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
    """One column of the panel: the largest number comes to the diagonal, and what is below it becomes L."""
    if pivot:
        each = xp.arange(len(work))
        row = j + xp.abs(work[:, j:, j]).argmax(axis=1)
        first, other = work[:, j].copy(), work[each, row]
        work[each, row] = first
        work[:, j] = other
        pivots[:, j] = row + 1
    else:
        pivots[:, j] = j + 1
    top = work[:, j, j]
    info[:] = xp.where((info == 0) & (top == 0), j + 1, info)
    work[:, j + 1 :, j] /= xp.where(top == 0, 1, top)[:, None]
    work[:, j + 1 :, j + 1 : stop] -= work[:, j + 1 :, j, None] * work[:, j, None, j + 1 : stop]


def _finish_rows(xp: Any, work: Any, start: int, stop: int) -> None:
    """The rows of a panel right of it, and what they take from the rows below."""
    for i in range(start + 1, stop):
        work[:, i, stop:] -= xp.matmul(work[:, i, None, start:i], work[:, start:i, stop:])[:, 0]
    work[:, stop:, stop:] -= xp.matmul(work[:, stop:, start:stop], work[:, start:stop, stop:])


@linalg_lu_factor_ex.shape
def _(A: Spec, pivot: bool):
    matrices("linalg.lu_factor", A)
    *batch, m, n = A.shape
    return A, Spec((*batch, min(m, n)), dtypes.int32), Spec(tuple(batch), dtypes.int32)


@linalg_lu_factor_ex.gradient
def _(g, out0, out1):
    packed, given = out0, g[0]
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower, upper = packed[..., :k, :k], packed[..., :k, :k].triu()
    of_lower, of_upper = given[..., :k, :k].tril(-1), given[..., :k, :k].triu()
    rest = None
    if m < n:
        rest = _from_left(lower, given[..., k:])
        of_lower = of_lower - (rest @ packed[..., k:].mT).tril(-1)
    elif m > n:
        rest = _from_right(upper, given[..., k:, :])
        of_upper = of_upper - (packed[..., k:, :].mT @ rest).triu()
    unit = lower.tril(-1) + identity_like(lower)
    middle = (unit.mT @ of_lower).tril(-1) + (of_upper @ upper.mT).triu()
    found = _from_right(upper, _from_left(lower, middle))
    if rest is not None:
        found = cat([found, rest], dim=-1 if m < n else -2)
    return _rows(found, pivots_to_permutation(out1, rows=m, back=True))


def _from_left(lower: Any, x: Any) -> Any:
    """L⁻ᵀ x."""
    return linalg_solve_triangular_op(lower.mT, x, upper=True, unitriangular=True)


def _from_right(upper: Any, x: Any) -> Any:
    """x U⁻ᵀ."""
    return linalg_solve_triangular_op(upper, x.mT, upper=True).mT


# -- exchanges of rows ------------------------------------------------------------------------


@op("other", method=False, sample=lambda s: [
    ((s.integers(2, 2, 3) + 3,), {"rows": 4, "back": back}) for back in (False, True)
])  # fmt: skip
def pivots_to_permutation(xp, pivots, rows: int, back: bool):
    """Which row comes to each position when rows are exchanged in turn, or the other way `back`."""
    *batch, k = pivots.shape
    flat = pivots.reshape((math.prod(batch), k)).astype(xp.int64) - 1
    each = xp.arange(len(flat))
    order = xp.zeros((len(flat), rows), xp.int64) + xp.arange(rows)
    for j in range(k):
        kept = order[:, j].copy()
        order[:, j] = order[each, flat[:, j]]
        order[each, flat[:, j]] = kept
    return (xp.argsort(order, axis=-1) if back else order).reshape((*batch, rows))


@pivots_to_permutation.shape
def _(pivots: Spec, rows: int, back: bool):
    return Spec((*pivots.shape[:-1], rows), dtypes.int64)


def _rows(x: Any, order: Any) -> Any:
    """The rows of matrices in another order; batches broadcast."""
    if x.ndim <= order.ndim:
        x = x.expand(*order.shape[:-1], *x.shape[-2:])
    else:
        order = order.expand(*x.shape[:-2], order.shape[-1])
    return x.take_along_dim(order.unsqueeze(-1), -2)


# -- public functions --------------------------------------------------------------------------


@composite(method=False, public=False, result="Any", sample=lambda s: [(x,) for x in _shapes(s)])
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """As `lu_factor`; nonzero `info` marks singular matrices."""
    found = return_types.linalg_lu_factor_ex(*linalg_lu_factor_ex(A, pivot=pivot))
    if check_errors and not A.is_meta and bool((found.info > 0).any()):
        raise _singular(found.info)
    return found


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
    nothing = LU_data.new_empty(0)
    order = pivots_to_permutation(LU_pivots, rows=m, back=False)
    P = _rows(identity_like(LU_data), order).mT.contiguous() if unpack_pivots else nothing
    if not unpack_data:
        return return_types.lu_unpack(P, nothing, nothing)
    return return_types.lu_unpack(P, LU_data[..., :k].tril(-1) + identity_like(LU_data, k), LU_data[..., :k, :].triu())


@composite(method=False, public=False, sample=lambda s: [
    (s.normal(3, 3), s.integers(1, 3).astype("int32") + 3, s.normal(3, 2)),
])  # fmt: skip
def linalg_lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A X = B, or X A = B unless `left`, from the factors of A; of Aᵀ if `adjoint`."""
    square("linalg.lu_solve", LU.spec)
    if not left:
        return linalg_lu_solve(LU, pivots, B.mT, adjoint=not adjoint).mT
    n = LU.shape[-1]
    if B.ndim < 2 or B.shape[-2] != n:
        raise ShapeError(
            f"linalg.lu_solve: factors of {format_shape(LU.shape)} take right-hand sides of {n} rows, "
            f"not {format_shape(B.shape)}"
        )
    if LU.dtype is not B.dtype:
        raise DTypeError(f"linalg.lu_solve: the factors are {LU.dtype.name}, the right-hand sides {B.dtype.name}")
    if adjoint:
        X = linalg_solve_triangular_op(LU.mT, B, upper=False)
        return _rows(_from_left(LU, X), pivots_to_permutation(pivots, rows=n, back=True))
    X = _rows(B, pivots_to_permutation(pivots, rows=n, back=False))
    return linalg_solve_triangular_op(
        LU, linalg_solve_triangular_op(LU, X, upper=False, unitriangular=True), upper=True
    )


@composite(sample=lambda s: [(s.normal(3, 2), s.normal(3, 3), s.integers(1, 3).astype("int32") + 3)])
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """Older name of `linalg.lu_solve`."""
    return linalg_lu_solve(LU_data, LU_pivots, b)


@composite(result="Any", sample=lambda s: [(x,) for x in _shapes(s)])
def lu(A: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """Older name of `linalg.lu_factor`; `get_infos` also returns `info`."""
    found = linalg_lu_factor_ex(A, pivot=pivot)
    return found if get_infos else found[:2]


@composite(result="Any", sample=lambda s: [((s.normal(3, 2), s.normal(3, 3) + 3), {"upper": False})])
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """X with A X = input for triangular A, and A; the older form of `linalg.solve_triangular`."""
    system = A.mT if transpose else A
    return return_types.triangular_solve(
        linalg_solve_triangular_op(system, input, upper=upper != transpose, unitriangular=unitriangular), A.clone()
    )


def _singular(info: Any) -> LinAlgError:
    return LinAlgError(f"linalg.lu_factor: a pivot is 0: info={info.tolist()} names its column, counted from 1.")
