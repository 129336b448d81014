"""Fields that are typed in: texts, paths, numbers and lists of numbers."""

from __future__ import annotations

from typing import Any

from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QFileDialog, QLineEdit, QWidget

from engine.registry import Parameter
from studio.ui.panels.inspector.fields import Field
from studio.ui.panels.inspector.path_line import PathLine
from studio.ui.panels.inspector.values import ValueRefusedError, read, shown, stepped
from studio.ui.widgets import buttons


class TypedField(Field):
    """Base: reads while a person types, so that shapes and figures follow each key."""

    def __init__(self, parameter: Parameter, editor: QWidget, line: QLineEdit) -> None:
        super().__init__(parameter, editor)
        self.line = line
        line.textEdited.connect(self._read)

    def show_value(self, value: Any, *, is_set: bool, implied: str) -> None:
        self.line.setPlaceholderText(implied)
        if not self.line.hasFocus() or self._is_stale(value if is_set else None):
            self.line.setText(shown(value) if is_set else "")

    def _is_stale(self, value: Any) -> bool:
        """Whether the text, in the middle of typing, no longer says what the document says, because of undo."""
        try:
            return read(self.parameter, self.line.text()) != value
        except ValueRefusedError:
            return False

    def _read(self, text: str) -> None:
        if not text.strip():
            self.refused.emit("")
            self.cleared.emit()
            return
        try:
            value = read(self.parameter, text)
        except ValueRefusedError as error:
            self.refused.emit(str(error))
            return
        self.refused.emit("")
        self.edited.emit(value)


class TextField(TypedField):
    def __init__(self, parameter: Parameter, line: QLineEdit | None = None) -> None:
        line = line or QLineEdit()
        super().__init__(parameter, line, line)
        line.editingFinished.connect(self.finished)


class PathField(TextField):
    """Shows the end of a path that is too long, where paths differ, and all of it in a tooltip."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__(parameter, PathLine())
        self._kind = parameter.path.kind if parameter.path else "file"
        self._row.addWidget(buttons.tool("folder", f"Choose a {self._kind}", self._browse))

    def _browse(self) -> None:
        if path := self._ask():
            self.line.setText(path)
            self.edited.emit(path)
            self.finished.emit()

    def _ask(self) -> str:
        if self._kind == "folder":
            return QFileDialog.getExistingDirectory(self.window(), "Choose a folder", self.line.text())
        suffixes = self.parameter.path.suffixes if self.parameter.path else ()
        patterns = " ".join(f"*{suffix}" for suffix in suffixes)
        kinds = f"Data files ({patterns});;All files (*)" if patterns else "All files (*)"
        return QFileDialog.getOpenFileName(self.window(), "Choose a file", self.line.text(), kinds)[0]


class NumberField(TypedField):
    """A spin box that can be empty and then shows, greyed, what will be used."""

    def __init__(self, parameter: Parameter) -> None:
        box = _NumberBox(self)
        super().__init__(parameter, box, box.lineEdit())
        self._implied: float | None = None
        box.lineEdit().setTextMargins(6, 0, 0, 0)
        box.editingFinished.connect(self.finished)

    def show_value(self, value: Any, *, is_set: bool, implied: str) -> None:
        self._implied = value if isinstance(value, (int, float)) else None
        super().show_value(value, is_set=is_set, implied=implied)

    def step(self, steps: int) -> None:
        """Up or down from what the field shows or implies."""
        new = stepped(self.parameter, self._current(), steps)
        self.line.setText(shown(new))
        self.refused.emit("")
        self.edited.emit(new)

    def _current(self) -> float:
        try:
            value = read(self.parameter, self.line.text())
        except ValueRefusedError:
            value = self._implied
        bounds = self.parameter.range
        lowest = bounds.ge if bounds is not None and bounds.ge is not None else 0
        return lowest if value is None else value


class _NumberBox(QAbstractSpinBox):
    """The arrows and keys of a spin box around a free line of text."""

    def __init__(self, field: NumberField) -> None:
        super().__init__()
        self._field = field

    def stepBy(self, steps: int) -> None:
        self._field.step(steps)

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        return QAbstractSpinBox.StepEnabledFlag.StepUpEnabled | QAbstractSpinBox.StepEnabledFlag.StepDownEnabled

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        return QValidator.State.Acceptable, text, position

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Only with the focus: scrolling the form must not change numbers under the pointer."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
