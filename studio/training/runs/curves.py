"""Append-only curves with min-max blocks, so that a plot of any width reads few values.

A column stores its values, the minima and maxima of blocks of 8, 64, 512, … values, and those of the smoothed curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from studio.training.runs.minmax_pyramid import FACTOR, Array, GrowableArray, MinMaxPyramid
from studio.training.runs.smoothing import LEVEL, SmoothedBlocks, smooth

Axis = Literal["step", "epoch", "seconds"]

_BLOCKS = 512


class Band(NamedTuple):
    """Range of a curve in each pixel column: x position, minimum and maximum."""

    x: Array
    low: Array
    high: Array


class CurveColumn:
    """Values of one quantity with min-max blocks, also of the smoothed curve."""

    def __init__(self) -> None:
        self._numbers = GrowableArray()
        self._extremes = MinMaxPyramid(self._numbers, self._numbers)
        self.smoothed: SmoothedBlocks | None = None
        """Min-max blocks of the smoothed curve, if requested before."""
        self.cut_count = 0
        """Number of `cut` calls."""
        self._bounds: dict[bool, tuple[tuple[int, int], tuple[float, float] | None]] = {}
        """Cached bounds, with the length and cut count at which they were computed."""

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def values(self) -> Array:
        return self._numbers.array

    @property
    def last(self) -> float | None:
        return float(self.values[-1]) if len(self) else None

    def extend(self, values: Array) -> None:
        self._numbers.extend(values)

    def cut(self, count: int) -> None:
        self._extremes.cut(count)
        self.smoothed = None
        self.cut_count += 1

    def count_unsmoothed(self, decay: float) -> int:
        """Number of values that must still be smoothed with decay `decay`."""
        is_known = self.smoothed is not None and self.smoothed.decay == decay
        return len(self) - (len(self.smoothed) if is_known and self.smoothed is not None else 0)

    def smooth(self, decay: float) -> SmoothedBlocks:
        """Min-max blocks of the curve smoothed with decay `decay`, up to date."""
        if self.smoothed is None or self.smoothed.decay != decay:
            self.smoothed = SmoothedBlocks(decay)
        self.smoothed.follow(self.values)
        return self.smoothed

    def bounds(self, *, positive: bool = False) -> tuple[float, float] | None:
        """Minimum and maximum finite value, optionally of positive values only; None if there is none."""
        cached = self._bounds.get(positive)
        if cached is None or cached[0] != (len(self), self.cut_count):
            level = _level(len(self), _BLOCKS)
            low, high = self._extremes.level(level)
            tail = self.values[len(low) * FACTOR**level :]
            low, high = np.concatenate([low, tail]), np.concatenate([high, tail])
            low, high = _only_positive(low, high) if positive else (low, high)
            found = np.concatenate([low, high])
            found = found[np.isfinite(found)]
            bounds = (float(found.min()), float(found.max())) if len(found) else None
            self._bounds[positive] = cached = (len(self), self.cut_count), bounds
        return cached[1]

    def band(
        self, x: Array, left: float, right: float, columns: int, few: int | None = None, *, decay: float = 0.0
    ) -> Band:
        """Range of the curve over `x` (non-decreasing) from `left` to `right` in `columns` pixel columns.

        One point beyond each side is included, so that lines reach the edge. At most `few` points (default: `columns`)
        are returned unchanged.

        Args:
            decay: decay of the exponential smoothing; 0 for none
        """
        first, last = _index_range(x, left, right)
        if last - first <= (columns if few is None else few):
            values = smooth(self.values, decay, first, last)
            return Band(x[first:last], values, values)
        positions, low, high = self._blocks(x, first, last, _level(last - first, columns), decay)
        pixels = np.floor((positions - left) * (columns / max(right - left, 1e-300)))
        is_first = np.empty(len(pixels), np.bool)
        is_first[0] = True
        np.not_equal(pixels[1:], pixels[:-1], out=is_first[1:])
        begins = np.flatnonzero(is_first)
        return Band(positions[begins], np.fmin.reduceat(low, begins), np.fmax.reduceat(high, begins))

    def _blocks(self, x: Array, first: int, last: int, level: int, decay: float) -> tuple[Array, Array, Array]:
        """Start positions, minima and maxima of the blocks of a level in a range; a remainder as single points."""
        if level == 0 or (decay and level < LEVEL):
            values = smooth(self.values, decay, first, last)
            return x[first:last], values, values
        low, high = self.smooth(decay).extremes.level(level - LEVEL) if decay else self._extremes.level(level)
        size = FACTOR**level
        begin, end = first // size, min(last // size, len(low))
        rest = max(end * size, first)
        positions, low, high = x[begin * size : end * size : size], low[begin:end], high[begin:end]
        if rest < last:
            tail = smooth(self.values, decay, rest, last)
            positions = np.concatenate([positions, x[rest:last]])
            low, high = np.concatenate([low, tail]), np.concatenate([high, tail])
        return positions, low, high


class CurveTable:
    """Columns of values with common steps. Positions along the axes never decrease."""

    def __init__(self) -> None:
        self.columns: dict[str, CurveColumn] = {}
        self._steps, self._seconds = GrowableArray(), GrowableArray()

    def __len__(self) -> int:
        return len(self._steps)

    def positions(self, axis: Axis) -> Array:
        """Positions of the points on an axis; for the epoch axis in steps."""
        return self._seconds.array if axis == "seconds" else self._steps.array

    def extend(self, steps: Array, seconds: Array, values: Mapping[str, Array]) -> None:
        """Append points. Missing quantities are NaN."""
        before, added = len(self), len(steps)
        self._steps.extend(steps)
        self._seconds.extend(seconds)
        for name in values:
            if name not in self.columns:
                self.columns[name] = CurveColumn()
                self.columns[name].extend(np.full(before, np.nan))
        for name, column in self.columns.items():
            column.extend(values.get(name, np.full(added, np.nan)))

    def cut(self, step: int) -> None:
        """Remove points after a step."""
        count = int(np.searchsorted(self._steps.array, step, "right"))
        for part in (self._steps, self._seconds, *self.columns.values()):
            part.cut(count)


def needs_smoothed_blocks(x: Array, left: float, right: float, columns: int) -> bool:
    """Whether drawing a smoothed curve needs its min-max blocks, not only the values in view."""
    first, last = _index_range(x, left, right)
    return _level(last - first, columns) >= LEVEL


def _index_range(x: Array, left: float, right: float) -> tuple[int, int]:
    """Index range of the points from `left` to `right`, plus one on each side."""
    first, last = int(x.searchsorted(left)), int(x.searchsorted(right, "right"))
    return max(first - 1, 0), min(last + 1, len(x))


def _level(count: int, least: int) -> int:
    """Highest level at which `count` values still have at least `least` blocks."""
    level = 0
    while count // FACTOR ** (level + 1) >= least:
        level += 1
    return level


def _only_positive(low: Array, high: Array) -> tuple[Array, Array]:
    """Replace minima and maxima that a logarithmic axis cannot show: minima by maxima, others by NaN."""
    high = np.where(high > 0, high, np.nan)
    return np.where(low > 0, low, high), high


def logarithmic(band: Band) -> Band:
    """Convert a band to a logarithmic value axis; values that are not positive become NaN."""
    low, high = _only_positive(band.low, band.high)
    return Band(band.x, np.log10(low), np.log10(high))


__all__ = ["Array", "Axis", "Band", "CurveColumn", "CurveTable", "logarithmic", "needs_smoothed_blocks"]
