"""LDL factorization of symmetric matrices, P A Pᵀ = L D Lᵀ with 1×1 and 2×2 blocks in D, packed as by LAPACK's sytrf.

Bunch & Kaufman, "Some stable methods for calculating inertia and solving symmetric linear systems", 1977. Only the
lower triangle of A is read. The gradient is for fixed row exchanges and blocks, which small changes of A do not alter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine import dtypes
from engine.errors import DTypeError, LinAlgError, ShapeError
from engine.ops import return_types
from engine.ops.composite import composite
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.lapack import check_matrices, check_square
from engine.ops.linalg.systems import linalg_solve, linalg_solve_triangular_op
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes
from engine.shape import Spec, format_shape

GROWTH = (1 + math.sqrt(17)) / 8
"""Minimum ratio of a 1×1 pivot to the maximum of its column."""


def _samples(s: Any) -> list[Any]:
    matrix = s.normal(4, 4)
    small_diagonal = (matrix * (1 - 0.99 * np.eye(4))).astype(matrix.dtype)
    return [s.normal(3, 3), s.normal(2, 4, 4), small_diagonal]


# -- factors ----------------------------------------------------------------------------------


@op("other", method=False, outputs=3, sample=lambda s: [(x,) for x in _samples(s)])
def linalg_ldl_factor_ex(xp, A):
    """L and D packed in one matrix, the pivots, and the column of the first zero pivot, counted from 1, or 0."""
    check_square("linalg.ldl_factor", A)
    *batch, n, _ = A.shape
    work = xp.tril(A.astype(xp.float32) if A.dtype.itemsize < 4 else A).reshape((math.prod(batch), n, n))
    results = [_factor(xp, matrix) for matrix in work]
    pivots = xp.asarray(np.array([row_pivots for row_pivots, _ in results], np.int32).reshape((*batch, n)))
    info = xp.asarray(np.array([column for _, column in results], np.int32).reshape(tuple(batch)))
    return work.reshape(A.shape).astype(A.dtype, copy=False), pivots, info


def _factor(xp: Any, a: Any) -> tuple[list[int], int]:
    """Factor the lower triangle `a` in place and return LAPACK's pivots, negative for 2×2 blocks, and info."""
    pivots: list[int] = []
    info = k = 0
    while k < len(a):
        row, block = _pivot(xp, a, k)
        last = k + block - 1
        _swap_rows(a, k, last, row)
        if block == 2:
            _eliminate_two(xp, a, k)
        elif a[k, k] != 0:
            column = a[k + 1 :, k] / a[k, k]
            a[k + 1 :, k + 1 :] -= xp.tril(column[:, None] * a[None, k + 1 :, k])
            a[k + 1 :, k] = column
        else:
            info = info or k + 1
        pivots += [row + 1] if block == 1 else [-row - 1] * 2
        k += block
    return pivots, info


def _pivot(xp: Any, a: Any, k: int) -> tuple[int, int]:
    """The row to move to the end of the block that starts at `k`, and the size of the block."""
    diagonal, below = xp.abs(a[k, k]), xp.abs(a[k + 1 :, k])
    largest = below.max() if below.size else diagonal * 0
    if max(diagonal, largest) == 0 or diagonal != diagonal or diagonal >= GROWTH * largest:
        return k, 1
    row = k + 1 + int(below.argmax())
    others = xp.concatenate([xp.abs(a[row, k:row]), xp.abs(a[row + 1 :, row])]).max()
    if diagonal >= GROWTH * largest * (largest / others):
        return k, 1
    return row, 1 if xp.abs(a[row, row]) >= GROWTH * others else 2


def _swap_rows(a: Any, start: int, first: int, second: int) -> None:
    """Exchange two rows and columns in the unfactored part of a symmetric matrix, which starts at `start`."""
    if first == second:
        return
    rows_below, rows_between = a[second + 1 :, first].copy(), a[first + 1 : second, first].copy()
    a[second + 1 :, first], a[second + 1 :, second] = a[second + 1 :, second], rows_below
    a[first + 1 : second, first], a[second, first + 1 : second] = a[second, first + 1 : second], rows_between
    a[first, first], a[second, second] = a[second, second].copy(), a[first, first].copy()
    if first > start:
        a[first, start], a[second, start] = a[second, start].copy(), a[first, start].copy()


def _eliminate_two(xp: Any, a: Any, k: int) -> None:
    """Eliminate the columns of the 2×2 block at `k`."""
    corner = a[k + 1, k].copy()
    first, second = a[k + 1, k + 1] / corner, a[k, k] / corner
    scale = 1 / (first * second - 1) / corner
    x, y = a[k + 2 :, k].copy(), a[k + 2 :, k + 1].copy()
    left, right = scale * (first * x - y), scale * (second * y - x)
    a[k + 2 :, k + 2 :] -= xp.tril(x[:, None] * left + y[:, None] * right)
    a[k + 2 :, k], a[k + 2 :, k + 1] = left, right


@linalg_ldl_factor_ex.shape
def _(A: Spec):
    check_square("linalg.ldl_factor", A)
    return A, Spec(A.shape[:-1], dtypes.int32), Spec(A.shape[:-2], dtypes.int32)


@linalg_ldl_factor_ex.gradient
def _(g, out0, out1):
    order, rows, starts_pair = ldl_layout(out1)
    lower, blocks = _unpack(out0, rows, starts_pair)
    below_blocks = _below_blocks(out0, starts_pair)
    grad_lower, grad_blocks = _unpack(g[0], rows, starts_pair)
    inner = linalg_solve(blocks, (lower.mT @ (grad_lower * below_blocks)).tril(-1) * below_blocks, left=False)
    result = linalg_solve_triangular_op(lower.mT, inner + grad_blocks.tril(), upper=True, unitriangular=True)
    result = linalg_solve_triangular_op(lower.mT, result.mT, upper=True, unitriangular=True).mT
    inverse_order = order.argsort(-1)
    result = _permute_rows(_permute_rows(result, inverse_order).mT, inverse_order).mT
    return (result + result.mT).tril(-1) + (result * identity_like(result))


