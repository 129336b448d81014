"""Consume an iterator in a background thread and emit its items in the GUI thread."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

from PySide6.QtCore import QObject, Signal

_JOIN_TIMEOUT = 5.0
"""Maximum time to wait for the thread when closing, in seconds."""


class BackgroundTask(QObject):
    item_ready = Signal(object)
    """One item of the iterator."""
    ended = Signal()
    """The iterator is exhausted. Not emitted after `cancel`."""
    _arrived = Signal(object)

    def __init__(self, items: Iterator[object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items = items
        self._is_active = True
        self._thread = threading.Thread(target=self._work, name="gradwire-background", daemon=True)
        self._arrived.connect(self._on_arrived)

    @property
    def is_running(self) -> bool:
        return self._is_active and self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """Stop after the current item."""
        self._is_active = False

    def close(self) -> None:
        """Cancel, then wait for the thread for a few seconds."""
        self.cancel()
        if self._thread.is_alive():
            self._thread.join(_JOIN_TIMEOUT)

    def _work(self) -> None:
        try:
            for item in self._items:
                if not self._is_active:
                    return
                self._arrived.emit((item,))
            self._arrived.emit(())
        except RuntimeError:  # the window was closed in the meantime
            self._is_active = False
        finally:
            if isinstance(self._items, Generator):
                self._items.close()

    def _on_arrived(self, arrived: tuple[object, ...]) -> None:
        if not self._is_active:
            return
        if arrived:
            self.item_ready.emit(arrived[0])
        else:
            self._is_active = False
            self.ended.emit()
