"""What the inspector shows when nothing is selected: the project and how it is trained."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QGridLayout, QPlainTextEdit, QVBoxLayout, QWidget

from engine.registry import Parameter, Range
from studio.document import edits
from studio.document.model import Training
from studio.ui import figures
from studio.ui.panels.inspector.row import Row, Value
from studio.ui.store import Store
from studio.ui.widgets.labels import ElidedLabel, label, line

_SETTINGS = (
    Parameter("epochs", "int", Training().epochs, range=Range(ge=1), help="passes over the training samples"),
    Parameter("seed", "int", Training().seed, range=Range(ge=0), help="all random numbers follow from it"),
    Parameter(
        "device", "choice", Training().device, choices=("auto", "cpu", "cuda"), help="where the model is trained"
    ),
    Parameter(
        "compile", "bool", Training().compile, help="run training steps as compiled plans, which give the same numbers"
    ),
)


class ProjectForm(QWidget):
    def __init__(self, store: Store) -> None:
        super().__init__()
        self.setObjectName("page")
        self._store = store
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 16)
        column.setSpacing(12)
        self._name = label("", "heading")
        column.addWidget(self._name)
        self._place = ElidedLabel()
        self._place.setProperty("role", "dim")
        column.addWidget(self._place)
        self._description = QPlainTextEdit()
        self._description.setAccessibleName("Description")
        self._description.setPlaceholderText("What this project is about. The first line is its title.")
        self._description.setTabChangesFocus(True)
        self._description.setFixedHeight(96)
        self._description.textChanged.connect(self._describe)
        column.addWidget(self._description)
        column.addWidget(line())
        column.addWidget(label("Training", "section"))
        form = QVBoxLayout()
        form.setSpacing(6)
        self.rows = {each.name: self._row(each) for each in _SETTINGS}
        for row in self.rows.values():
            form.addWidget(row)
        column.addLayout(form)
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
        """Show what document and report say now."""
        document, report = self._store.document, self._store.report
        self._name.setText(self._store.name)
        self._place.setText(str(self._store.path.parent) if self._store.path else "Not saved yet")
        if self._description.toPlainText() != document.description:
            self._description.blockSignals(True)
            self._description.setPlainText(document.description)
            self._description.blockSignals(False)
        for name, row in self.rows.items():
            value = getattr(document.training, name)
            row.show_value(Value(value, is_set=value != row.parameter.default))
        self._values["Nodes"].setText(figures.count(len(document.nodes)))
        self._values["Parameters"].setText(figures.count(report.parameters))
        self._values["Multiply-adds"].setText(f"{figures.macs(report.macs)} per sample")

    def _row(self, parameter: Parameter) -> Row:
        def change(value: Any) -> None:
            title = f"Set {parameter.name}"
            self._store.edit(
                title,
                lambda document: edits.set_training(document, **{parameter.name: value}),
                merge=f"training:{parameter.name}",
            )

        return Row(parameter, change, lambda: change(parameter.default))

    def _describe(self) -> None:
        text = self._description.toPlainText()
        self._store.edit(
            "Edit the description", lambda document: edits.set_description(document, text), merge="description"
        )
