"""Copies and the three-operand updates that optimizers use."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from engine.errors import ShapeError
from engine.ops.elementwise.sliced_sums import add_term
from engine.ops.record import op
from engine.shape import Spec, format_shape


@op()
def clone(xp, x):
    """Copy of x in new memory."""
    return x.copy()


@clone.gradient
def _(g):
    return g


@clone.keyword
def _(x: Any, *, memory_format: Any):
    result = clone(x)
    return result if memory_format is None else result.contiguous(memory_format)


@op(sample=lambda s: [((s.normal(3, 4), s.normal(4)), {}), ((s.normal(3, 4), s.normal(3, 4)), {})])
def assign(xp, x, y, out=None):
    """y broadcast to the shape of x; the in-place form is `copy_`."""
    if out is None:
        return xp.broadcast_to(y, x.shape) if hasattr(y, "dtype") else xp.full(x.shape, y, x.dtype)
    out[...] = y
    return out


@assign.shape
def _(x: Spec, y: Spec | float):
    if not isinstance(y, Spec):
        return x.shape
    tail = x.shape[max(x.ndim - y.ndim, 0) :]
    if x.ndim < y.ndim or any(b not in (1, a) for a, b in zip(tail, y.shape, strict=True)):
        raise ShapeError(f"copy: {format_shape(y.shape)} does not broadcast to {format_shape(x.shape)}")
    return x.shape


@assign.gradient("x")
def _(g):
    return g.new_zeros(g.shape)


@assign.gradient("y")
def _(g):
    return g


@op(rejects_booleans=True)
def addcmul(xp, x, tensor1, tensor2, out=None, value: float = 1):
    """x + value · tensor1 · tensor2."""
    return add_term(xp, x, _product, (tensor1, tensor2, value), out)


def _product(y: Any, z: Any, value: float) -> Any:
    product = y * z
    if value != 1:
        product *= value  # in the memory of the product, which has no other reference
    return product


@addcmul.gradient("x")
def _(g):
    return g


@addcmul.gradient("tensor1")
def _(g, tensor2, value):
    return g * tensor2 * value


@addcmul.gradient("tensor2")
def _(g, tensor1, value):
    return g * tensor1 * value


@op(floats=True, domain=(0.5, 2.0))
def addcdiv(xp, x, tensor1, tensor2, out=None, value: float = 1):
    """x + value · tensor1 / tensor2."""
    return add_term(xp, x, _quotient, (tensor1, tensor2, value), out)


def _quotient(y: Any, z: Any, value: float) -> Any:
    quotient = y / z
    if value != 1:
        quotient *= value
    return quotient


@addcdiv.gradient("x")
def _(g):
    return g


@addcdiv.gradient("tensor1")
def _(g, tensor2, value):
    return g / tensor2 * value


@addcdiv.gradient("tensor2")
def _(g, tensor1, tensor2, value):
    return -g * tensor1 / (tensor2 * tensor2) * value


@op(floats=True, public=False, domain=(0.5, 2.0), sample=lambda s: [
    ((s.normal(3, 4), s.normal(4), s.uniform(1, 2, 3, 1)), {}),
    ((s.normal(3, 4), s.normal(3, 4), s.uniform(1, 2, 3, 4)), {"eps": 0.1, "value": -0.5}),
])  # fmt: skip
def addcdiv_sqrt(xp, x, y, z, out=None, eps: float = 0, value: float = 1):
    """x + value · y / (√z + eps), without a temporary array for √z."""
    return add_term(xp, x, partial(_over_root, xp), (y, z, eps, value), out)


def _over_root(xp: Any, y: Any, z: Any, eps: float, value: float) -> Any:
    root = xp.sqrt(z) if hasattr(z, "dtype") else float(np.sqrt(z))  # a 0-d array would take part in dtype promotion
    root += eps
    return _quotient(y, root, value)


@addcdiv_sqrt.gradient("x")
def _(g):
    return g


@addcdiv_sqrt.gradient("y")
def _(g, z, eps, value):
    return g * value / (z.sqrt() + eps)


@addcdiv_sqrt.gradient("z")
def _(g, y, z, eps, value):
    root = z.sqrt()
    return -g * y * (0.5 * value) / (root * (root + eps) * (root + eps))


@op(floats=True)
def lerp(xp, x, end, weight, out=None):
    """x + weight · (end − x)."""
    return add_term(xp, x, _way, (x, end, weight), out)


def _way(x: Any, end: Any, weight: Any) -> Any:
    return (end - x) * weight


@lerp.gradient("x")
def _(g, weight):
    return g * (1 - weight)


@lerp.gradient("end")
def _(g, weight):
    return g * weight


@lerp.gradient("weight")
def _(g, x, end):
    return g * (end - x)
