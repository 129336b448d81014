"""Chooses how often the window polls a running training, so that refreshes take at most a few percent of the time."""

from __future__ import annotations

import time

MAX_SHARE, SHORT_BATCH_MAX_SHARE = 0.03, 0.015
"""Maximum share of the time that refreshes may take. It is smaller for short batches: they run mostly Python code, so
they wait for the GIL during a refresh and then find the CPU caches cold."""
SHORT_BATCH_SECONDS = 0.01
"""Batches below this duration in seconds are short."""
MIN_MS, MAX_MS, SHORT_BATCH_MAX_MS = 50, 500, 1000
_SMOOTHING = 0.5
"""Weight of the previous estimate in the moving average of the refresh cost."""


class RefreshInterval:
    """Derives the interval between refreshes from the CPU time that the GUI thread spends on them."""

    def __init__(self) -> None:
        self._cost = 0.0
        """Moving average of the CPU seconds per refresh, including painting."""
        self._last_thread_time = time.thread_time()

    def next_ms(self, batch_seconds: float | None = None) -> int:
        """Milliseconds until the next refresh. Call it once per refresh, in the GUI thread.

        Args:
            batch_seconds: duration of a batch, if known
        """
        now = time.thread_time()
        spent, self._last_thread_time = now - self._last_thread_time, now
        self._cost = _SMOOTHING * self._cost + (1 - _SMOOTHING) * spent
        is_short = batch_seconds is not None and batch_seconds < SHORT_BATCH_SECONDS
        share, longest = (SHORT_BATCH_MAX_SHARE, SHORT_BATCH_MAX_MS) if is_short else (MAX_SHARE, MAX_MS)
        return round(min(max(1000 * self._cost / share, MIN_MS), longest))


__all__ = [
    "MAX_MS",
    "MAX_SHARE",
    "MIN_MS",
    "SHORT_BATCH_MAX_MS",
    "SHORT_BATCH_MAX_SHARE",
    "SHORT_BATCH_SECONDS",
    "RefreshInterval",
]
