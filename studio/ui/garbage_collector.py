"""Run Python's cyclic garbage collector in the GUI thread only.

Python collects in the thread that happens to allocate. A widget in a reference cycle would then be destroyed in the
training thread, which crashes Qt.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_INTERVAL_MS = 250
"""Milliseconds between checks. A check that finds little to collect is cheap."""


def collect_if_needed() -> None:
    """Collect the oldest generation whose threshold was exceeded."""
    counts = enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True))
    generations = [generation for generation, (count, limit) in counts if count > limit]
    if generations:
        gc.collect(max(generations))


class GarbageCollector(QObject):
    """Turns automatic collection off and collects by timer, until `stop`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(collect_if_needed)
        gc.disable()
        gc.collect()
        gc.freeze()  # modules stay loaded, so exclude them from later collections
        self._timer.start()

    def stop(self) -> None:
        """Turn automatic collection on again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
