"""Collects Python's garbage in the UI thread only.

Python collects in whichever thread happens to allocate. A widget that is part of a reference cycle would then be
destroyed in the training thread, which Qt does not survive.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_INTERVAL = 250
"""Milliseconds between looks; a look that finds little to do costs nothing."""


class GarbageCollector(QObject):
    """While it lives and until `stop`, the automatic collection is off and a timer does its work."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self, interval=_INTERVAL)
        self._timer.timeout.connect(self.look)
        gc.disable()
        gc.collect()
        gc.freeze()  # modules and their like stay for good: no need to look at them again
        self._timer.start()

    def look(self) -> None:
        """Collect the oldest generation whose threshold has been passed."""
        ages = enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True))
        due = [age for age, (count, limit) in ages if count > limit]
        if due:
            gc.collect(max(due))

    def stop(self) -> None:
        """Leave collecting to Python again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
