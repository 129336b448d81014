"""Softmax and its logarithm. The maximum is subtracted first, so that large inputs do not overflow."""

from __future__ import annotations

from typing import Any

from engine.ops.record import op
from engine.ops.rules import wrap_dim
from engine.shape import Spec


@op("other", floats=True, sample=lambda s: [((s.normal(3, 4),), {"dim": dim}) for dim in (0, -1)])
def softmax(xp, x, dim: int):
    """e^x / Σ e^x along `dim`."""
    out = xp.exp(x - x.max(axis=dim, keepdims=True)) if x.size else xp.exp(x)
    out /= out.sum(axis=dim, keepdims=True)
    return _rows(xp, out)


@softmax.gradient
def _(g, out, dim):
    weighted = g * out
    return weighted - out * weighted.sum(dim, True)


@op("other", floats=True, sample=lambda s: [((s.normal(3, 4),), {"dim": dim}) for dim in (0, -1)])
def log_softmax(xp, x, dim: int):
    """x − ln Σ e^x along `dim`."""
    out = x - x.max(axis=dim, keepdims=True) if x.size else x.copy()
    out -= xp.log(xp.exp(out).sum(axis=dim, keepdims=True))
    return _rows(xp, out)


@log_softmax.gradient
def _(g, out, dim):
    return g - out.exp() * g.sum(dim, True)


def _rows(xp: Any, array: Any) -> Any:
    """`array` stored row by row, as PyTorch returns it, so that view() works."""
    return xp.ascontiguousarray(array) if array.ndim else array


def _rule(x: Spec, dim: int) -> Spec:
    wrap_dim("softmax", dim, x.ndim)
    return x


softmax.shape(_rule)
log_softmax.shape(_rule)
