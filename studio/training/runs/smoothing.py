"""The exponential mean of curves: of any stretch from the values before it, of whole curves as extremes of blocks.

Sums of 64 values are one product of matrices, as the weights are the same everywhere.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from studio.training.runs.minmax_pyramid import FACTOR, Array, GrowableArray, MinMaxPyramid

LEVEL = 1
"""Of the smallest blocks whose extremes are kept, as `growing` counts."""
BLOCK = FACTOR**2
"""Values that are summed up at once."""
_PIECE = 128
"""Blocks that are smoothed at once: they stay in the processor's cache."""
_NEGLIGIBLE = 1e-17
"""A share of the past that no longer changes a double."""
_SETTLED = 1 - 1e-14
"""The sum of weights from which on it is one."""
_VANISHED = 1e-200
"""The sum of weights up to which nothing is known: so many values are missing."""


class _Weights(NamedTuple):
    within: Array
    """Of the values of a block in the sums at its places: (place, value)."""
    before: Array
    """Of the sum before a block, at its places."""
    between: Array
    """Of the sums at the ends of blocks in those at the ends of later ones."""
    ends: Array
    """Of the sum before all blocks, at the end of each."""


@functools.lru_cache(maxsize=4)
def _weights(share: float) -> _Weights:
    place, block = np.arange(BLOCK), np.arange(_PIECE)
    far, farther = place[:, None] - place, block[:, None] - block
    within = np.where(far >= 0, share ** np.maximum(far, 0), 0.0) * (1 - share)
    between = np.where(farther >= 0, share ** (BLOCK * np.maximum(farther, 0)), 0.0)
    before, ends = np.power(share, place + 1.0), np.power(share, BLOCK * (block + 1.0))
    return _Weights(*(part.astype(np.float64) for part in (within, before, between, ends)))


def window_length(share: float) -> int:
    """How many values back the past still counts."""
    return math.ceil(math.log(_NEGLIGIBLE) / math.log(share)) if share > 0 else 0


def smooth(values: Array, share: float, first: int = 0, last: int | None = None) -> Array:
    """The exponential mean with `share` of the past (0 to below 1) from place `first` to before `last`.

    It has no bias towards zero at the beginning. Values that are not finite leave it as it is, until what it is made of
    is so far back that it has no weight in a double; then it is NaN.
    """
    last = len(values) if last is None else last
    if share <= 0:
        return values[first:last]
    begin = max(_known_before(values, first) - window_length(share), 0)
    wanted = values[begin:last]
    whole = np.concatenate([wanted, np.full(-len(wanted) % BLOCK, np.nan)])
    # What lies before `begin` has no weight; that nothing does is only true at the beginning of the curve.
    parts = [part.T.ravel() for part in _means(whole, share, [0.0, 0.0])]
    found = np.concatenate(parts) if parts else wanted
    return found[first - begin : len(wanted)]


def smooth_at(values: Array, share: float, place: int) -> float:
    """The same at one place."""
    return float(smooth(values, share, place, place + 1)[0])


def _known_before(values: Array, place: int) -> int:
    """The last finite value at a place or before it; 0 if there is none."""
    end, size = place + 1, BLOCK
    while end > 0:
        known = np.flatnonzero(np.isfinite(values[max(end - size, 0) : end]))
        if len(known):
            return max(end - size, 0) + int(known[-1])
        end, size = end - size, 2 * size
    return 0


class SmoothedBlocks:
    """The least and the greatest of the exponential mean of each 8 values, as far as there are 64 more of them."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._low, self._high = GrowableArray(), GrowableArray()
        self._sums = [0.0, 0.0]
        self.extremes = MinMaxPyramid(self._low, self._high)

    def __len__(self) -> int:
        """Values that are covered."""
        return len(self._low) * FACTOR**LEVEL

    def follow(self, values: Array) -> None:
        """Go on with what is new of these values, which begin with those it knows."""
        for means in _means(values[len(self) : len(values) // BLOCK * BLOCK], self.share, self._sums):
            small = means.reshape(FACTOR, FACTOR, -1)
            self._low.extend(np.fmin.reduce(small, axis=1).T.ravel())
            self._high.extend(np.fmax.reduce(small, axis=1).T.ravel())


def _means(values: Array, share: float, sums: list[float]) -> Iterator[Array]:
    """Of whole blocks, some at a time: (place in the block, block).

    Args:
        sums: weighted ones of the values before, and of their number; those after the last block when all is done
    """
    for begin in range(0, len(values), BLOCK * _PIECE):
        blocks = values[begin : begin + BLOCK * _PIECE].reshape(-1, BLOCK).T
        known = np.isfinite(blocks)
        if sums[1] >= _SETTLED and known.all():
            means, sums[0] = _weighted(blocks, share, sums[0])
        else:
            above, sums[0] = _weighted(np.where(known, blocks, 0.0), share, sums[0])
            below, sums[1] = _weighted(known.astype(np.float64), share, sums[1])
            with np.errstate(invalid="ignore"):
                means = above / np.where(below > _VANISHED, below, np.nan)
        yield means


def _weighted(blocks: Array, share: float, before: float) -> tuple[Array, float]:
    """Weighted sums at all places, and at the last one."""
    weights, count = _weights(share), blocks.shape[1]
    found = weights.within @ blocks
    ends = weights.between[:count, :count] @ found[-1] + before * weights.ends[:count]
    found += weights.before[:, None] * np.concatenate([[before], ends[:-1]])
    return found, float(ends[-1])


__all__ = ["BLOCK", "LEVEL", "SmoothedBlocks", "window_length", "smooth", "smooth_at"]
