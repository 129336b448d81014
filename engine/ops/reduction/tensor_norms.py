"""Norms of many tensors in one call, for views of a training."""

from __future__ import annotations

from typing import Any

from engine.dtypes import bfloat16, float32
from engine.ops.record import op
from engine.shape import Spec


@op("other", method=False, public=False, sample=lambda s: [((s.normal(3, 4), s.normal(), s.normal(5)), {})])
def tensor_norms(xp, *tensors):
    """Norm of each tensor, summed in float64: NaN if an element is NaN, else infinite if one is.

    In float32; in bfloat16 for bfloat16.
    """
    return xp.stack([_norm(xp, x) for x in tensors]).astype(xp.float32)


def _norm(xp: Any, x: Any) -> Any:
    wide = x.astype(xp.float64)  # a copy, also of float64
    wide *= wide
    return xp.sqrt(wide.sum())


@tensor_norms.shape
def _(*tensors: Spec):
    return Spec((len(tensors),), bfloat16 if tensors[0].dtype is bfloat16 else float32)


__all__ = ["tensor_norms"]
