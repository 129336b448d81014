"""Progress and result of an export, which runs in a background thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from studio.ui.background_task import BackgroundTask
from studio.ui.project.project import Project
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.inputs import ComboBox
from studio.ui.widgets.labels import label


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The end of an export: what was written, or why nothing was."""

    message: str
    is_error: bool = False


class ExportStatus(QWidget):
    """Runs an export and shows its stages and its result.

    Args:
        stages: texts that the export yields, in their order
    """

    ended = Signal()

    def __init__(self, stages: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self._stages = tuple(stages)
        self._task: BackgroundTask | None = None
        self.has_succeeded = False
        self.progress = QProgressBar()
        self.progress.setRange(0, len(self._stages))
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self.progress.hide()
        self._icon = IconWidget("info", "accent")
        self._icon.hide()
        self.message = label("", wrap=True, selectable=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(self.progress)
        result = QHBoxLayout()
        result.setSpacing(8)
        result.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        result.addWidget(self.message, 1)
        column.addLayout(result)

    @property
    def is_running(self) -> bool:
        return self._task is not None and self._task.is_running

    def start(self, work: Iterator[object]) -> None:
        """Run an export, which yields its stages and at the end an `ExportResult`."""
        self.has_succeeded = False
        self._icon.hide()
        self.progress.setValue(0)
        self.progress.show()
        self._task = BackgroundTask(work, self)
        self._task.item_ready.connect(self._take)
        self._task.ended.connect(self._end)
        self._task.start()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.close()

    def show_message(self, text: str, severity: Literal["ok", "error"]) -> None:
        self._icon.set_icon(severity, severity)
        self._icon.show()
        self.message.setText(text)
        announce(self, text)

    def _take(self, item: object) -> None:
        match item:
            case str() as stage:
                self.progress.setValue(self._stages.index(stage))
                self.message.setText(f"{stage}…")
            case ExportResult(message=message, is_error=is_error):
                self.has_succeeded = not is_error
                self.show_message(message, "error" if is_error else "ok")
            case _:
                pass

    def _end(self) -> None:
        self.progress.hide()
        self.ended.emit()


def weights_choice(project: Project) -> ComboBox:
    """A list of the initial weights and the runs of a project. Its data are folders of runs, or None."""
    choice = ComboBox()
    choice.addItem(f"Initial weights (seed {project.store.document.training.seed})", None)
    for run in project.library.runs:
        if run.folder is not None:
            choice.addItem(f"Last weights of {run.name}", str(run.folder))
    choice.setAccessibleName("Weights")
    return choice


__all__ = ["ExportResult", "ExportStatus", "weights_choice"]
