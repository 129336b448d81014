"""Fields for the format of a CSV file."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from engine.data.tables.csv_dialect import Dialect
from studio.ui.data_import.labeled_field import labeled
from studio.ui.widgets.flow_layout import FlowLayout
from studio.ui.widgets.inputs import ComboBox, SpinBox

_SEPARATORS = {"comma": "Comma ,", "semicolon": "Semicolon ;", "tab": "Tab", "pipe": "Pipe |", "space": "Spaces"}
_DECIMALS = {"point": "Point 1.5", "comma": "Comma 1,5"}
_ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 little-endian",
    "utf-16-be": "UTF-16 big-endian",
    "windows-1252": "Windows-1252",
}


class DialectForm(QWidget):
    changed = Signal(object)
    """The format that the user chose."""

    def __init__(self) -> None:
        super().__init__()
        self._dialect = Dialect()
        self.separator = _combo("Separator", _SEPARATORS)
        self.decimal = _combo("Decimal separator", _DECIMALS)
        self.encoding = _combo("Text encoding", _ENCODINGS)
        self.skipped = SpinBox()
        self.skipped.setRange(0, 9999)
        self.skipped.setAccessibleName("Lines to skip")
        self.header = QCheckBox("Column names")
        self.header.setToolTip("The first line has the names of the columns")
        row = FlowLayout(self)
        for title, field in (
            ("Separator", self.separator),
            ("Decimal", self.decimal),
            ("Encoding", self.encoding),
            ("Skip lines", self.skipped),
        ):
            row.addWidget(labeled(title, field))
        row.addWidget(self.header)
        for combo in (self.separator, self.decimal, self.encoding):
            combo.activated.connect(self._emit)
        self.skipped.valueChanged.connect(self._emit)
        self.header.toggled.connect(self._emit)

    def show_dialect(self, dialect: Dialect) -> None:
        self._dialect = dialect
        for field in (self.skipped, self.header):
            field.blockSignals(True)
        for combo, value in (
            (self.separator, dialect.separator),
            (self.decimal, dialect.decimal),
            (self.encoding, dialect.encoding),
        ):
            combo.setCurrentIndex(combo.findData(value))
        self.skipped.setValue(dialect.skip_lines)
        self.header.setChecked(dialect.header)
        for field in (self.skipped, self.header):
            field.blockSignals(False)

    def _emit(self, *_: object) -> None:
        chosen = replace(
            self._dialect,
            separator=self.separator.currentData(),
            decimal=self.decimal.currentData(),
            encoding=self.encoding.currentData(),
            skip_lines=self.skipped.value(),
            header=self.header.isChecked(),
            skip_rows=self._dialect.skip_rows if self.header.isChecked() else 0,
        )
        if chosen != self._dialect:
            self._dialect = chosen
            self.changed.emit(chosen)


def _combo(name: str, choices: dict[str, str]) -> ComboBox:
    combo = ComboBox()
    combo.setAccessibleName(name)
    for value, title in choices.items():
        combo.addItem(title, value)
    return combo
