"""The dialog that exports a project as a Python package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices
from PySide6.QtWidgets import QCheckBox, QDialog, QFormLayout, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from engine.errors import EngineError
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.export import LIBRARIES, STAGES, TARGETS, ExportError, ExportRequest, Target, export_steps
from studio.lowering.check import check
from studio.lowering.program import LoweringError
from studio.nodes.catalogue import Catalogue
from studio.ui import dialogs
from studio.ui.background_task import BackgroundTask
from studio.ui.project.project import Project
from studio.ui.widgets import buttons
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.inputs import ComboBox, LineEdit
from studio.ui.widgets.labels import label

_ABOUT = (
    "Writes a folder with the model, the data, the training loop and the weights, as a program to read and to change."
)


@dataclass(frozen=True, slots=True)
class _Exported:
    """The files of a package that was written."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Failed:
    message: str


class ExportDialog(QDialog):
    """Exports a project in a background thread. Closing the dialog cancels the export."""

    closed = Signal()

    def __init__(self, project: Project, parent: QWidget) -> None:
        super().__init__(parent)
        self._store = project.store
        self._task: BackgroundTask | None = None
        self._folder = Path()
        self.setWindowTitle("Export as Python")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.target = ComboBox()
        for target in TARGETS:
            self.target.addItem(LIBRARIES[target], target)
        self.target.setAccessibleName("Library")
        self.weights = ComboBox()
        self.weights.addItem(f"Initial weights (seed {self._store.document.training.seed})", None)
        for run in project.library.runs:
            if run.folder is not None:
                self.weights.addItem(f"Last weights of {run.name}", str(run.folder))
        self.weights.setAccessibleName("Weights")
        self.folder = LineEdit(str(self._suggestion("pytorch")))
        self.folder.setAccessibleName("Folder")
        self.browse = buttons.text_button("Browse…", self._browse)
        self.replaces = QCheckBox("Replace an earlier package")
        self.progress = QProgressBar()
        self.progress.setRange(0, len(STAGES))
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self.progress.hide()
        self._icon = IconWidget("info", "accent")
        self._icon.hide()
        self.message = label("", wrap=True, selectable=True)
        self.open_button = buttons.text_button("Open folder", self._open)
        self.open_button.hide()
        self.close_button = buttons.text_button("Cancel", self.close)
        self.export_button = buttons.text_button("Export", self._start, kind="primary")
        self.export_button.setDefault(True)
        self.target.currentIndexChanged.connect(self._show_suggestion)
        self._arrange()
        self.resize(560, self.sizeHint().height())
        self.target.setFocus()

    @property
    def is_running(self) -> bool:
        return self._task is not None and self._task.is_running

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._task is not None:
            self._task.close()
        event.accept()
        self.closed.emit()

    def reject(self) -> None:
        """Escape closes the dialog, like the button."""
        self.close()

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(label("Export as Python", "heading"))
        column.addWidget(label(_ABOUT, "dim", wrap=True))
        folder = QHBoxLayout()
        folder.setSpacing(8)
        folder.addWidget(self.folder, 1)
        folder.addWidget(self.browse)
        form = QFormLayout()
        form.setSpacing(8)
        form.addRow("Library", self.target)
        form.addRow("Weights", self.weights)
        form.addRow("Folder", folder)
        form.addRow("", self.replaces)
        column.addLayout(form)
        column.addWidget(self.progress)
        result = QHBoxLayout()
        result.setSpacing(8)
        result.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        result.addWidget(self.message, 1)
        column.addLayout(result)
        column.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        for button in (self.open_button, self.close_button, self.export_button):
            row.addWidget(button)
        column.addLayout(row)

    def _suggestion(self, target: Target) -> Path:
        path = self._store.path
        folder = path.parent if path is not None else Path.home()
        name = "_".join("".join(each if each.isalnum() else " " for each in self._store.name.lower()).split())
        return folder / f"{name or 'project'}_{target}"

    def _show_suggestion(self) -> None:
        """Follow the library, unless the user has chosen another folder."""
        if self.folder.text() in {str(self._suggestion(target)) for target in TARGETS}:
            self.folder.setText(str(self._suggestion(self.target.currentData())))

    def _browse(self) -> None:
        folder = dialogs.folder_to_export(self, Path(self.folder.text()).parent)
        if folder is not None:
            self.folder.setText(str(folder))

    def _start(self) -> None:
        text = self.folder.text().strip()
        if not text:
            self._show("Enter a folder.", "error")
            self.folder.setFocus()
            return
        self._folder = Path(text).expanduser()
        weights = self.weights.currentData()
        work = _export(
            self._store.document,
            self._store.catalogue,
            self._store.name,
            self.target.currentData(),
            self._store.base,
            None if weights is None else Path(weights),
            self._folder,
            force=self.replaces.isChecked(),
        )
        self._set_enabled(False)
        self.open_button.hide()
        self._icon.hide()
        self.progress.setValue(0)
        self.progress.show()
        self.close_button.setFocus()
        self._task = BackgroundTask(work, self)
        self._task.item_ready.connect(self._take)
        self._task.ended.connect(self._end)
        self._task.start()

    def _take(self, item: object) -> None:
        match item:
            case str() as stage:
                self.progress.setValue(STAGES.index(stage))
                self.message.setText(f"{stage}…")
            case _Exported(files=files):
                self._show(f"Exported {len(files)} files to {self._folder}. Next: python train.py", "ok")
                self.open_button.show()
            case _Failed(message=message):
                self._show(message, "error")
            case _:
                pass

    def _end(self) -> None:
        self.progress.hide()
        self._set_enabled(True)
        self.close_button.setText("Close")
        is_done = not self.open_button.isHidden()
        (self.open_button if is_done else self.export_button).setFocus()

    def _set_enabled(self, is_enabled: bool) -> None:
        for widget in (self.target, self.weights, self.folder, self.browse, self.replaces, self.export_button):
            widget.setEnabled(is_enabled)

    def _show(self, text: str, severity: Literal["ok", "error"]) -> None:
        self._icon.set_icon(severity, severity)
        self._icon.show()
        self.message.setText(text)
        announce(self, text)

    def _open(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder)))


def _export(
    document: Document,
    catalogue: Catalogue,
    name: str,
    target: Target,
    base: Path | None,
    weights: Path | None,
    folder: Path,
    *,
    force: bool,
) -> Iterator[object]:
    """The stages of an export, and its result. Runs in the thread."""
    try:
        request = ExportRequest(document, check(document, catalogue, base), name, target, base, weights)
        files = yield from export_steps(request, folder, force=force)
    except (ExportError, LoweringError, EngineError, FileError, OSError) as error:
        yield _Failed(str(error))
    else:
        yield _Exported(files)


__all__ = ["ExportDialog"]
