"""An input field for each kind of parameter. An empty field means the default or the inferred value."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QWidget

from engine.registry import Parameter
from studio.lowering.parameter_text import shown
from studio.ui.widgets.inputs import ComboBox


class Field(QWidget):
    """Base class: shows a value and emits the user's changes."""

    edited = Signal(object, str)
    """The new value and its gesture ("typing", "stepping"). Changes of one gesture are one undo step; "" is a separate
    step."""
    cleared = Signal(str)
    """The field was emptied: use the default or inferred value; with the gesture."""
    reverted = Signal()
    """Typing was cancelled: restore the previous value."""
    refused = Signal(str)
    """Message about invalid text, without the parameter's name; empty when the text is valid."""
    finished = Signal()
    """The field lost the focus or Enter was pressed: the next change is a new undo step."""

    def __init__(self, parameter: Parameter, editor: QWidget) -> None:
        super().__init__()
        self.parameter = parameter
        self.editor = editor
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(4)
        editor.setAccessibleName(parameter.name)
        self._row.addWidget(editor, 1)
        self.setFocusProxy(editor)

    def show_value(self, value: Any, *, is_set: bool, implied: str) -> None:
        """Show `value`; if it is not set, show `implied` dimmed."""
        raise NotImplementedError

    def draft_problem(self) -> str:
        """Message about invalid text, without the parameter's name; empty if the text is valid or unchanged."""
        return ""

    def text(self) -> str:
        """The typed text; empty for fields without text."""
        return ""

    def set_invalid(self, invalid: bool) -> None:
        """Mark the field as invalid or valid."""
        mark(self.editor, "invalid", invalid)


class BoolField(Field):
    def __init__(self, parameter: Parameter) -> None:
        self._box = QCheckBox()
        super().__init__(parameter, self._box)
        self._box.clicked.connect(self._choose)

    def show_value(self, value: Any, *, is_set: bool, implied: str) -> None:
        self._box.setTristate(value is None)
        if value is not None:
            self._box.setChecked(bool(value))

    def _choose(self, checked: bool) -> None:
        if checked is self.parameter.default:
            self.cleared.emit("")
        else:
            self.edited.emit(checked, "")


class ChoiceField(Field):
    def __init__(self, parameter: Parameter) -> None:
        self._combo = ComboBox()
        self._combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._combo.setMinimumContentsLength(6)
        super().__init__(parameter, self._combo)
        self._values: list[Any] = []
        self.offer(parameter)
        self._combo.activated.connect(self._choose)

    def offer(self, parameter: Parameter) -> None:
        """Replace the choices of the field by those of `parameter`."""
        self.parameter = parameter
        self._values = list(parameter.choices)
        if parameter.optional and None not in self._values:
            self._values.append(None)
        self._combo.clear()
        self._combo.addItems([shown(value) for value in self._values])

    def show_value(self, value: Any, *, is_set: bool, implied: str) -> None:
        self._combo.setPlaceholderText(implied)
        self._combo.setCurrentIndex(self._values.index(value) if value in self._values else -1)
        mark(self._combo, "value", "set" if is_set else "implied")

    def _choose(self, index: int) -> None:
        value = self._values[index]
        if value == self.parameter.default:
            self.cleared.emit("")
        else:
            self.edited.emit(value, "")


def mark(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet uses."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
