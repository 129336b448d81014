"""The range of inputs or targets, from some training samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.data.samples import Samples, Side
from engine.shape import Spec

INPUTS_READ, TARGETS_READ = 256, 4096
"""Number of evenly spaced training samples that a check reads."""
MAX_VALUES = 2_000_000
"""Maximum number of values of these samples."""
MAX_DISTINCT = 8
"""Maximum number of different values that are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueRange:
    """Values of inputs or targets of some training samples."""

    samples: int
    values: NDArray[np.float64]
    """All finite values, in ascending order."""

    @property
    def low(self) -> float:
        return float(self.values[0])

    @property
    def high(self) -> float:
        return float(self.values[-1])

    @property
    def distinct(self) -> tuple[float, ...]:
        """The different values; empty if there are more than `MAX_DISTINCT`."""
        found = np.unique(self.values)
        return tuple(found.tolist()) if len(found) <= MAX_DISTINCT else ()

    def share_outside(self, low: float, high: float) -> float:
        """Fraction of the values below `low` or above `high`."""
        below = int(np.searchsorted(self.values, low, "left"))
        above = len(self.values) - int(np.searchsorted(self.values, high, "right"))
        return (below + above) / len(self.values)


def measure_range(samples: Samples, on: Side, sample: Spec) -> ValueRange | None:
    """Measure inputs or targets; None for a stream, without samples, or if shapes differ between samples.

    Args:
        sample: shape and type of an input or target of one sample
    """
    if samples.stream is not None or not len(samples) or sample.is_open:
        return None
    size = math.prod(size for size in sample.shape if isinstance(size, int))
    count = min(INPUTS_READ if on == "inputs" else TARGETS_READ, max(MAX_VALUES // max(size, 1), 1))
    rows = np.unique(np.linspace(0, len(samples) - 1, count).astype(np.int64))
    samples = samples.with_augmentations(False)
    found = samples.arrays(rows)[0] if on == "inputs" else samples.targets(rows)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        return None
    values = found.astype(np.float64).reshape(-1)
    values = np.sort(values[np.isfinite(values)])
    return ValueRange(len(rows), values) if len(values) else None


__all__ = ["ValueRange", "measure_range"]
