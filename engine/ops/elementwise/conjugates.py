"""What complex numbers would be asked: every tensor here is real, so it is its own conjugate."""

from __future__ import annotations

import math
from typing import Any

from engine.ops.composite import composite
from engine.ops.elementwise.selection import where


def _real(s: Any) -> Any:
    return [((s.normal(2, 3),), {})]


@composite(sample=_real)
def conj(x: Any) -> Any:
    """x, whose elements are real."""
    return x


@composite(sample=_real, in_place=True)
def conj_physical(x: Any) -> Any:
    """x, whose elements are real."""
    return x


@composite(sample=_real)
def resolve_conj(x: Any) -> Any:
    """x, which is never lazily conjugated."""
    return x


@composite(sample=_real)
def resolve_neg(x: Any) -> Any:
    """x, which is never lazily negated."""
    return x


@composite(result="bool", sample=_real)
def is_conj(x: Any) -> bool:
    """Whether x is lazily conjugated: never."""
    return False


@composite(result="bool", sample=_real)
def is_neg(x: Any) -> bool:
    """Whether x is lazily negated: never."""
    return False


@composite(sample=_real)
def angle(x: Any) -> Any:
    """π for numbers below 0, and 0 for others."""
    x = x if x.dtype.is_floating_point else x.float()
    return where(x != x, x, (x < 0).to(x.dtype) * math.pi)
