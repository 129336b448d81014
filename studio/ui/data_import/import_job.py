"""Work in a background thread with progress that can be cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError

_REPORT_INTERVAL = 0.05
"""Minimum seconds between two progress signals."""


class _Cancelled(Exception):  # noqa: N818 - ends the work, not an error
    pass


class ImportJob(QObject):
    """Runs a function once. After `cancel` no signal is emitted."""

    progressed = Signal(float)
    """The finished fraction."""
    succeeded = Signal(object)
    """The result."""
    failed = Signal(str)
    """Why there is no result."""
    _ended = Signal(object, str)

    def __init__(self, work: Callable[[Callable[[float], None]], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = work
        self._is_cancelled = False
        self._reported = 0.0
        self._ended.connect(self._on_ended)
        self._thread = threading.Thread(target=self._run, name="gradwire-import", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        self._is_cancelled = True

    def wait(self, seconds: float = 5.0) -> None:
        """Wait for the thread after `cancel`."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        try:
            result, problem = self._work(self._report), ""
        except _Cancelled:
            return
        except (EngineError, OSError, MemoryError, ValueError) as error:
            result, problem = None, str(error) or type(error).__name__
        try:
            self._ended.emit(result, problem)
        except RuntimeError:  # the dialog was closed in the meantime
            return

    def _report(self, share: float) -> None:
        if self._is_cancelled:
            raise _Cancelled
        now = time.monotonic()
        if now - self._reported < _REPORT_INTERVAL:
            return
        self._reported = now
        try:
            self.progressed.emit(share)
        except RuntimeError:
            raise _Cancelled from None

    def _on_ended(self, result: object, problem: str) -> None:
        if self._is_cancelled:
            return
        if problem:
            self.failed.emit(problem)
        else:
            self.succeeded.emit(result)
