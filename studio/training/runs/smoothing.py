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
def _weights(decay: float) -> _Weights:
    position, block = np.arange(BLOCK), np.arange(_PIECE)
    distance, block_distance = position[:, None] - position, block[:, None] - block
    within = np.where(distance >= 0, decay ** np.maximum(distance, 0), 0.0) * (1 - decay)
    between = np.where(block_distance >= 0, decay ** (BLOCK * np.maximum(block_distance, 0)), 0.0)
    before, ends = np.power(decay, position + 1.0), np.power(decay, BLOCK * (block + 1.0))
    return _Weights(*(part.astype(np.float64) for part in (within, before, between, ends)))


def window_length(decay: float) -> int:
    """Number of past values with a non-negligible weight."""
    return math.ceil(math.log(_NEGLIGIBLE) / math.log(decay)) if decay > 0 else 0


def smooth(values: Array, decay: float, first: int = 0, last: int | None = None) -> Array:
    """Exponential moving average with decay `decay` (0 to below 1) of the values from `first` to before `last`.

    Bias-corrected at the start. Non-finite values are skipped; the result is NaN once all finite values have a
    negligible weight.
    """
    last = len(values) if last is None else last
    if decay <= 0:
        return values[first:last]
    begin = max(_last_finite_index(values, first) - window_length(decay), 0)
    window = values[begin:last]
    padded = np.concatenate([window, np.full(-len(window) % BLOCK, np.nan)])
    # Values before `begin` have a negligible weight.
    parts = [part.T.ravel() for part in _means(padded, decay, [0.0, 0.0])]
    found = np.concatenate(parts) if parts else window
    return found[first - begin : len(window)]


def smooth_at(values: Array, decay: float, index: int) -> float:
    """The smoothed value at one index."""
    return float(smooth(values, decay, index, index + 1)[0])


def _last_finite_index(values: Array, index: int) -> int:
    """Index of the last finite value at or before an index; 0 if there is none."""
    end, size = index + 1, BLOCK
    while end > 0:
        finite = np.flatnonzero(np.isfinite(values[max(end - size, 0) : end]))
        if len(finite):
            return max(end - size, 0) + int(finite[-1])
        end, size = end - size, 2 * size
    return 0


class SmoothedBlocks:
    """Minima and maxima of the smoothed curve in blocks of 8 values, computed in steps of 64 values."""

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self._low, self._high = GrowableArray(), GrowableArray()
        self._sums = [0.0, 0.0]
        self.extremes = MinMaxPyramid(self._low, self._high)

    def __len__(self) -> int:
        """Number of values covered."""
        return len(self._low) * FACTOR**LEVEL

    def follow(self, values: Array) -> None:
        """Add the values that are new since the last call."""
        for means in _means(values[len(self) : len(values) // BLOCK * BLOCK], self.decay, self._sums):
            small = means.reshape(FACTOR, FACTOR, -1)
            self._low.extend(np.fmin.reduce(small, axis=1).T.ravel())
            self._high.extend(np.fmax.reduce(small, axis=1).T.ravel())


def _means(values: Array, decay: float, sums: list[float]) -> Iterator[Array]:
    """Yield smoothed values of complete blocks, as (position, block) arrays.

    Args:
        sums: weighted sums of the preceding values and of their weights; updated in place
    """
    for begin in range(0, len(values), BLOCK * _PIECE):
        blocks = values[begin : begin + BLOCK * _PIECE].reshape(-1, BLOCK).T
        is_finite = np.isfinite(blocks)
        if sums[1] >= _SETTLED and is_finite.all():
            means, sums[0] = _weighted(blocks, decay, sums[0])
        else:
            weighted_sums, sums[0] = _weighted(np.where(is_finite, blocks, 0.0), decay, sums[0])
            weight_sums, sums[1] = _weighted(is_finite.astype(np.float64), decay, sums[1])
            with np.errstate(invalid="ignore"):
                means = weighted_sums / np.where(weight_sums > _VANISHED, weight_sums, np.nan)
        yield means


def _weighted(blocks: Array, decay: float, before: float) -> tuple[Array, float]:
    """Weighted sums at all positions, and the last one."""
    weights, count = _weights(decay), blocks.shape[1]
    found = weights.within @ blocks
    ends = weights.between[:count, :count] @ found[-1] + before * weights.ends[:count]
    found += weights.before[:, None] * np.concatenate([[before], ends[:-1]])
    return found, float(ends[-1])


__all__ = ["BLOCK", "LEVEL", "SmoothedBlocks", "window_length", "smooth", "smooth_at"]
