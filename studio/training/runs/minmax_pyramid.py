"""Growable arrays, and minima and maxima of their blocks at several levels."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

FACTOR = 8
"""Blocks per block of the next level."""


class GrowableArray:
    """A float64 array with amortized appending."""

    def __init__(self) -> None:
        self._buffer = np.empty(64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def array(self) -> Array:
        """A view of the values. Later appends do not change it; the next `cut` may."""
        return self._buffer[: self._count]

    def extend(self, values: Array) -> None:
        new_count = self._count + len(values)
        if new_count > len(self._buffer):
            grown = np.empty(max(new_count, 2 * len(self._buffer)))
            grown[: self._count] = self.array
            self._buffer = grown
        self._buffer[self._count : new_count] = values
        self._count = new_count

    def cut(self, count: int) -> None:
        """Remove all values after the first `count`."""
        self._count = min(self._count, count)


class MinMaxPyramid:
    """Minima and maxima of 8, 64, 512, … blocks, computed on demand from the level below."""

    def __init__(self, low: GrowableArray, high: GrowableArray) -> None:
        """Args: minima and maxima of level 0."""
        self._levels = [(low, high)]

    def level(self, level: int) -> tuple[Array, Array]:
        """Minima and maxima of the complete blocks of FACTOR**level values."""
        while len(self._levels) <= level:
            self._levels.append((GrowableArray(), GrowableArray()))
        for finer, level_arrays in pairwise(self._levels[: level + 1]):
            complete = len(finer[0]) // FACTOR * FACTOR
            for source, numbers, extreme in zip(finer, level_arrays, (np.fmin, np.fmax), strict=True):
                new_values = source.array[len(numbers) * FACTOR : complete]
                if len(new_values):
                    numbers.extend(_of_each_block(new_values, extreme))
        low, high = self._levels[level]
        return low.array, high.array

    def cut(self, count: int) -> None:
        """Remove blocks that cover more than the first `count` values."""
        for level, pair in enumerate(self._levels):
            for numbers in pair:
                numbers.cut(count // FACTOR**level)


def _of_each_block(values: Array, extreme: np.ufunc) -> Array:
    """Minimum or maximum of each FACTOR values; ten times faster than NumPy's reduction of short rows."""
    found = extreme(values[0::FACTOR], values[1::FACTOR])
    for offset in range(2, FACTOR):
        extreme(found, values[offset::FACTOR], out=found)
    return found


__all__ = ["FACTOR", "Array", "GrowableArray", "MinMaxPyramid"]
