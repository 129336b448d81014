"""Curves that only grow, kept so that a plot of any width is drawn from few numbers however many points there are.

Beside its values a column keeps the least and the greatest of each 8, 64, 512, … of them, and those of its smoothed
course.
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
    """What a curve covers in each column of pixels: the least and the greatest value, at a place in the column."""

    x: Array
    low: Array
    high: Array


class CurveColumn:
    """The values of one quantity, with the extremes of their blocks and of their smoothed course."""

    def __init__(self) -> None:
        self._numbers = GrowableArray()
        self._extremes = MinMaxPyramid(self._numbers, self._numbers)
        self.course: SmoothedBlocks | None = None
        """Its smoothed course, as far as that was asked for."""
        self.cuts = 0
        """How often values were forgotten."""
        self._bounds: dict[bool, tuple[tuple[int, int], tuple[float, float] | None]] = {}
        """Those that were asked for last, and after how many values and cuts that was."""

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
        """How many values have to be smoothed before its course with that share of the past is known."""
        is_known = self.course is not None and self.course.share == share
        return len(self) - (len(self.course) if is_known and self.course is not None else 0)

    def smooth(self, share: float) -> SmoothedBlocks:
        """Its course with that share of the past, of all values that there are."""
        if self.course is None or self.course.share != share:
            self.course = SmoothedBlocks(share)
        self.course.follow(self.values)
        return self.course

    def bounds(self, *, positive: bool = False) -> tuple[float, float] | None:
        """The least and the greatest finite value, or of those above zero; None if there is none."""
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
        """What the curve over `x`, which never falls, covers from `left` to `right` in so many columns of pixels.

        One point beyond each side is there too, so that lines go on to the edge. Points are given as they are if there
        are not more than `few`, which is `columns` unless said.

        Args:
            share: of the past in the exponential mean that is shown in place of the values
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
        """Of a stretch: where over `x` blocks of that level begin, and their extremes.

        What no whole block covers at the end comes as single points.
        """
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
    """Figures that came at the same steps. Places along the axes never fall."""

    def __init__(self) -> None:
        self.columns: dict[str, CurveColumn] = {}
        self._steps, self._seconds = GrowableArray(), GrowableArray()

    def __len__(self) -> int:
        return len(self._steps)

    def places(self, axis: Axis) -> Array:
        """Of the points; epochs are told in steps."""
        return self._seconds.array if axis == "seconds" else self._steps.array

    def extend(self, steps: Array, seconds: Array, values: Mapping[str, Array]) -> None:
        """More points. A quantity that is missing in some has no value (NaN) there."""
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
        """Forget what came after a step."""
        count = int(np.searchsorted(self._steps.array, step, "right"))
        for part in (self._steps, self._seconds, *self.columns.values()):
            part.cut(count)


def needs_smoothed_blocks(x: Array, left: float, right: float, columns: int) -> bool:
    """Whether a smoothed band is drawn from the extremes of blocks, not from the values in view alone."""
    first, last = _stretch(x, left, right)
    return _level(last - first, columns) >= LEVEL


def _stretch(x: Array, left: float, right: float) -> tuple[int, int]:
    """The points from `left` to `right`, and one beyond each side."""
    first, last = int(x.searchsorted(left)), int(x.searchsorted(right, "right"))
    return max(first - 1, 0), min(last + 1, len(x))


def _level(count: int, least: int) -> int:
    """Of the largest blocks of which at least so many make up a stretch of `count` values."""
    level = 0
    while count // FACTOR ** (level + 1) >= least:
        level += 1
    return level


def _only_positive(low: Array, high: Array) -> tuple[Array, Array]:
    """Of blocks, the extremes that a logarithmic axis can show: where the least cannot be shown, the greatest."""
    high = np.where(high > 0, high, np.nan)
    return np.where(low > 0, low, high), high


def logarithmic(band: Band) -> Band:
    """The band on a logarithmic axis of values; what is not above zero is left out."""
    low, high = _only_positive(band.low, band.high)
    return Band(band.x, np.log10(low), np.log10(high))


__all__ = ["Array", "Axis", "Band", "CurveColumn", "CurveTable", "logarithmic", "needs_smoothed_blocks"]
