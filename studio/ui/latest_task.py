"""Runs a function in a worker thread, one call at a time. Of the calls that wait, only the newest is made."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QObject, Qt, Signal

_Call: TypeAlias = tuple[object, Callable[[], object]]


class LatestTask(QObject):
    """Delivers results in the GUI thread. A result is an exception if the function raised one."""

    finished = Signal(object, object)
    """The key of a request, and the result."""
    _done = Signal(object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._next: _Call | None = None
        self._current: _Call | None = None
        # Queued: the callback of a future that is already done runs in the thread that adds it, within `request`.
        self._done.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self.destroyed.connect(partial(self._pool.shutdown, wait=False))

    @property
    def is_busy(self) -> bool:
        return self._current is not None

    def request(self, key: object, function: Callable[[], object]) -> None:
        """Call a function after the current call. A newer request replaces one that waits."""
        self._next = (key, function)
        if self._current is None:
            self._begin()

    def cancel(self) -> None:
        """Deliver no result of the requests so far."""
        self._next = None
        if self._current is not None:
            self._current = (_CANCELLED, self._current[1])

    def _begin(self) -> None:
        if self._next is None:
            return
        self._current, self._next = self._next, None
        self._pool.submit(self._current[1]).add_done_callback(self._finish)

    def _finish(self, future: Future[object]) -> None:
        """Runs in the worker thread."""
        error = future.exception()
        try:
            self._done.emit(future.result() if error is None else error)
        except RuntimeError:
            return  # the owner was closed in the meantime

    def _deliver(self, result: object) -> None:
        assert self._current is not None
        key, _ = self._current
        self._current = None
        if key is not _CANCELLED:
            self.finished.emit(key, result)
        self._begin()


_CANCELLED = object()

__all__ = ["LatestTask"]
