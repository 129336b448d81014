"""How arrays that should be equal differ."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = 1e-4
"""Largest difference of exported models that is accepted, relative to the largest number of an output."""


def difference(found: Any, expected: Any) -> tuple[float, float]:
    """Largest absolute difference, and the same relative to the largest number; infinite where NaN or shapes differ."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return float("inf"), float("inf")
    if not expected.size:
        return 0.0, 0.0
    with np.errstate(invalid="ignore"):
        a, b = found.astype(np.float64), expected.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        distance = np.where(same, 0.0, np.abs(a - b))
    if not np.isfinite(distance).all():
        return float("inf"), float("inf")
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=0.0))
    largest = float(distance.max())
    return largest, largest / scale if scale else largest


__all__ = ["TOLERANCE", "difference"]
