"""Long file operations on runs: one at a time, in a background thread, with cancel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, Signal

from studio.document.document_errors import FileError
from studio.training.runs.run_export import ExportProgress
from studio.ui.background_task import BackgroundTask


class FileJobs(QObject):
    changed = Signal()
    """An operation was started, canceled or has ended."""
    progressed = Signal(float)
    """Completed share, 0 to 1."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.title = ""
        """Title of the current operation; empty if there is none."""
        self._cancel = threading.Event()
        self._background: BackgroundTask | None = None
        self._on_finished: Callable[[FileError | None], object] = lambda _: None
        self._error: FileError | None = None

    @property
    def is_busy(self) -> bool:
        return self._background is not None

    @property
    def is_canceled(self) -> bool:
        """Whether the operation was canceled; it may still be running its cleanup."""
        return self._cancel.is_set()

    def start(self, title: str, work: ExportProgress, on_finished: Callable[[FileError | None], object]) -> None:
        """Start an operation. `on_finished` gets its error, if any, when it has ended."""
        assert not self.is_busy, "an operation is already running"
        self.title, self._on_finished, self._error = title, on_finished, None
        self._cancel = threading.Event()
        self._background = BackgroundTask(_watched(work, self._cancel), self)
        self._background.item_ready.connect(self._take_item)
        self._background.ended.connect(self._end)
        self._background.start()
        self.changed.emit()

    def cancel(self) -> None:
        """Cancel the operation and remove partial results."""
        self._cancel.set()
        self.changed.emit()

    def close(self) -> None:
        """Cancel and wait for the cleanup."""
        self._cancel.set()
        if self._background is not None:
            self._background.close()

    def _take_item(self, item: object) -> None:
        if isinstance(item, FileError):
            self._error = item
        elif isinstance(item, float):
            self.progressed.emit(item)

    def _end(self) -> None:
        assert self._background is not None
        self._background.deleteLater()
        self._background, self.title = None, ""
        self._on_finished(self._error)
        self.changed.emit()


def _watched(work: ExportProgress, cancel: threading.Event) -> Iterator[object]:
    """Progress of `work` until it ends or is canceled; then its error, if any. Runs in the thread."""
    try:
        for share in work:
            if cancel.is_set():
                break
            yield share
    except FileError as error:
        yield error
    finally:
        work.close()


__all__ = ["FileJobs"]
