"""Statistics of all elements of a tensor, for views of a training."""

from __future__ import annotations

from engine.dtypes import bfloat16, float32
from engine.ops.record import op
from engine.shape import Spec

STATISTICS = ("mean", "std", "low", "high", "norm", "zeros", "nan", "infinite")
"""What the op returns, in order."""


@op("other", method=False, public=False, sample=lambda s: [((s.normal(3, 4),), {}), ((s.booleans(3, 4),), {})])
def tensor_statistics(xp, x):
    """Mean, standard deviation, minimum, maximum and norm of the finite elements, the share of elements that are 0, and
    the numbers of NaN and of infinite ones, in float32; in bfloat16 for bfloat16. All are 0 without elements.
    """
    values = x.reshape(-1).astype(xp.float64)
    finite = xp.isfinite(values)
    kept = xp.where(finite, values, 0.0)
    count = xp.maximum(finite.sum(), 1)
    mean = kept.sum() / count
    centered = xp.where(finite, values - mean, 0.0)
    is_known = finite.any()
    nan = xp.isnan(values).sum()
    found = [
        mean,
        xp.sqrt((centered * centered).sum() / count),
        xp.where(is_known, xp.where(finite, values, xp.inf).min(initial=xp.inf), 0.0),
        xp.where(is_known, xp.where(finite, values, -xp.inf).max(initial=-xp.inf), 0.0),
        xp.sqrt((kept * kept).sum()),
        (values == 0).sum() / max(values.size, 1),
        nan,
        values.size - finite.sum() - nan,
    ]
    return xp.stack([xp.asarray(each, xp.float64) for each in found]).astype(xp.float32)


@tensor_statistics.shape
def _(x: Spec):
    return Spec((len(STATISTICS),), bfloat16 if x.dtype is bfloat16 else float32)


@op("other", method=False, public=False, sample=lambda s: [
    ((s.booleans(2, 3, 4),), {"dim": 1}), ((s.normal(3, 4),), {"dim": 1}),
])  # fmt: skip
def dead_share(xp, x, dim: int):
    """Share of the units, along dimension `dim`, whose elements are all 0; in bfloat16 for bfloat16."""
    others = tuple(axis for axis in range(x.ndim) if axis != dim % x.ndim)
    return (x == 0).all(axis=others).mean(dtype=xp.float64).astype(xp.float32).reshape(1)


@dead_share.shape
def _(x: Spec, dim: int):
    return Spec((1,), bfloat16 if x.dtype is bfloat16 else float32)


__all__ = ["STATISTICS", "dead_share", "tensor_statistics"]
