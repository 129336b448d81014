"""Base class of the trial dialogs: plot, progress, result, cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from studio.training.session_events import Failed
from studio.ui.background_task import BackgroundTask
from studio.ui.project.project_store import ProjectStore
from studio.ui.trials.trial_plot import TrialPlot
from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label


class TrialDialog(QDialog):
    """Starts immediately. Trains a copy; the project's network is not changed."""

    other_wanted = Signal(str)
    """Id of a command that the result suggests."""
    closed = Signal()

    def __init__(
        self,
        store: ProjectStore,
        items: Iterator[object],
        plot: TrialPlot,
        title: str,
        about: str,
        steps: int,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.store = store
        self.document = store.document
        """Description of the trial."""
        self.plot = plot
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(600, 460)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(label(title, "heading"))
        column.addWidget(label(about, "dim", wrap=True))
        column.addWidget(plot, 1)
        self.progress = QProgressBar()
        self.progress.setRange(0, steps)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        column.addWidget(self.progress)
        column.addLayout(self._verdict())
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self._buttons.addStretch(1)
        self.leave = buttons.text_button("Cancel", self.close)
        self._buttons.addWidget(self.leave)
        column.addLayout(self._buttons)
        self._task = BackgroundTask(items, self)
        self._task.item_ready.connect(self._take_item)
        self._task.ended.connect(self._end)
        self._task.start()

    @property
    def is_running(self) -> bool:
        return self._task.is_running

    def take(self, item: object) -> None:
        """Handle an item of the trial."""
        raise NotImplementedError

    def conclude(self) -> None:
        """The trial has finished."""
        raise NotImplementedError

    def say(self, text: str, icon: str = "info", token: str = "accent") -> None:
        """Show the result with an icon."""
        self._picture.set_icon(icon, token)
        self._picture.show()
        self.verdict.setText(text)

    def offer(self, title: str, run: Callable[[], object], *, kind: str = "") -> None:
        """Add a button before the Close button."""
        button = buttons.text_button(title, run, kind=kind)
        self._buttons.insertWidget(self._buttons.count() - 1, button)
        if kind == "primary":
            button.setDefault(True)
            button.setFocus()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._task.close()
        event.accept()  # not QDialog's closeEvent, which calls `reject` and stays open if that only closes
        self.closed.emit()

    def reject(self) -> None:
        """Escape closes the dialog, like the button."""
        self.close()

    def _verdict(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        pictures = QVBoxLayout()
        self._picture = IconWidget("info", "accent")
        self._picture.hide()
        pictures.addWidget(self._picture)
        pictures.addStretch(1)
        row.addLayout(pictures)
        self.verdict = label("Loading data…", wrap=True, selectable=True)
        row.addWidget(self.verdict, 1)
        return row

    def _take_item(self, item: object) -> None:
        if isinstance(item, Failed):
            self.say(item.message, "error", "error")
        else:
            self.take(item)

    def _end(self) -> None:
        self.progress.setValue(self.progress.maximum())
        self.progress.hide()
        self.leave.setText("Close")
        self.plot.fit()
        self.conclude()
