"""The dialog that exports the network of a project as an artifact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices
from PySide6.QtWidgets import QCheckBox, QDialog, QFormLayout, QHBoxLayout, QVBoxLayout, QWidget

from engine.errors import EngineError
from engine.export.artifact_records import ARTIFACT_SUFFIX
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.export import ExportError
from studio.export.artifact_export import ARTIFACT_STAGES, artifact_steps
from studio.lowering.check import check
from studio.lowering.program import LoweringError
from studio.nodes.catalogue import Catalogue
from studio.ui import dialogs
from studio.ui.project.project import Project
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label
from studio.ui.window.export_status import ExportResult, ExportStatus, weights_choice

_ABOUT = (
    "Writes one file with the network and its weights, which engine.export.load runs without the project and its code."
)


class ArtifactDialog(QDialog):
    """Exports an artifact in a background thread. Closing the dialog cancels the export."""

    closed = Signal()

    def __init__(self, project: Project, parent: QWidget) -> None:
        super().__init__(parent)
        self._store = project.store
        self._target = Path()
        self.setWindowTitle("Export artifact")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.weights = weights_choice(project)
        self.file = LineEdit(str(self._suggestion()))
        self.file.setAccessibleName("File")
        self.browse = buttons.text_button("Browse…", self._browse)
        self.replaces = QCheckBox("Replace an earlier file")
        self.status = ExportStatus(ARTIFACT_STAGES, self)
        self.status.ended.connect(self._end)
        self.open_button = buttons.text_button("Open folder", self._open)
        self.open_button.hide()
        self.close_button = buttons.text_button("Cancel", self.close)
        self.export_button = buttons.text_button("Export", self._start, kind="primary")
        self.export_button.setDefault(True)
        self._arrange()
        self.resize(560, self.sizeHint().height())
        self.weights.setFocus()

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
        column.addWidget(label("Export artifact", "heading"))
        column.addWidget(label(_ABOUT, "dim", wrap=True))
        file = QHBoxLayout()
        file.setSpacing(8)
        file.addWidget(self.file, 1)
        file.addWidget(self.browse)
        form = QFormLayout()
        form.setSpacing(8)
        form.addRow("Weights", self.weights)
        form.addRow("File", file)
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

    def _suggestion(self) -> Path:
        path = self._store.path
        return (Path.home() / self._store.name if path is None else path).with_suffix(ARTIFACT_SUFFIX)

    def _browse(self) -> None:
        path = dialogs.artifact_to_save(self, Path(self.file.text()))
        if path is not None:
            self.file.setText(str(path))
            self.replaces.setChecked(path.exists())  # the file dialog has asked

    def _start(self) -> None:
        problem = self._read_target()
        if problem:
            self.status.show_message(problem, "error")
            self.file.setFocus()
            return
        weights = self.weights.currentData()
        self._set_enabled(False)
        self.open_button.hide()
        self.close_button.setFocus()
        self.status.start(
            _export(
                self._store.document,
                self._store.catalogue,
                self._store.name,
                self._store.base,
                None if weights is None else Path(weights),
                self._target,
            )
        )

    def _read_target(self) -> str:
        """Take over the file name; returns why it cannot be used."""
        text = self.file.text().strip()
        if not text:
            return "Enter a file name."
        self._target = Path(text).expanduser()
        if self._target.suffix != ARTIFACT_SUFFIX:
            return f"The file name must end in {ARTIFACT_SUFFIX}."
        if self._target.exists() and not self.replaces.isChecked():
            return f"{self._target.name} exists. Enter another name, or select “Replace an earlier file”."
        return ""

    def _end(self) -> None:
        self._set_enabled(True)
        self.close_button.setText("Close")
        self.open_button.setVisible(self.status.has_succeeded)
        (self.open_button if self.status.has_succeeded else self.export_button).setFocus()

    def _set_enabled(self, is_enabled: bool) -> None:
        for widget in (self.weights, self.file, self.browse, self.replaces, self.export_button):
            widget.setEnabled(is_enabled)

    def _open(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._target.parent)))


def _export(
    document: Document, catalogue: Catalogue, name: str, base: Path | None, weights: Path | None, target: Path
) -> Iterator[object]:
    """The stages of an export, and its result. Runs in the thread."""
    try:
        report = check(document, catalogue, base)
        found = yield from artifact_steps(report, target, name=name, base=base, weights=weights)
    except (ExportError, LoweringError, EngineError, FileError, OSError) as error:
        yield ExportResult(str(error), is_error=True)
        return
    compared = found.verification
    note = f" It has no preprocessing: {found.without_preprocessing}." if found.without_preprocessing else ""
    yield ExportResult(
        f"Exported {target.name} ({found.artifact.source.size / 1e6:.2f} MB). Compared on {compared.samples} samples: "
        f"largest difference {compared.absolute:.2g}, relative {compared.relative:.2g}.{note}"
    )


__all__ = ["ArtifactDialog"]