# -- unpacking ------------------------------------------------------------------


@op("other", method=False, outputs=3, sample=lambda s: [(s.integers(1, 2, 3).astype("int32") + 3,)])
def ldl_layout(xp, pivots):
    """Row order of A in L, the packed row of each element of L, and a mask of the rows that start a 2×2 block."""
    *batch, n = pivots.shape
    order = np.zeros((math.prod(batch), n), np.int64) + np.arange(n)
    rows = np.zeros((len(order), n, n), np.int64) + np.arange(n)[:, None]
    starts_pair = np.zeros((len(order), n), np.bool_)
    for number, matrix_pivots in enumerate(pivots.reshape((len(order), n)).tolist()):
        k = 0
        while k < n:
            first, second = (k, matrix_pivots[k] - 1) if matrix_pivots[k] > 0 else (k + 1, -matrix_pivots[k] - 1)
            starts_pair[number, k] = first > k
            order[number, [first, second]] = order[number, [second, first]]
            rows[number, [first, second], :k] = rows[number, [second, first], :k]
            k = first + 1
    return tuple(xp.asarray(array.reshape((*batch, *array.shape[1:]))) for array in (order, rows, starts_pair))


@ldl_layout.shape
def _(pivots: Spec):
    n = pivots.shape[-1]
    return (
        Spec(pivots.shape, dtypes.int64),
        Spec((*pivots.shape, n), dtypes.int64),
        Spec(pivots.shape, dtypes.bool_),
    )


def _below_blocks(packed: Any, starts_pair: Any) -> Any:
    """Mask of the elements of L: 1 below the diagonal except inside 2×2 blocks, else 0."""
    inside = (starts_pair.to(dtype=packed.dtype).unsqueeze(-2) * identity_like(packed)).roll(1, -2)
    return (1 - inside) * (1 - identity_like(packed)).tril()


def _unpack(packed: Any, rows: Any, starts_pair: Any) -> tuple[Any, Any]:
    """(L, D) from the packed form."""
    unit, below_blocks = identity_like(packed), _below_blocks(packed, starts_pair)
    lower = (packed * below_blocks).take_along_dim(rows, -2)
    corners = packed.tril(-1) * (1 - below_blocks)
    return lower.tril(-1) + unit, packed * unit + corners + corners.mT


def _permute_rows(x: Any, order: Any) -> Any:
    """Rows of matrices in the order `order`."""
    return x.take_along_dim(order.unsqueeze(-1), -2)


# -- public functions --------------------------------------------------------------------------


@composite(method=False, public=False, result="Any", sample=lambda s: [(x,) for x in _samples(s)])
def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """`ldl_factor` with `info`, which is nonzero for singular matrices."""
    found = return_types.linalg_ldl_factor_ex(*linalg_ldl_factor_ex(A))
    if check_errors and not A.is_meta and bool((found.info > 0).any()):
        raise _singular("linalg.ldl_factor_ex", found.info)
    return found


@composite(method=False, public=False, result="Any", sample=lambda s: [(x,) for x in _samples(s)])
def ldl_factor(A: Any, *, hermitian: bool = False) -> Any:
    """LDL factorization of a symmetric matrix: packed L and D, and pivots; for `ldl_solve`.

    Args:
        A: matrices; only the lower triangle is read
        hermitian: no effect, all tensors are real
    """
    factors, pivots, info = linalg_ldl_factor_ex(A)
    if not A.is_meta and bool((info > 0).any()):
        raise _singular("linalg.ldl_factor", info)
    return return_types.linalg_ldl_factor(factors, pivots)


@composite(method=False, public=False, sample=lambda s: [
    (s.normal(3, 3) + 3, np.array([3, 2, 3], np.int32), s.normal(3, 2)),
    (s.normal(2, 3, 3) + 3, np.array([[-3, -3, 3], [1, -3, -3]], np.int32), s.normal(3, 2)),
])  # fmt: skip
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:
    """X with A X = B, from the factors of the symmetric matrix A."""
    check_square("linalg.ldl_solve", LD.spec)
    check_matrices("linalg.ldl_solve", B.spec)
    n = LD.shape[-1]
    if B.shape[-2] != n:
        raise ShapeError(
            f"linalg.ldl_solve: for factors {format_shape(LD.shape)}, B must have {n} rows, not {format_shape(B.shape)}"
        )
    if LD.dtype is not B.dtype:
        raise DTypeError(f"linalg.ldl_solve: LD and B must have the same dtype, not {LD.dtype.name} and {B.dtype.name}")
    order, rows, starts_pair = ldl_layout(pivots)
    lower, blocks = _unpack(LD, rows, starts_pair)
    batch = broadcast_shapes("linalg.ldl_solve", [LD.shape[:-2], B.shape[:-2]])
    order = order.expand(*batch, n)
    x = linalg_solve_triangular_op(
        lower, _permute_rows(B.expand(*batch, *B.shape[-2:]), order), upper=False, unitriangular=True
    )
    x = linalg_solve_triangular_op(lower.mT, linalg_solve(blocks, x), upper=True, unitriangular=True)
    return _permute_rows(x, order.argsort(-1))


def _singular(name: str, info: Any) -> LinAlgError:
    return LinAlgError(f"{name}: a pivot is 0. info={info.tolist()} is its column, counted from 1.")
