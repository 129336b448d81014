"""Base class of the trial dialogs: content such as a plot, progress, result, cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from studio.training.session_events import Failed
from studio.ui.background_task import BackgroundTask
from studio.ui.project.project_store import ProjectStore
from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import ElidedLabel, label


class TrialDialog(QDialog):
    """Starts immediately. Trains a copy; the project's network is not changed."""

    other_trial_requested = Signal(str)
    """Id of a command that the result suggests."""
    closed = Signal()

    def __init__(
        self,
        store: ProjectStore,
        items: Iterator[object],
        content: QWidget,
        title: str,
        about: str,
        steps: int,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.store = store
        self.document = store.document
        """Document at the start of the trial."""
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(600, 460)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(label(title, "heading"))
        column.addWidget(label(about, "dim", wrap=True))
        column.addWidget(content, 1)
        self.progress = QProgressBar()
        self.progress.setRange(0, steps)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        column.addWidget(self.progress)
        column.addLayout(self._verdict())
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self.note = ElidedLabel("")
        self.note.setProperty("role", "dim")
        self._buttons.addWidget(self.note, 1)
        self.close_button = buttons.text_button("Cancel", self.close)
        self._buttons.addWidget(self.close_button)
        self.close_button.setFocus()
        column.addLayout(self._buttons)
        self._task = BackgroundTask(items, self)
        self._task.item_ready.connect(self._take_item)
        self._task.ended.connect(self._end)
        self._task.start()

    @property
    def is_running(self) -> bool:
        return self._task.is_running

    def show_item(self, item: object) -> None:
        """Show an intermediate result, an item that the trial yielded."""
        raise NotImplementedError

    def show_result(self) -> None:
        """Show the final result. Called after the last item, also of a failed trial."""
        raise NotImplementedError

    def show_message(self, text: str, severity: Literal["ok", "warning", "error"]) -> None:
        """Show a text with the icon of a severity."""
        self._icon.set_icon(severity, severity)
        self._icon.show()
        self.verdict.setText(text)

    def add_button(self, title: str, run: Callable[[], object], *, kind: str = "") -> QPushButton:
        """Add a button before the Close button."""
        button = buttons.text_button(title, run, kind=kind)
        self._buttons.insertWidget(self._buttons.count() - 1, button)
        if kind == "primary":
            button.setDefault(True)
            button.setFocus()
        return button

    def closeEvent(self, event: QCloseEvent) -> None:
        self._task.close()
        event.accept()  # QDialog's closeEvent would call `reject`, which calls `close` again
        self.closed.emit()

    def reject(self) -> None:
        """Escape closes the dialog, like the button."""
        self.close()

    def _verdict(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        icon_column = QVBoxLayout()
        self._icon = IconWidget("info", "accent")
        self._icon.hide()
        icon_column.addWidget(self._icon)
        icon_column.addStretch(1)
        row.addLayout(icon_column)
        self.verdict = label("Loading data…", wrap=True, selectable=True)
        row.addWidget(self.verdict, 1)
        return row

    def _take_item(self, item: object) -> None:
        if isinstance(item, Failed):
            self.show_message(item.message, "error")
        else:
            self.show_item(item)

    def _end(self) -> None:
        self.progress.setValue(self.progress.maximum())
        self.progress.hide()
        self.close_button.setText("Close")
        self.show_result()


TrialFactory: TypeAlias = Callable[[ProjectStore, QWidget], TrialDialog]
"""Makes the dialog of a trial of a project, with its parent."""
