"""Run Python's cyclic garbage collector in the GUI thread only, and full collections in pauses.

Python collects in the thread that happens to allocate. A widget in a reference cycle would then be destroyed in the
training thread, which crashes Qt. A full collection takes 0.1 s with a large graph, which would be felt during an edit.
"""

from __future__ import annotations

import gc
import linecache
import time

from PySide6.QtCore import QObject, QTimer

_INTERVAL_MS = 250
"""Milliseconds between checks. A check that finds little to collect is cheap."""
_IDLE_SECONDS = 0.025
"""The GUI thread is idle if it used less CPU time between two checks. Refreshes during a training use less."""
_PAUSE = 2
"""Number of checks in a row with an idle GUI thread before a full collection."""
_LONGEST_DELAY = 40
"""Number of checks after which a full collection runs without a pause."""
_FULL = 2
"""The oldest generation."""


def collect_if_needed(oldest: int = _FULL) -> None:
    """Collect the oldest generation whose threshold was exceeded, at most `oldest`."""
    generations = [generation for generation in _exceeded() if generation <= oldest]
    if generations:
        gc.collect(max(generations))


def forget_source_lines() -> None:
    """Free the cached lines of source files: PySide reads each imported module, and keeps about 40 MB of lines.

    Tracebacks read a file again. Generated code has no file, so its lines stay.
    """
    for name in [name for name in linecache.cache if not name.startswith("<")]:
        linecache.cache.pop(name, None)


def _exceeded() -> list[int]:
    counts = enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True))
    return [generation for generation, (count, limit) in counts if count > limit]


class GarbageCollector(QObject):
    """Turns automatic collection off and collects by timer, until `stop`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self._check)
        self._cpu_seconds = time.thread_time()
        """CPU time of the GUI thread at the last check."""
        self._idle_checks = 0
        self._delayed_checks = 0
        gc.disable()
        forget_source_lines()
        gc.collect()
        gc.freeze()  # modules stay loaded, so exclude them from later collections
        self._timer.start()

    def stop(self) -> None:
        """Turn automatic collection on again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    def _check(self) -> None:
        now = time.thread_time()
        self._idle_checks = self._idle_checks + 1 if now - self._cpu_seconds < _IDLE_SECONDS else 0
        self._delayed_checks = self._delayed_checks + 1 if _FULL in _exceeded() else 0
        is_pause = self._idle_checks >= _PAUSE or self._delayed_checks > _LONGEST_DELAY
        collect_if_needed(_FULL if is_pause else _FULL - 1)
        if self._idle_checks == _PAUSE:
            forget_source_lines()
        self._cpu_seconds = time.thread_time()
