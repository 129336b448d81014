"""Curves that only grow, kept so that a plot of any width is drawn from few numbers however many points there are.

Beside its values a column keeps the least and the greatest of each 8, 64, 512, … of them. They are made once, when
somebody looks, from those of the level below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Axis = Literal["step", "epoch", "seconds"]

FACTOR = 8
_BLOCKS = 512
_PIECE = 1 << 14
_NEGLIGIBLE = 1e-17
"""A share of the past that no longer changes a double."""


class Numbers:
    """An array that grows at its end."""

    def __init__(self) -> None:
        self._held = np.empty(64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def array(self) -> Array:
        """A view, good until the next change."""
        return self._held[: self._count]

    def extend(self, values: Array) -> None:
        wanted = self._count + len(values)
        if wanted > len(self._held):
            grown = np.empty(max(wanted, 2 * len(self._held)))
            grown[: self._count] = self.array
            self._held = grown
        self._held[self._count : wanted] = values
        self._count = wanted

    def cut(self, count: int) -> None:
        """Forget all after the first `count`."""
        self._count = min(self._count, count)


class Band(NamedTuple):
    """What a curve covers in each column of pixels: the least and the greatest value, at a place in the column."""

    x: Array
    low: Array
    high: Array


class Column:
    """The values of one quantity, with the extremes of their blocks and their smoothed course."""

    def __init__(self) -> None:
        self._numbers = Numbers()
        self._levels: list[tuple[Numbers, Numbers]] = []
        self._smoother: _Smoother | None = None

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
        self._numbers.cut(count)
        for level, pair in enumerate(self._levels, start=1):
            for numbers in pair:
                numbers.cut(count // FACTOR**level)
        self._smoother = None

    def smoothed(self, share: float) -> Column:
        """The exponential mean with `share` of the past (0 to below 1), without a bias towards zero at the beginning.

        Values that are not finite leave it as it is.
        """
        if share <= 0:
            return self
        if self._smoother is None or self._smoother.share != share:
            self._smoother = _Smoother(share)
        self._smoother.follow(self.values)
        return self._smoother.column

    def bounds(self, *, positive: bool = False) -> tuple[float, float] | None:
        """The least and the greatest finite value, or of those above zero; None if there is none."""
        low, high = self._blocks(0, len(self), _BLOCKS)[1:]
        low, high = _only_positive(low, high) if positive else (low, high)
        found = np.concatenate([low, high])
        found = found[np.isfinite(found)]
        return (float(found.min()), float(found.max())) if len(found) else None

    def band(self, x: Array, left: float, right: float, columns: int, few: int | None = None) -> Band:
        """What the curve over `x`, which never falls, covers from `left` to `right` in so many columns of pixels.

        One point beyond each side is there too, so that lines go on to the edge. Points are given as they are if there
        are not more than `few`, which is `columns` unless said.
        """
        first = max(int(np.searchsorted(x, left, "left")) - 1, 0)
        last = min(int(np.searchsorted(x, right, "right")) + 1, len(x))
        if last - first <= (columns if few is None else few):
            values = self.values[first:last]
            return Band(x[first:last], values, values)
        starts, low, high = self._blocks(first, last, columns)
        places = x[starts]
        pixels = np.floor((places - left) * (columns / max(right - left, 1e-300)))
        begins = np.flatnonzero(np.diff(pixels, prepend=pixels[0] - 1))
        return Band(places[begins], np.fmin.reduceat(low, begins), np.fmax.reduceat(high, begins))

    def _blocks(self, first: int, last: int, least: int) -> tuple[NDArray[np.int64], Array, Array]:
        """Of a stretch: where blocks begin, and their extremes. As large as they can be with at least `least` of them.

        What no whole block covers at the end comes as single points.
        """
        level = 0
        while (last - first) // FACTOR ** (level + 1) >= least:
            level += 1
        if level == 0:
            return np.arange(first, last), self.values[first:last], self.values[first:last]
        low, high = self._level(level)
        size = FACTOR**level
        whole = slice(first // size, min(last // size, len(low)))
        rest = slice(max(whole.stop * size, first), last)
        tail = self.values[rest]
        starts = np.concatenate([np.arange(whole.start, whole.stop) * size, np.arange(rest.start, rest.stop)])
        return starts, np.concatenate([low.array[whole], tail]), np.concatenate([high.array[whole], tail])

    def _level(self, level: int) -> tuple[Numbers, Numbers]:
        """The extremes of all whole blocks of FACTOR**level values."""
        if level == 0:
            return self._numbers, self._numbers
        below = self._level(level - 1)
        while len(self._levels) < level:
            self._levels.append((Numbers(), Numbers()))
        own = self._levels[level - 1]
        whole = len(below[0]) // FACTOR * FACTOR
        for source, numbers, extreme in zip(below, own, (np.fmin, np.fmax), strict=True):
            fresh = source.array[len(numbers) * FACTOR : whole]
            if len(fresh):
                numbers.extend(extreme.reduce(fresh.reshape(-1, FACTOR), axis=1))
        return own


class Track:
    """Figures that came at the same steps. Places along the axes never fall."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self._steps, self._seconds = Numbers(), Numbers()

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
                self.columns[name] = Column()
                self.columns[name].extend(np.full(before, np.nan))
        for name, column in self.columns.items():
            column.extend(values.get(name, np.full(added, np.nan)))

    def cut(self, step: int) -> None:
        """Forget what came after a step."""
        count = int(np.searchsorted(self._steps.array, step, "right"))
        for part in (self._steps, self._seconds, *self.columns.values()):
            part.cut(count)


class _Smoother:
    """The smoothed course of a column, which grows with it."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.column = Column()
        self._means = np.zeros((2, 1))
        """Of the values and of their number, after the last one."""

    def follow(self, values: Array) -> None:
        """Smooth what is new, in pieces that stay in the processor's cache."""
        while len(self.column) < len(values):
            self._append(values[len(self.column) : len(self.column) + _PIECE])

    def _append(self, fresh: Array) -> None:
        known = np.isfinite(fresh)
        sums = np.stack([np.where(known, fresh, 0.0), known.astype(np.float64)]) * (1 - self.share)
        power, distance = self.share, 1
        while distance < len(fresh) and power > _NEGLIGIBLE:  # sums of 2, 4, 8, … weighted values
            sums[:, distance:] += power * sums[:, :-distance]
            power, distance = power * power, 2 * distance
        sums += self._means * self.share ** np.arange(1, len(fresh) + 1)
        self._means = sums[:, -1:].copy()
        with np.errstate(invalid="ignore"):
            self.column.extend(sums[0] / np.where(sums[1] > 0, sums[1], np.nan))


def _only_positive(low: Array, high: Array) -> tuple[Array, Array]:
    """Of blocks, the extremes that a logarithmic axis can show: where the least cannot be shown, the greatest."""
    high = np.where(high > 0, high, np.nan)
    return np.where(low > 0, low, high), high


def logarithmic(band: Band) -> Band:
    """The band on a logarithmic axis of values; what is not above zero is left out."""
    low, high = _only_positive(band.low, band.high)
    return Band(band.x, np.log10(low), np.log10(high))


__all__ = ["FACTOR", "Array", "Axis", "Band", "Column", "Numbers", "Track", "logarithmic"]
