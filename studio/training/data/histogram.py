"""Histogram of values whose range is unknown in advance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 64


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts in intervals of equal width."""

    low: float
    """Start of the first interval."""
    width: float
    counts: tuple[int, ...]


class Histogram:
    """Histogram with at most 64 intervals. The width is a power of two and doubles when the range grows.

    Args:
        is_integer: all values are whole numbers, so that no interval is narrower than 1
    """

    def __init__(self, *, is_integer: bool) -> None:
        self._width = 1.0 if is_integer else 0.0
        self._is_integer = is_integer
        self._first = 0
        self._counts = np.zeros(0, np.int64)

    def add(self, values: NDArray[Any]) -> None:
        """Count finite numbers."""
        if not values.size:
            return
        low, high = float(values.min()), float(values.max())
        if not self._width or (not self._counts.size and not self._is_integer):
            self._width = 2.0 ** math.ceil(math.log2(max((high - low) / BINS, abs(high) * 1e-9, 1e-30)))
        self._extend_range(low, high)
        indices = np.floor(values / self._width).astype(np.int64) - self._first
        self._counts += np.bincount(indices, minlength=len(self._counts))

    @property
    def result(self) -> Counts:
        return Counts(self._first * self._width, self._width, tuple(self._counts.tolist()))

    def _extend_range(self, low: float, high: float) -> None:
        while True:
            first, last = math.floor(low / self._width), math.floor(high / self._width)
            if self._counts.size:
                first, last = min(first, self._first), max(last, self._first + len(self._counts) - 1)
            if last - first < BINS:
                break
            self._double()
        counts = np.zeros(last - first + 1, np.int64)
        if self._counts.size:
            start = self._first - first
            counts[start : start + len(self._counts)] = self._counts
        self._first, self._counts = first, counts

    def _double(self) -> None:
        if self._counts.size:
            indices = (np.arange(len(self._counts)) + self._first) // 2
            first = int(indices[0])
            self._counts = np.bincount(indices - first, weights=self._counts).astype(np.int64)
            self._first = first
        self._width *= 2


__all__ = ["BINS", "Counts", "Histogram"]
