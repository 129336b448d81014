"""Exponential moving average of curves: of any range, and as minima and maxima of blocks for whole curves.

The weights are the same everywhere, so 64 values are smoothed by one matrix product.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from studio.training.runs.minmax_pyramid import FACTOR, Array, GrowableArray, MinMaxPyramid

LEVEL = 1
"""Level of the smallest stored blocks, see `minmax_pyramid`."""
BLOCK = FACTOR**2
"""Values per matrix product."""
_PIECE = 128
"""Blocks smoothed at once; they fit into the processor cache."""
_NEGLIGIBLE = 1e-17
"""Weights below this do not change a double."""
_SETTLED = 1 - 1e-14
"""Weight sums above this count as 1."""
_VANISHED = 1e-200
"""Weight sums below this count as 0: all values are missing."""


class _Weights(NamedTuple):
    within: Array
    """Weights of a block's values in its sums: (position, value)."""
    before: Array
    """Weight of the sum before a block, by position."""
    between: Array
    """Weights of the sums at block ends in the sums at later block ends."""
    ends: Array
    """Weight of the initial sum at each block end."""


@functools.lru_cache(maxsize=4)
def _weights(share: float) -> _Weights:
    place, block = np.arange(BLOCK), np.arange(_PIECE)
    far, farther = place[:, None] - place, block[:, None] - block
    within = np.where(far >= 0, share ** np.maximum(far, 0), 0.0) * (1 - share)
    between = np.where(farther >= 0, share ** (BLOCK * np.maximum(farther, 0)), 0.0)
    before, ends = np.power(share, place + 1.0), np.power(share, BLOCK * (block + 1.0))
    return _Weights(*(part.astype(np.float64) for part in (within, before, between, ends)))


def window_length(share: float) -> int:
    """Number of past values with a non-negligible weight."""
    return math.ceil(math.log(_NEGLIGIBLE) / math.log(share)) if share > 0 else 0


def smooth(values: Array, share: float, first: int = 0, last: int | None = None) -> Array:
    """Exponential moving average with decay `share` (0 to below 1) of the values from `first` to before `last`.

    Bias-corrected at the start. Non-finite values are skipped; the result is NaN once all finite values have a
    negligible weight.
    """
    last = len(values) if last is None else last
    if share <= 0:
        return values[first:last]
    begin = max(_known_before(values, first) - window_length(share), 0)
    wanted = values[begin:last]
    whole = np.concatenate([wanted, np.full(-len(wanted) % BLOCK, np.nan)])
    # Values before `begin` have a negligible weight.
    parts = [part.T.ravel() for part in _means(whole, share, [0.0, 0.0])]
    found = np.concatenate(parts) if parts else wanted
    return found[first - begin : len(wanted)]


def smooth_at(values: Array, share: float, place: int) -> float:
    """The smoothed value at one index."""
    return float(smooth(values, share, place, place + 1)[0])


def _known_before(values: Array, place: int) -> int:
    """Index of the last finite value at or before an index; 0 if there is none."""
    end, size = place + 1, BLOCK
    while end > 0:
        known = np.flatnonzero(np.isfinite(values[max(end - size, 0) : end]))
        if len(known):
            return max(end - size, 0) + int(known[-1])
        end, size = end - size, 2 * size
    return 0


class SmoothedBlocks:
    """Minima and maxima of the smoothed curve in blocks of 8 values, computed in steps of 64 values."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._low, self._high = GrowableArray(), GrowableArray()
        self._sums = [0.0, 0.0]
        self.extremes = MinMaxPyramid(self._low, self._high)

    def __len__(self) -> int:
        """Number of values covered."""
        return len(self._low) * FACTOR**LEVEL

    def follow(self, values: Array) -> None:
        """Add the values that are new since the last call."""
        for means in _means(values[len(self) : len(values) // BLOCK * BLOCK], self.share, self._sums):
            small = means.reshape(FACTOR, FACTOR, -1)
            self._low.extend(np.fmin.reduce(small, axis=1).T.ravel())
            self._high.extend(np.fmax.reduce(small, axis=1).T.ravel())


def _means(values: Array, share: float, sums: list[float]) -> Iterator[Array]:
    """Yield smoothed values of complete blocks, as (position, block) arrays.

    Args:
        sums: weighted sums of the preceding values and of their weights; updated in place
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
    """Weighted sums at all positions, and the last one."""
    weights, count = _weights(share), blocks.shape[1]
    found = weights.within @ blocks
    ends = weights.between[:count, :count] @ found[-1] + before * weights.ends[:count]
    found += weights.before[:, None] * np.concatenate([[before], ends[:-1]])
    return found, float(ends[-1])


__all__ = ["BLOCK", "LEVEL", "SmoothedBlocks", "window_length", "smooth", "smooth_at"]
