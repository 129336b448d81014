"""Checks edited code off the GUI thread. Only the newest text is checked."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QObject, Signal

from studio.document.model import Document
from studio.lowering.source_import.source_errors import SourceError

Apply: TypeAlias = Callable[[str], Document]
"""Returns the document for an edited text, or raises SourceError."""


class DraftChecker(QObject):
    checked = Signal(str, object)
    """A text, and the Document that it makes or the SourceError that refuses it."""
    _finished = Signal(str, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="code")
        self._next: tuple[str, Apply] | None = None
        self._busy = False
        self._finished.connect(self._deliver)
        self.destroyed.connect(partial(self._pool.shutdown, wait=False))

    def request(self, text: str, apply: Apply) -> None:
        """Check a text after the current one."""
        self._next = (text, apply)
        if not self._busy:
            self._begin()

    def _begin(self) -> None:
        if self._next is None:
            return
        text, apply = self._next
        self._next = None
        self._busy = True
        self._pool.submit(_outcome, text, apply).add_done_callback(partial(self._finish, text))

    def _finish(self, text: str, future: Future[Document | SourceError]) -> None:
        """Runs in the worker thread."""
        try:
            self._finished.emit(text, future.result())
        except RuntimeError:
            return  # the panel was closed in the meantime

    def _deliver(self, text: str, outcome: Document | SourceError) -> None:
        self._busy = False
        self.checked.emit(text, outcome)
        self._begin()


def _outcome(text: str, apply: Apply) -> Document | SourceError:
    try:
        return apply(text)
    except SourceError as error:
        return error
    except Exception as error:  # noqa: BLE001 - an exception must not crash the editor
        return SourceError(
            f"The code cannot be read: {type(error).__name__}: {error}. This is a bug; please report it."
        )


__all__ = ["DraftChecker"]
