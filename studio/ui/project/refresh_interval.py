"""How often the window looks at a training: as often as it can while training keeps nearly all of the time."""

from __future__ import annotations

import time

SHARE, QUICK_SHARE = 0.03, 0.015
"""Of the time, for showing a training; and one of quick batches. Python runs one thread at a time: long batches compute
meanwhile, but what the window takes, quick ones lose, and as much again until all is back in the caches."""
QUICK = 0.01
"""Seconds of a batch that is quick."""
QUICKEST_MS, SLOWEST_MS, QUICK_SLOWEST_MS = 50, 500, 1000
_SMOOTHING = 0.5
"""How much of the last estimate stays in the next one."""


class RefreshInterval:
    """Turns what the window's thread computes between two looks into the time until the next one."""

    def __init__(self) -> None:
        self._seconds = 0.0
        """That a look costs, with all the painting that comes of it."""
        self._mark = time.thread_time()

    def next_ms(self, batch: float | None = None) -> int:
        """Until the next look. To be called once a look, from the window's thread.

        Args:
            batch: seconds that a batch takes, as far as is known
        """
        now = time.thread_time()
        spent, self._mark = now - self._mark, now
        self._seconds = _SMOOTHING * self._seconds + (1 - _SMOOTHING) * spent
        is_quick = batch is not None and batch < QUICK
        share, slowest = (QUICK_SHARE, QUICK_SLOWEST_MS) if is_quick else (SHARE, SLOWEST_MS)
        return round(min(max(1000 * self._seconds / share, QUICKEST_MS), slowest))


__all__ = ["QUICK", "QUICKEST_MS", "QUICK_SHARE", "QUICK_SLOWEST_MS", "SHARE", "SLOWEST_MS", "RefreshInterval"]
