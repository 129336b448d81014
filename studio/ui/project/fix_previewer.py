"""Previews a fix: what it changes, and how many problems are left, checked on a copy of the document."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from studio.lowering.problems.fix_effect import FixEffect, effect_of
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.report import Report
from studio.ui.number_format import count

if TYPE_CHECKING:
    from studio.document.model import Document

_DELAY_MS = 120
"""Delay before the check, so that moving the pointer over several buttons checks only the last."""


class FixPreviewer(QObject):
    """Holds the previewed fix. Canvas and tooltips observe it.

    Args:
        document: returns the current document
        report: returns its report
        check: checks a document in another thread
    """

    changed = Signal()
    """Another fix is previewed, or its check has finished."""
    _checked = Signal(object, object)

    def __init__(
        self,
        document: Callable[[], Document],
        report: Callable[[], Report],
        check: Callable[[Document], Future[Report]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._document, self._report, self._check = document, report, check
        self._is_closed = False
        self.measured_text: Callable[[Fix], str] = lambda fix: ""
        """What a trial measured of a fix; empty if nothing was."""
        self.recommended: Callable[[Problem], Problem] = lambda problem: problem
        """The problem with the fix that trained best."""
        self.fix: Fix | None = None
        self.effect: FixEffect | None = None
        self.after: Report | None = None
        """Report of the document after the fix, once it is checked."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DELAY_MS)
        self._timer.timeout.connect(self._begin_check)
        self._checked.connect(self._on_checked, Qt.ConnectionType.QueuedConnection)

    def close(self) -> None:
        """End the preview. Widgets that get the focus while the project is closed begin no other."""
        self.end()
        self._is_closed = True

    def begin(self, fix: Fix) -> None:
        """Preview a fix in place of any other."""
        if fix is self.fix or self._is_closed:
            return
        self.fix, self.after = fix, None
        self.effect = effect_of(fix, self._document())
        self._timer.start()
        self.changed.emit()

    def end(self, fix: Fix | None = None) -> None:
        """End the preview; of a certain fix only if it is the previewed one."""
        if self.fix is None or (fix is not None and fix is not self.fix):
            return
        self._timer.stop()
        self.fix = self.effect = self.after = None
        self.changed.emit()

    @property
    def lines(self) -> list[str]:
        """What the fix changes, and its result."""
        if self.effect is None:
            return ["This fix can no longer be applied."]
        measured = "" if self.fix is None else self.measured_text(self.fix)
        return [*self.effect.lines(self._report(), self.after), self.result, *([measured] if measured else [])]

    @property
    def result(self) -> str:
        """How many problems are left."""
        if self.after is None:
            return "Checking the result…"
        errors, warnings = len(self.after.errors), len(self.after.warnings)
        if not errors and not warnings:
            return "Leaves no problems."
        parts = [count(number, noun) for number, noun in ((errors, "errors"), (warnings, "warnings")) if number]
        return f"Leaves {' and '.join(parts)}."

    def _begin_check(self) -> None:
        if self.effect is not None:
            document = self.effect.document
            self._check(document).add_done_callback(partial(self._deliver, document))

    def _deliver(self, document: Document, future: Future[Report]) -> None:
        """Runs in the thread of the check."""
        if not future.cancelled() and future.exception() is None:
            try:
                self._checked.emit(document, future.result())
            except RuntimeError:  # the project was closed in the meantime
                return

    def _on_checked(self, document: Document, report: Report) -> None:
        if self.effect is not None and document is self.effect.document:
            self.after = report
            self.changed.emit()


__all__ = ["FixPreviewer"]
