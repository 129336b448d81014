"""Batch normalization as one op. A composition takes more than twice as long (benchmarks/train_step.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.errors import ShapeError
from engine.ops.record import op
from engine.shape import Spec, format_shape


@op("other", method=False, outputs=4, sample=lambda s: [
    ((s.normal(4, 3, 2), s.normal(3), s.normal(3)), {"eps": 1e-5}), ((s.normal(5, 2, 1), None, None), {"eps": 0.1}),
    ((s.normal(2, 3, 4), s.normal(3), None), {"eps": 1e-3}),
])  # fmt: skip
def batch_norm_op(xp, x, weight=None, bias=None, eps: float = 1e-5):
    """(x − mean) / √(var + eps) · weight + bias for each channel of N×C×P.

    Returns:
        the result; mean and biased variance of each channel; and the normalized input before weight and bias.
    """
    values = x if x.dtype.itemsize > 2 else x.astype(xp.float32)
    size = x.shape[0] * x.shape[2]
    mean = values.mean(axis=(0, 2)) if size else xp.full(x.shape[1], np.nan, values.dtype)
    scaled = values - mean[:, None]
    var = xp.einsum("ncp,ncp->c", scaled, scaled) / (size or float("nan"))
    scaled *= (1 / xp.sqrt(var + eps))[:, None]
    out = scaled.copy() if weight is None else scaled * weight[:, None]
    if bias is not None:
        out += bias[:, None]
    return tuple(array.astype(x.dtype, copy=False) for array in (out, mean, var, scaled))


@batch_norm_op.shape
def _(x: Spec, weight: Spec | None, bias: Spec | None, eps: float):
    if any(spec is not None and spec.shape != x.shape[1:2] for spec in (weight, bias)):
        shapes = " and ".join(format_shape(spec.shape) for spec in (weight, bias) if spec is not None)
        raise ShapeError(f"batch_norm: weight and bias must have {x.shape[1]} elements, one per channel, not {shapes}")
    return x, x.with_shape(x.shape[1:2]), x.with_shape(x.shape[1:2]), x


@batch_norm_op.gradient
def _(g, x: Spec, weight, bias: Spec, out2, out3, eps):
    grad_out, grad_mean, grad_var, grad_scaled = g
    inv_std = (out2 + eps).rsqrt()
    size: Any = x.shape[0] * x.shape[2]
    size = 1 if size == 0 else size
    grad_x = grad_weight = grad_bias = None
    if grad_out is not None:
        grad_weight, grad_bias = channel_dot(grad_out, out3), grad_out.sum((0, 2))
        factor = inv_std if weight is None else inv_std * weight
        grad_x = _input_gradient(grad_out, out3, factor, grad_weight, grad_bias, size)
    if grad_scaled is not None:
        dot, total = channel_dot(grad_scaled, out3), grad_scaled.sum((0, 2))
        term = _input_gradient(grad_scaled, out3, inv_std, dot, total, size)
        grad_x = term if grad_x is None else grad_x + term
    if grad_var is not None:
        term = out3 * (grad_var * (2 / size) / inv_std).unsqueeze(-1)
        grad_x = term if grad_x is None else grad_x + term
    if grad_mean is not None:
        term = (grad_mean / size).unsqueeze(-1).expand(x.shape)
        grad_x = term if grad_x is None else grad_x + term
    return grad_x, None if weight is None else grad_weight, None if bias is None else grad_bias


def _input_gradient(g: Any, scaled: Any, factor: Any, dot: Any, total: Any, size: Any) -> Any:
    """`factor` · (g − mean(g) − scaled · mean(g · scaled)), where `total` is Σ g and `dot` is Σ g · scaled."""
    share = factor * (-1 / size)
    return channel_mix(g, scaled, factor, share * dot, share * total)


@op("other", method=False, sample=lambda s: [(s.normal(2, 3, 4), s.normal(2, 3, 4))])
def channel_dot(xp, x, y):
    """Σ x·y for each channel of N×C×P."""
    if x.dtype.itemsize > 2:
        return xp.einsum("ncp,ncp->c", x, y)
    return xp.einsum("ncp,ncp->c", x.astype(xp.float32), y.astype(xp.float32)).astype(x.dtype)


@channel_dot.shape
def _(x: Spec, y: Spec):
    return x.shape[1:2]


@channel_dot.gradient("x")
def _(g, y):
    return y * g.unsqueeze(-1)


@channel_dot.gradient("y")
def _(g, x):
    return x * g.unsqueeze(-1)


@op("other", method=False, sample=lambda s: [
    (s.normal(2, 3, 4), s.normal(2, 3, 4), s.normal(3), s.normal(3), s.normal(3)),
])  # fmt: skip
def channel_mix(xp, x, y, a, b, c):
    """a·x + b·y + c for N×C×P, with one a, b and c for each channel."""
    out = x * a[:, None]
    out += y * b[:, None]
    out += c[:, None]
    return out


@channel_mix.shape
def _(x: Spec, y: Spec, a: Spec, b: Spec, c: Spec):
    return x


@channel_mix.gradient("x")
def _(g, a):
    return g * a.unsqueeze(-1)


@channel_mix.gradient("y")
def _(g, b):
    return g * b.unsqueeze(-1)


@channel_mix.gradient("a")
def _(g, x):
    return channel_dot(g, x)


@channel_mix.gradient("b")
def _(g, y):
    return channel_dot(g, y)


@channel_mix.gradient("c")
def _(g):
    return g.sum((0, 2))


@op("other", method=False, promotes=True, sample=lambda s: [
    ((s.normal(2, 3, 4), s.normal(3), s.normal(3)), {}), ((s.normal(2, 3, 4), s.normal(3)), {}),
])  # fmt: skip
def channel_affine(xp, x, weight, bias=None):
    """weight·x + bias for N×C×P, with one weight and one bias for each channel."""
    out = x * weight[:, None]
    if bias is not None:
        out += bias[:, None]
    return out


@channel_affine.shape
def _(x: Spec, weight: Spec, bias: Spec | None = None):
    return x.shape


@channel_affine.gradient("x")
def _(g, weight):
    return g * weight.unsqueeze(-1)


@channel_affine.gradient("weight")
def _(g, x):
    return channel_dot(g, x)


@channel_affine.gradient("bias")
def _(g):
    return g.sum((0, 2))
