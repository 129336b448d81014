"""Standardisation, which batch, layer, group and instance normalisation share. One op: as a composition it takes
three times as long (benchmarks/train_step.py)."""

from __future__ import annotations

from typing import TypeAlias

from engine.ops.record import op
from engine.ops.rules import reduced
from engine.shape import Spec, count

Dims: TypeAlias = tuple[int, ...]


@op("other", method=False, outputs=3, sample=lambda s: [
    ((s.normal(4, 3, 2),), {"dim": (0, 2), "eps": 1e-5}), ((s.normal(4, 5),), {"dim": (-1,), "eps": 0.1}),
])  # fmt: skip
def standardize(xp, x, dim: Dims, eps: float):
    """(x − mean) / √(var + eps) over `dim`; and that mean and variance (divided by n), dimensions kept as 1."""
    mean = x.mean(axis=dim, keepdims=True)
    out = x - mean
    var = xp.square(out).mean(axis=dim, keepdims=True)
    out *= 1 / xp.sqrt(var + eps)
    return out, mean, var


@standardize.shape
def _(x: Spec, dim: Dims, eps: float):
    figures = Spec(reduced("standardize", x, dim, True), x.dtype)
    return x, figures, figures


@standardize.gradient
def _(g, out0, out2, x: Spec, dim, eps):
    of_out, of_mean, of_var = g
    y, var = out0, out2
    size = count(x.shape[place] for place in dim)
    total = None
    if of_out is not None:
        centred = of_out - of_out.mean(dim, True)
        total = (centred - y * (of_out * y).mean(dim, True)) * (var + eps).rsqrt()
    for part in (
        None if of_mean is None else (of_mean / size).expand(x.shape),
        None if of_var is None else y * ((var + eps).sqrt() * of_var * (2 / size)),
    ):
        if part is not None:
            total = part if total is None else total + part
    return total
