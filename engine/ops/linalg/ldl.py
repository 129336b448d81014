"""Factors of symmetric matrices: P A Pᵀ = L D Lᵀ, D of blocks of 1 or 2 rows, packed as LAPACK's sytrf packs them.

Bunch & Kaufman, "Some stable methods for calculating inertia and solving symmetric linear systems", 1977. Only the
lower triangle of A is read. The gradient is that of the chosen exchanges and blocks, which do not change with small
changes of A.
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
from engine.ops.linalg.lapack import matrices, square
from engine.ops.linalg.systems import linalg_solve, linalg_solve_triangular_op
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes
from engine.shape import Spec, format_shape

GROWTH = (1 + math.sqrt(17)) / 8
"""A diagonal element below this fraction of its column's maximum is not used as a 1×1 pivot."""


def _samples(s: Any) -> list[Any]:
    whole = s.normal(4, 4)
    small_diagonal = (whole * (1 - 0.99 * np.eye(4))).astype(whole.dtype)
    return [s.normal(3, 3), s.normal(2, 4, 4), small_diagonal]


# -- factors ----------------------------------------------------------------------------------


@op("other", method=False, outputs=3, sample=lambda s: [(x,) for x in _samples(s)])
def linalg_ldl_factor_ex(xp, A):
    """L and D in one matrix, the exchanged rows, and the column of the first pivot that is 0."""
    square("linalg.ldl_factor", A)
    *batch, n, _ = A.shape
    work = xp.tril(A.astype(xp.float32) if A.dtype.itemsize < 4 else A).reshape((math.prod(batch), n, n))
    found = [_factor(xp, matrix) for matrix in work]
    pivots = xp.asarray(np.array([one for one, _ in found], np.int32).reshape((*batch, n)))
    info = xp.asarray(np.array([column for _, column in found], np.int32).reshape(tuple(batch)))
    return work.reshape(A.shape).astype(A.dtype, copy=False), pivots, info


def _factor(xp: Any, a: Any) -> tuple[list[int], int]:
    """Factors the lower triangle `a` in place: LAPACK's pivots, negative for blocks of two rows, and its info."""
    pivots: list[int] = []
    info = k = 0
    while k < len(a):
        row, block = _pivot(xp, a, k)
        last = k + block - 1
        _exchange(a, k, last, row)
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
    """Which row comes to the end of the block that starts at `k`, and how many rows the block has."""
    diagonal, below = xp.abs(a[k, k]), xp.abs(a[k + 1 :, k])
    largest = below.max() if below.size else diagonal * 0
    if max(diagonal, largest) == 0 or diagonal != diagonal or diagonal >= GROWTH * largest:
        return k, 1
    row = k + 1 + int(below.argmax())
    others = xp.concatenate([xp.abs(a[row, k:row]), xp.abs(a[row + 1 :, row])]).max()
    if diagonal >= GROWTH * largest * (largest / others):
        return k, 1
    return row, 1 if xp.abs(a[row, row]) >= GROWTH * others else 2


def _exchange(a: Any, start: int, here: int, there: int) -> None:
    """Exchanges two rows and columns of the part of a symmetric matrix that is not factored yet."""
    if here == there:
        return
    below, between = a[there + 1 :, here].copy(), a[here + 1 : there, here].copy()
    a[there + 1 :, here], a[there + 1 :, there] = a[there + 1 :, there], below
    a[here + 1 : there, here], a[there, here + 1 : there] = a[there, here + 1 : there], between
    a[here, here], a[there, there] = a[there, there].copy(), a[here, here].copy()
    if here > start:
        a[here, start], a[there, start] = a[there, start].copy(), a[here, start].copy()


def _eliminate_two(xp: Any, a: Any, k: int) -> None:
    corner = a[k + 1, k].copy()
    first, second = a[k + 1, k + 1] / corner, a[k, k] / corner
    scale = 1 / (first * second - 1) / corner
    x, y = a[k + 2 :, k].copy(), a[k + 2 :, k + 1].copy()
    left, right = scale * (first * x - y), scale * (second * y - x)
    a[k + 2 :, k + 2 :] -= xp.tril(x[:, None] * left + y[:, None] * right)
    a[k + 2 :, k], a[k + 2 :, k + 1] = left, right


@linalg_ldl_factor_ex.shape
def _(A: Spec):
    square("linalg.ldl_factor", A)
    return A, Spec(A.shape[:-1], dtypes.int32), Spec(A.shape[:-2], dtypes.int32)


