"""Shows the current file operation, its progress and a Cancel button."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QProgressBar, QVBoxLayout, QWidget

from studio.ui.panels.runs.file_jobs import FileJobs
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import ElidedLabel
from studio.ui.widgets.row_layout import row_of

_BAR_STEPS = 1000


class FileJobBar(QFrame):
    def __init__(self, jobs: FileJobs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.setProperty("role", "notice")
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 4, 4, 8)
        column.setSpacing(2)
        self.message = ElidedLabel()
        self.cancel = buttons.text_button("Cancel", jobs.cancel, kind="link")
        column.addLayout(row_of(self.message, self.cancel, wide=self.message))
        self.bar = QProgressBar()
        self.bar.setRange(0, _BAR_STEPS)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress")
        lower = row_of(self.bar, wide=self.bar)
        lower.setContentsMargins(0, 0, 8, 0)
        column.addLayout(lower)
        jobs.changed.connect(self._refresh)
        jobs.progressed.connect(lambda share: self.bar.setValue(round(share * _BAR_STEPS)))
        self._refresh()

    def _refresh(self) -> None:
        if not self.isVisible():
            self.bar.setValue(0)
        self.message.setText(f"{self._jobs.title}{': canceling' if self._jobs.is_canceled else ''}")
        self.cancel.setEnabled(not self._jobs.is_canceled)
        self.setVisible(self._jobs.is_busy)


__all__ = ["FileJobBar"]
