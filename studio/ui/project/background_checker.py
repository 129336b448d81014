"""Checks documents off the GUI thread. Requests that arrive during a check are merged; only the newest is checked."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QObject, Qt, Signal

from studio.document.model import Document
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report

Check: TypeAlias = Callable[[Document, Path | None], Report]


class BackgroundChecker(QObject):
    checked = Signal(object, object)
    """A Document and its Report."""
    _finished = Signal(object, object)

    def __init__(self, check: Check, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._check = check
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="check")
        self._next_request: tuple[Document, Path | None] | None = None
        self._busy = False
        # Queued: the callback of a future that is already done runs in the thread that adds it, within `request`.
        self._finished.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def request(self, document: Document, base: Path | None) -> None:
        """Check `document` after the current check; relative paths are resolved against `base`."""
        self._next_request = (document, base)
        if not self._busy:
            self._begin()

    def request_report(self, document: Document, base: Path | None) -> Future[Report]:
        """Check `document` after the current check. Unlike with `request`, a newer request does not replace this."""
        return self._pool.submit(self._check, document, base)

    def close(self) -> None:
        """Wait for the current check and start no other."""
        self._next_request = None
        self._pool.shutdown(wait=True)

    def _begin(self) -> None:
        if self._next_request is None:
            return
        document, base = self._next_request
        self._next_request = None
        self._busy = True
        self._pool.submit(self._check, document, base).add_done_callback(partial(self._finish, document))

    def _finish(self, document: Document, future: Future[Report]) -> None:
        """Runs in the worker thread. An exception in a check must not crash the editor."""
        error = future.exception()
        self._finished.emit(document, future.result() if error is None else _failure_report(error))

    def _deliver(self, document: Document, report: Report) -> None:
        self._busy = False
        self.checked.emit(document, report)
        self._begin()


def _failure_report(error: BaseException) -> Report:
    message = (
        f"Checking the graph failed with {type(error).__name__}: {error}. This is a bug in Gradwire; please report it."
    )
    return Report(problems=(Problem("error", "check-failed", message),))
