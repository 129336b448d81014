"""`matmul` and `linear`."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import from_numpy
from engine.errors import ShapeError
from engine.ops.matrix_products import BLAS_TYPES, SMALL_VECTOR_WORK, matrix_product
from engine.ops.record import op
from engine.ops.shape_rules import matmul_shape, same_dtype
from engine.shape import Spec, count, format_shape


@op("other", operators=("__matmul__", "__rmatmul__"), sample=lambda s: [
    (s.normal(3, 4), s.normal(4, 5)), (s.normal(4), s.normal(4)), (s.normal(3, 4), s.normal(4)),
    (s.normal(4), s.normal(4, 2)),
    (s.normal(2, 3, 4), s.normal(4, 5)), (s.normal(2, 1, 3, 4), s.normal(5, 4, 2)), (s.normal(0, 4), s.normal(4, 2)),
    (s.normal(3, 0), s.normal(0, 2)),
])  # fmt: skip
def matmul(xp, x, y, out=None):
    """Matrix product. Leading dimensions are batches that broadcast; a vector is a row on the left, else a column."""
    if x.dtype != y.dtype:
        same_dtype("matmul", _of(x), _of(y))
    if (
        x.ndim == 2 == y.ndim
        and out is None
        and (xp is not np or x.size * y.shape[1] <= SMALL_VECTOR_WORK or x.dtype.char not in BLAS_TYPES)
    ):
        return x.dot(y)  # the same BLAS call with half a microsecond less overhead
    return matrix_product(xp, x, y, out)


@matmul.shape
def _(x: Spec, y: Spec):
    same_dtype("matmul", x, y)
    return matmul_shape("matmul", x, y)


@matmul.macs
def _(out: Spec, x: Spec, y: Spec):
    return count(out.shape) * x.shape[-1]


@matmul.gradient("x")
def _(g, x: Spec, y):
    if y.ndim == 1:
        return g.unsqueeze(-1) * y
    if x.ndim == 1:
        return _sum_batch((g.unsqueeze(-2) @ y.mT).squeeze(-2), 1)
    return g @ y.mT


@matmul.gradient("y")
def _(g, x, y: Spec):
    if x.ndim == 1:
        return x * g if y.ndim == 1 else x.unsqueeze(-1) * g.unsqueeze(-2)
    if y.ndim == 1:
        return _sum_batch((x.mT @ g.unsqueeze(-1)).squeeze(-1), 1)
    if y.ndim == 2 and x.ndim > 2:
        # One large product is faster than the sum of a batch of small ones.
        return x.reshape(-1, x.shape[-1]).mT @ g.reshape(-1, g.shape[-1])
    return x.mT @ g


def _sum_batch(gradient: Any, ndim: int) -> Any:
    return gradient.sum(tuple(range(gradient.ndim - ndim))) if gradient.ndim > ndim else gradient


@op("other", method=False, sample=lambda s: [
    (s.normal(3, 4), s.normal(5, 4), s.normal(5)), (s.normal(2, 3, 4), s.normal(5, 4)),
    (s.normal(4), s.normal(2, 4), s.normal(2)),
])  # fmt: skip
def linear(xp, x, weight, bias=None):
    """x · weightᵀ + bias, over the last dimension."""
    if x.dtype != weight.dtype:
        same_dtype("linear", _of(x), _of(weight))
    if weight.ndim != 2:
        raise _no_matrix(weight)
    out = matrix_product(xp, x, weight.T)
    if bias is not None:
        out += bias
    return out


@linear.shape
def _(x: Spec, weight: Spec, bias: Spec | None = None):
    same_dtype("linear", x, weight, bias)
    if weight.ndim != 2:
        raise _no_matrix(weight)
    if bias is not None and bias.shape not in ((weight.shape[0],), (1,), ()):
        raise ShapeError(
            f"linear: the bias must have {weight.shape[0]} elements, one per output feature, "
            f"not {format_shape(bias.shape)}"
        )
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        have = x.shape[-1] if x.ndim else "none"
        raise ShapeError(
            f"linear: the weight expects {weight.shape[1]} features, "
            f"but the input {format_shape(x.shape)} has {have} in its last dimension."
        )
    return (*x.shape[:-1], weight.shape[0])


def _no_matrix(weight: Any) -> ShapeError:
    return ShapeError(f"linear: the weight must have 2 dimensions (outputs × inputs), not {format_shape(weight.shape)}")


@linear.macs
def _(out: Spec, x: Spec, weight: Spec, bias: Spec | None = None):
    return count(out.shape) * x.shape[-1]


@linear.gradient("x")
def _(g, weight):
    return g @ weight


@linear.gradient("weight")
def _(g, x):
    if x.ndim == 1:
        return g.unsqueeze(-1) * x
    return g.reshape(-1, g.shape[-1]).mT @ x.reshape(-1, x.shape[-1])


@linear.gradient("bias")
def _(g):
    return g.sum(tuple(range(g.ndim - 1))) if g.ndim > 1 else g


def _of(array: Any) -> Spec:
    return Spec(tuple(array.shape), from_numpy(array.dtype))
