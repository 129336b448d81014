"""Per-channel statistics of samples, accumulated over batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError


@dataclass(frozen=True, slots=True)
class ChannelMoments:
    """Count, mean, sum of squared deviations, minimum and maximum of each channel, ignoring NaN.

    Samples without dimensions have one channel.
    """

    count: NDArray[np.float64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def std(self) -> NDArray[np.float64]:
        """Population standard deviation."""
        return np.sqrt(self.squares / np.maximum(self.count, 1))

    @classmethod
    def of(cls, batches: Iterable[NDArray[Any]]) -> ChannelMoments:
        """Accumulate in one pass. Raises DataError for a channel without numbers or with an infinite number."""
        total: ChannelMoments | None = None
        for batch in batches:
            if len(batch):
                part = _of_batch(np.asarray(batch))
                total = part if total is None else total.merged(part)
        if total is None:
            raise DataError("there are no training samples to fit. Choose data with training samples.")
        for is_invalid, fault in (
            (total.count == 0, "has only missing values"),
            (~np.isfinite(total.mean), "has an infinite number"),
        ):
            if is_invalid.any():
                raise DataError(
                    f"channel {int(np.argmax(is_invalid))} (from 0) of the training data {fault}. Correct the data."
                )
        return total

    def merged(self, other: ChannelMoments) -> ChannelMoments:
        """Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979."""
        count = self.count + other.count
        divisor = np.maximum(count, 1)
        difference = other.mean - self.mean
        return ChannelMoments(
            count,
            self.mean + difference * other.count / divisor,
            self.squares + other.squares + difference**2 * self.count * other.count / divisor,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def _of_batch(batch: NDArray[Any]) -> ChannelMoments:
    channels = batch.shape[1] if batch.ndim > 1 else 1
    rows = batch.reshape(len(batch), channels, -1).swapaxes(0, 1).reshape(channels, -1).astype(np.float64)
    is_number = ~np.isnan(rows)
    count = is_number.sum(1).astype(np.float64)
    with np.errstate(invalid="ignore"):  # `of` rejects infinite numbers
        mean = np.where(is_number, rows, 0).sum(1) / np.maximum(count, 1)
        squares = np.where(is_number, (rows - mean[:, np.newaxis]) ** 2, 0).sum(1)
    return ChannelMoments(
        count, mean, squares, np.where(is_number, rows, np.inf).min(1), np.where(is_number, rows, -np.inf).max(1)
    )
