"""Histogram of the elements of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 48


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in intervals of equal width."""

    low: float
    high: float
    counts: tuple[int, ...]
    zeros: int
    """Elements that are exactly 0 and left out, because they would hide the others, as after ReLU."""
    left_out: int
    """Elements that are NaN or infinite."""


def histogram(array: NDArray[Any], bins: int = BINS) -> Histogram:
    """Count the finite elements. Zeros are left out of floating-point tensors if they are more than a tenth of them."""
    values = array.reshape(-1)
    values = values.astype(np.int64) if values.dtype == bool else values
    left_out = 0
    if values.dtype.kind == "f":
        finite = np.isfinite(values)
        left_out = int(values.size - finite.sum())
        values = values[finite] if left_out else values
    if not values.size:
        return Histogram(0.0, 0.0, (), 0, left_out)
    low, high = float(values.min()), float(values.max())
    zeros = int(values.size - np.count_nonzero(values)) if values.dtype.kind == "f" else 0
    if zeros * 10 <= values.size:
        zeros = 0
    counted = values[values != 0] if zeros else values
    if values.dtype.kind in "iu":
        bins = min(bins, int(high - low) + 1)
        low, high = low - 0.5, high + 0.5
    if not counted.size or not low < high or not np.isfinite(high - low):
        return Histogram(low, high, (int(counted.size),) if counted.size else (), zeros, left_out)
    counts = np.histogram(counted.astype(np.float64), bins, (low, high))[0]
    return Histogram(low, high, tuple(int(each) for each in counts), zeros, left_out)


__all__ = ["BINS", "Histogram", "histogram"]
