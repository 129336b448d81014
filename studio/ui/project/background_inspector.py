"""Looks at samples off the GUI thread after a check has settled; their problems join the report."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from studio.lowering.report import Report
from studio.training.data.data_inspector import DataInspector, Inspection
from studio.ui.project.project_store import ProjectStore

SETTLE_MS = 300
"""Time after a check without another one before samples are looked at."""


class BackgroundInspector(QObject):
    """One inspection runs at a time. Reports that arrive meanwhile are merged; only the newest is inspected."""

    finished = Signal(object)
    """The Inspection of the newest report."""
    _delivered = Signal(object, object)

    def __init__(self, store: ProjectStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.inspector = DataInspector()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="inspection")
        self._is_closed = threading.Event()
        self._seen: Report | None = None
        """The report that was inspected last, or is being inspected."""
        self._busy = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self._begin)
        self._delivered.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        store.report_changed.connect(self._schedule)
        self._schedule()

    def close(self) -> None:
        """Cancel the inspection and wait for its thread."""
        self._is_closed.set()
        self._timer.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _schedule(self, *_: object) -> None:
        if not self._is_closed.is_set() and self._store.check_report is not self._seen:
            self._timer.start()

    def _begin(self) -> None:
        report = self._store.check_report
        if self._busy or self._is_closed.is_set() or report is self._seen or report.dataflow is None:
            return
        self._busy, self._seen = True, report
        work = self._pool.submit(self.inspector.inspect, report, is_cancelled=self._is_closed.is_set)
        work.add_done_callback(partial(self._finish, report))

    def _finish(self, report: Report, work: Future[Inspection]) -> None:
        """Runs in the worker thread. An exception must not crash the editor."""
        if not self._is_closed.is_set():
            self._delivered.emit(report, Inspection() if work.cancelled() or work.exception() else work.result())

    def _deliver(self, report: Report, inspection: Inspection) -> None:
        self._busy = False
        if report.document is self._store.document and not inspection.is_cancelled:
            self._store.set_inspection(inspection)
            self.finished.emit(inspection)
        self._schedule()


__all__ = ["BackgroundInspector"]
