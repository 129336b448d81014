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
        self.course: SmoothedBlocks | None = None
        """Min-max blocks of the smoothed curve, if requested before."""
        self.cuts = 0
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
        self.course = None
        self.cuts += 1

    def unsmoothed(self, share: float) -> int:
        """Number of values that must still be smoothed with decay `share`."""
        is_known = self.course is not None and self.course.share == share
        return len(self) - (len(self.course) if is_known and self.course is not None else 0)

    def smooth(self, share: float) -> SmoothedBlocks:
        """Min-max blocks of the curve smoothed with decay `share`, up to date."""
        if self.course is None or self.course.share != share:
            self.course = SmoothedBlocks(share)
        self.course.follow(self.values)
        return self.course

    def bounds(self, *, positive: bool = False) -> tuple[float, float] | None:
        """Minimum and maximum finite value, optionally of positive values only; None if there is none."""
        known = self._bounds.get(positive)
        if known is None or known[0] != (len(self), self.cuts):
            level = _level(len(self), _BLOCKS)
            low, high = self._extremes.level(level)
            tail = self.values[len(low) * FACTOR**level :]
            low, high = np.concatenate([low, tail]), np.concatenate([high, tail])
            low, high = _only_positive(low, high) if positive else (low, high)
            found = np.concatenate([low, high])
            found = found[np.isfinite(found)]
            bounds = (float(found.min()), float(found.max())) if len(found) else None
            self._bounds[positive] = known = (len(self), self.cuts), bounds
        return known[1]

    def band(
        self, x: Array, left: float, right: float, columns: int, few: int | None = None, *, share: float = 0.0
    ) -> Band:
        """Range of the curve over `x` (non-decreasing) from `left` to `right` in `columns` pixel columns.

        One point beyond each side is included, so that lines reach the edge. At most `few` points (default: `columns`)
        are returned unchanged.

        Args:
            share: decay of the exponential smoothing; 0 for none
        """
        first, last = _stretch(x, left, right)
        if last - first <= (columns if few is None else few):
            values = smooth(self.values, share, first, last)
            return Band(x[first:last], values, values)
        places, low, high = self._blocks(x, first, last, _level(last - first, columns), share)
        pixels = np.floor((places - left) * (columns / max(right - left, 1e-300)))
        is_first = np.empty(len(pixels), np.bool)
        is_first[0] = True
        np.not_equal(pixels[1:], pixels[:-1], out=is_first[1:])
        begins = np.flatnonzero(is_first)
        return Band(places[begins], np.fmin.reduceat(low, begins), np.fmax.reduceat(high, begins))

    def _blocks(self, x: Array, first: int, last: int, level: int, share: float) -> tuple[Array, Array, Array]:
        """Start positions, minima and maxima of the blocks of a level in a range; a remainder as single points."""
        if level == 0 or (share and level < LEVEL):
            values = smooth(self.values, share, first, last)
            return x[first:last], values, values
        low, high = self.smooth(share).extremes.level(level - LEVEL) if share else self._extremes.level(level)
        size = FACTOR**level
        begin, end = first // size, min(last // size, len(low))
        rest = max(end * size, first)
        places, low, high = x[begin * size : end * size : size], low[begin:end], high[begin:end]
        if rest < last:
            tail = smooth(self.values, share, rest, last)
            places = np.concatenate([places, x[rest:last]])
            low, high = np.concatenate([low, tail]), np.concatenate([high, tail])
        return places, low, high


class CurveTable:
    """Columns of values with common steps. Positions along the axes never decrease."""

    def __init__(self) -> None:
        self.columns: dict[str, CurveColumn] = {}
        self._steps, self._seconds = GrowableArray(), GrowableArray()

    def __len__(self) -> int:
        return len(self._steps)

    def places(self, axis: Axis) -> Array:
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
    first, last = _stretch(x, left, right)
    return _level(last - first, columns) >= LEVEL


def _stretch(x: Array, left: float, right: float) -> tuple[int, int]:
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
