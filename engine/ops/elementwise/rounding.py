"""Rounding and fractional parts, elementwise."""

from __future__ import annotations

import builtins
import math
import sys

from engine.ops.record import op

MAX_EXPONENT = sys.float_info.max_10_exp


@op(rejects_booleans=True)
def floor(xp, x, out=None):
    """Round down: the largest integer ≤ x."""
    return xp.floor(x, out=out)


@op(rejects_booleans=True)
def ceil(xp, x, out=None):
    """Round up: the smallest integer ≥ x."""
    return xp.ceil(x, out=out)


@op(rejects_booleans=True, aliases=("fix",))
def trunc(xp, x, out=None):
    """Round toward 0: the integer part of x."""
    return xp.trunc(x, out=out)


@op(
    rejects_booleans=True,
    sample=lambda s: [*s.unary(), *(((s.normal(5) * s.dtype(100),), {"decimals": n}) for n in (2, -1))],
)
def round(xp, x, out=None, decimals: int = 0):
    """Round to `decimals` decimal places; halves are rounded to even. NaN if 10 ** abs(decimals) is infinite."""
    if decimals == 0:
        return (xp.positive if x.dtype.kind in "iu" else xp.rint)(x, out=out)
    scale = 10.0 ** builtins.abs(decimals) if builtins.abs(decimals) <= MAX_EXPONENT else math.inf
    scaled = xp.rint(x * scale) / scale if decimals > 0 else xp.rint(x / scale) * scale
    if out is None:
        return scaled.astype(x.dtype, copy=False)
    out[...] = scaled
    return out


def _nothing(g):
    return g * 0


for _record in (floor, ceil, trunc, round):
    _record.gradient(_nothing)


@op(rejects_booleans=True)
def frac(xp, x):
    """Fractional part, x − trunc(x)."""
    return x - xp.trunc(x)


@frac.gradient
def _(g):
    return g
