"""Text input fields: text, paths, numbers and lists of numbers."""

from __future__ import annotations

from typing import Any

from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QAbstractSpinBox, QFileDialog, QLineEdit, QWidget

from engine.registry import Parameter
from studio.lowering.parameter_text import InvalidTextError, is_incomplete, read, shown, stepped
from studio.ui.panels.inspector.parameter_fields import Field
from studio.ui.panels.inspector.path_edit import PathEdit
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import AbstractSpinBox, Draft, LineEdit, show_start


class TypedField(Field):
    """Base class: applies every keystroke, so that shapes and figures update. Invalid text changes nothing.

    Text being typed is replaced only if the document's value changes elsewhere.
    """

    def __init__(self, parameter: Parameter, editor: QWidget, line: QLineEdit, draft: Draft) -> None:
        super().__init__(parameter, editor)
        self.line, self.draft = line, draft
        self._document_text = ""
        """Text of the document's last value."""
        self._is_emitting = False
        self.accepts_copies = False
        """Whether one value per copy of a repeated block is allowed."""
        line.textEdited.connect(self._read)
        draft.reverted.connect(self._revert)

    def show_value(self, value: Any, *, is_set: bool, implied: str) -> None:
        self.line.setPlaceholderText(implied)
        before, self._document_text = self._document_text, shown(value) if is_set else ""
        is_typed_in = self.draft.is_open or self.line.hasFocus()
        if not self._is_emitting and not (is_typed_in and self._document_text == before):
            self.line.setText(self._document_text)
            show_start(self.line)

    def draft_problem(self) -> str:
        text = self.line.text()
        if text == self._document_text or not text.strip():
            return ""
        try:
            read(self.parameter, text, per_copy=self.accepts_copies)
        except InvalidTextError as error:
            return str(error)
        return ""

    def text(self) -> str:
        return self.line.text()

    def _read(self, text: str) -> None:
        self._is_emitting = True
        try:
            self.refused.emit(self._take(text))
        finally:
            self._is_emitting = False

    def _take(self, text: str) -> str:
        """Apply the text if it is valid. Returns the message if it is not."""
        if text == self.draft.start:
            self.reverted.emit()
        elif not text.strip():
            self.cleared.emit("typing")
        else:
            try:
                self.edited.emit(read(self.parameter, text, per_copy=self.accepts_copies), "typing")
            except InvalidTextError as error:
                self.reverted.emit()
                return "" if is_incomplete(self.parameter, text) else str(error)
        return ""

    def _revert(self) -> None:
        self.refused.emit("")
        self.reverted.emit()


class TextField(TypedField):
    def __init__(self, parameter: Parameter, line: LineEdit | None = None) -> None:
        line = line or LineEdit()
        super().__init__(parameter, line, line, line.draft)
        line.editingFinished.connect(self.finished)


class PathField(TextField):
    """Elides long paths at the start; the tooltip has the full path."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__(parameter, PathEdit())
        self._kind = parameter.path.kind if parameter.path else "file"
        self._row.addWidget(buttons.icon_button("folder", f"Choose {self._kind}", self._browse))

    def _browse(self) -> None:
        if path := self._ask():
            self.line.setText(path)
            self.edited.emit(path, "")

    def _ask(self) -> str:
        if self._kind == "folder":
            return QFileDialog.getExistingDirectory(self.window(), "Choose folder", self.line.text())
        suffixes = self.parameter.path.suffixes if self.parameter.path else ()
        patterns = " ".join(f"*{suffix}" for suffix in suffixes)
        kinds = f"Data files ({patterns});;All files (*)" if patterns else "All files (*)"
        return QFileDialog.getOpenFileName(self.window(), "Choose file", self.line.text(), kinds)[0]


class NumberField(TypedField):
    """A spin box that can be empty and then shows the implied value dimmed."""

    def __init__(self, parameter: Parameter) -> None:
        box = _NumberBox(self)
        super().__init__(parameter, box, box.lineEdit(), box.draft)
        self._implied: float | None = None
        self.computed: float | None = None
        """The size that a relative one, such as "4 * input", stands for."""
        box.lineEdit().setTextMargins(6, 0, 0, 0)
        box.editingFinished.connect(self.finished)

    def show_value(self, value: Any, *, is_set: bool, implied: str) -> None:
        self._implied = value if isinstance(value, (int, float)) else None
        super().show_value(value, is_set=is_set, implied=implied)

    def step(self, steps: int) -> None:
        """Step up or down from the shown or implied value."""
        new = stepped(self.parameter, self._current(), steps)
        self.line.setText(shown(new))
        self.refused.emit("")
        self.edited.emit(new, "stepping")

    def _current(self) -> float:
        try:
            value = read(self.parameter, self.line.text())
        except InvalidTextError:
            value = self._implied
        if isinstance(value, str):
            value = self.computed
        bounds = self.parameter.range
        lowest = bounds.ge if bounds is not None and bounds.ge is not None else 0
        return lowest if value is None else value


class _NumberBox(AbstractSpinBox):
    """A spin box with a free text field."""

    def __init__(self, field: NumberField) -> None:
        super().__init__()
        self._field = field

    def stepBy(self, steps: int) -> None:
        self._field.step(steps)

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        return QAbstractSpinBox.StepEnabledFlag.StepUpEnabled | QAbstractSpinBox.StepEnabledFlag.StepDownEnabled

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        return QValidator.State.Acceptable, text, position