@linalg_ldl_factor_ex.gradient
def _(g, out0, out1):
    order, rows, paired = ldl_layout(out1)
    lower, blocks = _unpacked(out0, rows, paired)
    outside = _outside_blocks(out0, paired)
    of_lower, of_blocks = _unpacked(g[0], rows, paired)
    inner = linalg_solve(blocks, (lower.mT @ (of_lower * outside)).tril(-1) * outside, left=False)
    found = linalg_solve_triangular_op(lower.mT, inner + of_blocks.tril(), upper=True, unitriangular=True)
    found = linalg_solve_triangular_op(lower.mT, found.mT, upper=True, unitriangular=True).mT
    back = order.argsort(-1)
    found = _at(_at(found, back).mT, back).mT
    return (found + found.mT).tril(-1) + (found * identity_like(found))


# -- unpacking ------------------------------------------------------------------


@op("other", method=False, outputs=3, sample=lambda s: [(s.integers(1, 2, 3).astype("int32") + 3,)])
def ldl_layout(xp, pivots):
    """The order of A's rows in L, the packed row of each element of L, and where a block of two rows begins."""
    *batch, n = pivots.shape
    order = np.zeros((math.prod(batch), n), np.int64) + np.arange(n)
    rows = np.zeros((len(order), n, n), np.int64) + np.arange(n)[:, None]
    paired = np.zeros((len(order), n), np.bool_)
    for number, listed in enumerate(pivots.reshape((len(order), n)).tolist()):
        k = 0
        while k < n:
            here, there = (k, listed[k] - 1) if listed[k] > 0 else (k + 1, -listed[k] - 1)
            paired[number, k] = here > k
            order[number, [here, there]] = order[number, [there, here]]
            rows[number, [here, there], :k] = rows[number, [there, here], :k]
            k = here + 1
    return tuple(xp.asarray(found.reshape((*batch, *found.shape[1:]))) for found in (order, rows, paired))


@ldl_layout.shape
def _(pivots: Spec):
    n = pivots.shape[-1]
    return (
        Spec(pivots.shape, dtypes.int64),
        Spec((*pivots.shape, n), dtypes.int64),
        Spec(pivots.shape, dtypes.bool_),
    )


def _outside_blocks(packed: Any, paired: Any) -> Any:
    """Mask of L: 1 below the diagonal, 0 inside each block of two rows and elsewhere."""
    inside = (paired.to(dtype=packed.dtype).unsqueeze(-2) * identity_like(packed)).roll(1, -2)
    return (1 - inside) * (1 - identity_like(packed)).tril()


def _unpacked(packed: Any, rows: Any, paired: Any) -> tuple[Any, Any]:
    """(L, D) of the packed form."""
    unit, outside = identity_like(packed), _outside_blocks(packed, paired)
    lower = (packed * outside).take_along_dim(rows, -2)
    corners = packed.tril(-1) * (1 - outside)
    return lower.tril(-1) + unit, packed * unit + corners + corners.mT


def _at(x: Any, order: Any) -> Any:
    """The rows of matrices in another order."""
    return x.take_along_dim(order.unsqueeze(-1), -2)


# -- public functions --------------------------------------------------------------------------


@composite(method=False, public=False, result="Any", sample=lambda s: [(x,) for x in _samples(s)])
def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """As `ldl_factor`; nonzero `info` marks singular matrices."""
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
    square("linalg.ldl_solve", LD.spec)
    matrices("linalg.ldl_solve", B.spec)
    n = LD.shape[-1]
    if B.shape[-2] != n:
        raise ShapeError(
            f"linalg.ldl_solve: factors of {format_shape(LD.shape)} take right-hand sides of {n} rows, "
            f"not {format_shape(B.shape)}"
        )
    if LD.dtype is not B.dtype:
        raise DTypeError(f"linalg.ldl_solve: the factors are {LD.dtype.name}, the right-hand sides {B.dtype.name}")
    order, rows, paired = ldl_layout(pivots)
    lower, blocks = _unpacked(LD, rows, paired)
    batch = broadcast_shapes("linalg.ldl_solve", [LD.shape[:-2], B.shape[:-2]])
    order = order.expand(*batch, n)
    x = linalg_solve_triangular_op(lower, _at(B.expand(*batch, *B.shape[-2:]), order), upper=False, unitriangular=True)
    x = linalg_solve_triangular_op(lower.mT, linalg_solve(blocks, x), upper=True, unitriangular=True)
    return _at(x, order.argsort(-1))


def _singular(name: str, info: Any) -> LinAlgError:
    return LinAlgError(f"{name}: a pivot is 0: info={info.tolist()} names its column, counted from 1.")
