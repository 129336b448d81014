"""The form shown without a selection: project description, model size and training settings."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from studio.document import edits
from studio.ui import number_format
from studio.ui.panels.inspector.parameter_row import ParameterRow
from studio.ui.panels.inspector.training_form import TrainingForm
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.inputs import TextEdit
from studio.ui.widgets.labels import ElidedLabel, label, line

_LINES = 5
"""Visible lines of the description."""


class ProjectForm(QWidget):
    def __init__(self, store: ScopeStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self._store = store
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 16)
        column.setSpacing(12)
        self._name = ElidedLabel()
        self._name.setProperty("role", "heading")
        column.addWidget(self._name)
        self._folder = ElidedLabel()
        self._folder.setProperty("role", "dim")
        column.addWidget(self._folder)
        self._description = TextEdit()
        self._description.setAccessibleName("Description")
        self._description.setPlaceholderText("Project description. The first line is its title.")
        self._description.set_visible_lines(_LINES)
        self._description.textChanged.connect(self._describe)
        self._description.finished.connect(store.end_gesture)
        column.addWidget(self._description)
        column.addWidget(line())
        self._training = TrainingForm(store, self)
        column.addWidget(self._training)
        column.addWidget(line())
        column.addWidget(label("Model", "section"))
        self._figures = QGridLayout()
        self._figures.setVerticalSpacing(4)
        self._figures.setColumnStretch(1, 1)
        self._values = {title: label("", "mono") for title in ("Nodes", "Parameters", "Multiply-adds")}
        for index, (title, value) in enumerate(self._values.items()):
            self._figures.addWidget(label(title, "dim"), index, 0)
            self._figures.addWidget(value, index, 1)
        column.addLayout(self._figures)
        column.addStretch(1)
        self.refresh()

    def refresh(self) -> None:
        """Show the current document and report."""
        document, report, path = self._store.document, self._store.report, self._store.project.path
        self._name.setText(self._store.project.name)
        self._folder.setText(str(path.parent) if path else "Not saved yet")
        if self._description.toPlainText() != document.description:
            self._description.blockSignals(True)
            self._description.setPlainText(document.description)
            self._description.blockSignals(False)
        self._training.refresh()
        self._values["Nodes"].setText(number_format.count(len(document.nodes)))
        self._values["Parameters"].setText(number_format.count(report.parameters))
        self._values["Multiply-adds"].setText(f"{number_format.macs(report.macs)} per sample")

    @property
    def rows(self) -> dict[str, ParameterRow]:
        """Rows of the training settings, by name."""
        return self._training.rows

    def _describe(self) -> None:
        text = self._description.toPlainText()
        if self._description.document().isModified():
            self._store.edit(
                "Edit description", lambda document: edits.set_description(document, text), merge="description"
            )
        else:
            self._store.revert_gesture("description")
