"""Times of the recent training steps."""

from __future__ import annotations

from collections import deque
from statistics import median

_RECENT = 100
_LATEST = 20
"""Steps of the median of the computing time: earlier ones may have run before their kernels were compiled."""


class StepTimes:
    """Medians ignore batches that other work on the machine delays, and work that slows all parts of a step changes
    all of them."""

    def __init__(self) -> None:
        self._waiting: deque[float] = deque(maxlen=_RECENT)
        self._seconds: deque[float] = deque(maxlen=_RECENT)
        self.count = 0
        """Steps so far."""

    def add(self, waiting: float, seconds: float) -> None:
        """Add a step with the seconds that it waited for data and took in total."""
        self._waiting.append(waiting)
        self._seconds.append(seconds)
        self.count += 1

    @property
    def waiting(self) -> float:
        """Usual seconds that a step waits for data; 0 before the first."""
        return median(self._waiting) if self._waiting else 0.0

    @property
    def least_waiting(self) -> float:
        """Seconds that all but a tenth of the steps wait at least: batches that take long do so in each step."""
        ordered = sorted(self._waiting)
        return ordered[len(ordered) // 10] if ordered else 0.0

    @property
    def seconds(self) -> float:
        """Usual seconds of a step; 0 before the first."""
        return median(self._seconds) if self._seconds else 0.0

    @property
    def computing(self) -> float:
        """Usual seconds of the latest steps without waiting; 0 before the first."""
        latest = list(zip(self._seconds, self._waiting, strict=True))[-_LATEST:]
        return median(seconds - waiting for seconds, waiting in latest) if latest else 0.0


__all__ = ["StepTimes"]
