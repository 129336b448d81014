"""One field for each kind of parameter. An empty field means the default, or what the wires say."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QWidget

from engine.registry import Parameter
from studio.ui.panels.inspector.parameter_text import shown
from studio.ui.widgets.inputs import ComboBox


class Field(QWidget):
    """Base: shows a value, tells when a person changed it."""

    edited = Signal(object, str)
    """The new value, and the gesture ("typing", "stepping") whose changes are one step of undo; "" for a step alone."""
    cleared = Signal(str)
    """The default, or the inferred value, is to be used again; with the gesture."""
    reverted = Signal()
    """What was typed is gone: the value from before is to be used again."""
    refused = Signal(str)
    """Why what was typed is no value, as the end of a sentence; empty when it is good again."""
    finished = Signal()
    """The field was left, or its text committed by Enter: the next change is a step of undo of its own."""

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
        """Show `value`; if it was not set by hand, show `implied` greyed instead."""
        raise NotImplementedError

    def draft_problem(self) -> str:
        """Why what is typed is no value, as the end of a sentence; empty for a value, and for that of the document."""
        return ""

    def text(self) -> str:
        """What is typed; empty in a field that is not typed in."""
        return ""

    def set_invalid(self, invalid: bool) -> None:
        """Mark the field, or take the mark away."""
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
        """Offer the choices of `parameter`, which has other choices than before."""
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
    """Set a property that the style sheet looks at."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
