"""The dialog that exports a project as a Python package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices
from PySide6.QtWidgets import QCheckBox, QDialog, QFormLayout, QHBoxLayout, QVBoxLayout, QWidget

from engine.errors import EngineError
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.export import LIBRARIES, STAGES, TARGETS, ExportError, ExportRequest, Target, export_steps
from studio.lowering.check import check
from studio.lowering.program import LoweringError
from studio.nodes.catalogue import Catalogue
from studio.ui import dialogs
from studio.ui.project.project import Project
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import ComboBox, LineEdit
from studio.ui.widgets.labels import label
from studio.ui.window.export_status import ExportResult, ExportStatus, weights_choice

_ABOUT = (
    "Writes a folder with the model, the data, the training loop and the weights, as a program to read and to change."
)


class ExportDialog(QDialog):
    """Exports a project in a background thread. Closing the dialog cancels the export."""

    closed = Signal()

    def __init__(self, project: Project, parent: QWidget) -> None:
        super().__init__(parent)
        self._store = project.store
        self._folder = Path()
        self.setWindowTitle("Export as Python")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.target = ComboBox()
        for target in TARGETS:
            self.target.addItem(LIBRARIES[target], target)
        self.target.setAccessibleName("Library")
        self.weights = weights_choice(project)
        self.folder = LineEdit(str(self._suggestion("pytorch")))
        self.folder.setAccessibleName("Folder")
        self.browse = buttons.text_button("Browse…", self._browse)
        self.replaces = QCheckBox("Replace an earlier package")
        self.status = ExportStatus(STAGES, self)
        self.status.ended.connect(self._end)
        self.open_button = buttons.text_button("Open folder", self._open)
        self.open_button.hide()
        self.close_button = buttons.text_button("Cancel", self.close)
        self.export_button = buttons.text_button("Export", self._start, kind="primary")
        self.export_button.setDefault(True)
        self.target.currentIndexChanged.connect(self._show_suggestion)
        self._arrange()
        self.resize(560, self.sizeHint().height())
        self.target.setFocus()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.status.cancel()
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
        column.addWidget(self.status)
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
            self.status.show_message("Enter a folder.", "error")
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
        self.close_button.setFocus()
        self.status.start(work)

    def _end(self) -> None:
        self._set_enabled(True)
        self.close_button.setText("Close")
        self.open_button.setVisible(self.status.has_succeeded)
        (self.open_button if self.status.has_succeeded else self.export_button).setFocus()

    def _set_enabled(self, is_enabled: bool) -> None:
        for widget in (self.target, self.weights, self.folder, self.browse, self.replaces, self.export_button):
            widget.setEnabled(is_enabled)

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
        yield ExportResult(str(error), is_error=True)
    else:
        yield ExportResult(f"Exported {len(files)} files to {folder}. Next: python train.py")


__all__ = ["ExportDialog"]
