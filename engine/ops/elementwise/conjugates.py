"""PyTorch's functions for complex tensors. Tensors here are real, so conjugation changes nothing."""

from __future__ import annotations

import math
from typing import Any

from engine.ops.composite import composite
from engine.ops.elementwise.selection import where


def _real(s: Any) -> Any:
    return [((s.normal(2, 3),), {})]


@composite(sample=_real)
def conj(x: Any) -> Any:
    """Returns x: all tensors are real."""
    return x


@composite(sample=_real, in_place=True)
def conj_physical(x: Any) -> Any:
    """Returns x: all tensors are real."""
    return x


@composite(sample=_real)
def resolve_conj(x: Any) -> Any:
    """Returns x: no tensor is lazily conjugated."""
    return x


@composite(sample=_real)
def resolve_neg(x: Any) -> Any:
    """Returns x: no tensor is lazily negated."""
    return x


@composite(result="bool", sample=_real)
def is_conj(x: Any) -> bool:
    """Always False: no tensor is lazily conjugated."""
    return False


@composite(result="bool", sample=_real)
def is_neg(x: Any) -> bool:
    """Always False: no tensor is lazily negated."""
    return False


@composite(sample=_real)
def angle(x: Any) -> Any:
    """Angle in the complex plane: π for negative numbers, else 0."""
    x = x if x.dtype.is_floating_point else x.float()
    return where(x != x, x, (x < 0).to(x.dtype) * math.pi)
