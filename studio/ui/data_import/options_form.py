"""Choices of an import for the whole table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from engine.data.tables.inference.table_schema import TableSchema
from studio.training.data.imports.table_import import ImportOptions
from studio.ui.data_import.labeled_field import labeled
from studio.ui.widgets.flow_layout import FlowLayout
from studio.ui.widgets.inputs import ComboBox

_TASKS = {"classes": "Classes", "number": "Number"}
_FILLS = {
    "median": "Fill with median", "mean": "Fill with mean", "most frequent": "Fill with most frequent",
    "drop": "Leave out the rows",
}  # fmt: skip
_ENCODINGS = {"one-hot": "One-hot", "index": "Index"}
_DATES = {"calendar": "Calendar", "days": "Days since 2000", "both": "Both"}


class OptionsForm(QWidget):
    options_changed = Signal()
    task_changed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.task = self._combo("Learn", _TASKS, "Whether the target is a class or a number")
        self.fill = self._combo("Missing numbers", _FILLS, "Replacement of missing numbers, from the training rows")
        self.encoding = self._combo("Categories", _ENCODINGS, "One input per category, or one number per column")
        self.dates = self._combo("Dates", _DATES, "Numbers that a date becomes")
        self.indicators = QCheckBox("Mark missing values")
        self.indicators.setToolTip("Add an input for each column with missing values, 1 where a value is missing")
        self.scale = QCheckBox("Normalize")
        self.scale.setToolTip("Scale inputs, and targets that are large numbers, to mean 0 and standard deviation 1")
        self.scale.setChecked(True)
        self._groups = {
            name: labeled(title, field)
            for name, title, field in (
                ("task", "Learn", self.task),
                ("fill", "Missing numbers", self.fill),
                ("encoding", "Categories", self.encoding),
                ("dates", "Dates", self.dates),
            )
        }
        row = FlowLayout(self)
        for widget in (*self._groups.values(), self.indicators, self.scale):
            row.addWidget(widget)
        self.task.activated.connect(lambda: self.task_changed.emit(self.task.currentData()))
        for combo in (self.fill, self.encoding, self.dates):
            combo.activated.connect(self.options_changed)
        for box in (self.indicators, self.scale):
            box.toggled.connect(self.options_changed)

    @property
    def options(self) -> ImportOptions:
        return replace(
            ImportOptions(),
            fill=self.fill.currentData(),
            indicators=self.indicators.isChecked(),
            scale=self.scale.isChecked(),
            category_encoding=self.encoding.currentData(),
            date_features=self.dates.currentData(),
        )

    def show_schema(self, schema: TableSchema) -> None:
        """Show the task, and only choices that change something."""
        self.task.setCurrentIndex(self.task.findData(schema.task))
        inputs = schema.inputs
        has_missing = any(column.missing for column in inputs)
        self._groups["fill"].setVisible(has_missing)
        self.indicators.setVisible(has_missing)
        self._groups["encoding"].setVisible(any(column.type in ("category", "text") for column in inputs))
        self._groups["dates"].setVisible(any(column.type == "date" for column in inputs))

    def _combo(self, name: str, choices: Mapping[Any, str], help: str) -> ComboBox:
        combo = ComboBox()
        combo.setAccessibleName(name)
        combo.setToolTip(help)
        for value, title in choices.items():
            combo.addItem(title, value)
        return combo
