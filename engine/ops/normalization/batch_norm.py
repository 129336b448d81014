"""Normalization by channel, as one op with one for its gradient: as a composition it takes more than twice as long
(benchmarks/train_step.py)."""

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
    """(x − mean) / √(var + eps) · weight + bias by channel of N×C×P; mean; variance; and what weight multiplies."""
    wide = x if x.dtype.itemsize > 2 else x.astype(xp.float32)
    size = x.shape[0] * x.shape[2]
    mean = wide.mean(axis=(0, 2)) if size else xp.full(x.shape[1], np.nan, wide.dtype)
    scaled = wide - mean[:, None]
    var = xp.einsum("ncp,ncp->c", scaled, scaled) / (size or float("nan"))
    scaled *= (1 / xp.sqrt(var + eps))[:, None]
    out = scaled.copy() if weight is None else scaled * weight[:, None]
    if bias is not None:
        out += bias[:, None]
    return tuple(array.astype(x.dtype, copy=False) for array in (out, mean, var, scaled))


@batch_norm_op.shape
def _(x: Spec, weight: Spec | None, bias: Spec | None, eps: float):
    if any(spec is not None and spec.shape != x.shape[1:2] for spec in (weight, bias)):
        given = " and ".join(format_shape(spec.shape) for spec in (weight, bias) if spec is not None)
        raise ShapeError(f"batch_norm of {x.shape[1]} channels needs as many weights and biases, not {given}")
    return x, x.with_shape(x.shape[1:2]), x.with_shape(x.shape[1:2]), x


@batch_norm_op.gradient
def _(g, x: Spec, weight, bias: Spec, out2, out3, eps):
    of_out, of_mean, of_var, of_scaled = g
    slope = (out2 + eps).rsqrt()
    size: Any = x.shape[0] * x.shape[2]
    size = 1 if size == 0 else size
    of_x = of_weight = of_bias = None
    if of_out is not None:
        of_weight, of_bias = channel_dot(of_out, out3), of_out.sum((0, 2))
        steep = slope if weight is None else slope * weight
        of_x = _through(of_out, out3, steep, of_weight, of_bias, size)
    if of_scaled is not None:
        part = _through(of_scaled, out3, slope, channel_dot(of_scaled, out3), of_scaled.sum((0, 2)), size)
        of_x = part if of_x is None else of_x + part
    if of_var is not None:
        part = out3 * (of_var * (2 / size) / slope).unsqueeze(-1)
        of_x = part if of_x is None else of_x + part
    if of_mean is not None:
        part = (of_mean / size).unsqueeze(-1).expand(x.shape)
        of_x = part if of_x is None else of_x + part
    return of_x, None if weight is None else of_weight, None if bias is None else of_bias


def _through(g: Any, scaled: Any, steep: Any, dot: Any, total: Any, size: Any) -> Any:
    """`steep` · (g − mean of g − scaled · mean of g · scaled)."""
    share = steep * (-1 / size)
    return channel_mix(g, scaled, steep, share * dot, share * total)


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
