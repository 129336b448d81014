"""How often the window looks at a training: as often as it can while training keeps nearly all of the time."""

from __future__ import annotations

import time

SHARE = 0.03
"""Of the time, for showing a training. Python runs one thread at a time: what the window takes, a training of small
batches loses."""
QUICKEST_MS, SLOWEST_MS = 50, 500
_INERTIA = 0.5
"""How much of the last estimate stays in the next one."""


class Pace:
    """Turns what the window's thread computes between two looks into the time until the next one."""

    def __init__(self) -> None:
        self._seconds = 0.0
        """That a look costs, with all the painting that comes of it."""
        self._mark = time.thread_time()

    def next_ms(self) -> int:
        """Until the next look. To be called once a look, from the window's thread."""
        now = time.thread_time()
        spent, self._mark = now - self._mark, now
        self._seconds = _INERTIA * self._seconds + (1 - _INERTIA) * spent
        return round(min(max(1000 * self._seconds / SHARE, QUICKEST_MS), SLOWEST_MS))


__all__ = ["QUICKEST_MS", "SHARE", "SLOWEST_MS", "Pace"]
