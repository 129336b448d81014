"""A form row: label, field, reset button, message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from engine.registry import REQUIRED, Parameter
from studio.document.blocks.block_nodes import values_per_copy
from studio.document.model import Document
from studio.lowering.parameter_text import shown
from studio.ui.panels.inspector.code_field import CodeField
from studio.ui.panels.inspector.parameter_fields import BoolField, ChoiceField, Field
from studio.ui.panels.inspector.text_fields import NumberField, PathField, TextField, TypedField
from studio.ui.project.project_store import ProjectStore
from studio.ui.widgets import buttons
from studio.ui.widgets.deferred_change import DeferredChange
from studio.ui.widgets.labels import label

LABEL_WIDTH = 112

_FIELDS: dict[str, Callable[[Parameter], Field]] = {
    "bool": BoolField,
    "choice": ChoiceField,
    "int": NumberField,
    "float": NumberField,
    "path": PathField,
}

_MAX_VALUE = 32
"""Characters of a value that the title of an edit shows."""


@dataclass(frozen=True, slots=True)
class RowState:
    """State of a row. `value` is the effective value; None if it is unknown."""

    value: Any = None
    is_set: bool = False
    is_inferred: bool = False
    is_mixed: bool = False
    computed: float | None = None
    """The size that a relative one, such as "4 * input", stands for."""

    def implied(self, parameter: Parameter) -> str:
        """Placeholder of an empty field."""
        if self.is_mixed:
            return "multiple values"
        if self.is_inferred:
            return f"{shown(self.value)} (from {_origin(parameter)})"
        if (parameter.from_input is not None or parameter.from_training) and self.value in (None, REQUIRED):
            return f"from {_origin(parameter)}"
        if parameter.required:
            return "required"
        return "none" if parameter.default is None else shown(parameter.default)


@dataclass(frozen=True, slots=True)
class ParameterEdit:
    """How a row edits the document."""

    subject: str
    """Used in undo titles: "conv.stride"."""
    set: Callable[[Document, Any], Document]
    clear: Callable[[Document], Document]
    per_copy: bool = False
    """Whether one value for each copy of a repeated block is allowed."""


class ParameterRow(QWidget):
    """A parameter of one or several nodes, or a training setting.

    Typing and arrow keys each merge into one undo step; every choice and every reset is a separate step.
    """

    def __init__(
        self,
        store: ProjectStore,
        parameter: Parameter,
        setting: ParameterEdit,
        title: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._setting = store, setting
        self.parameter = parameter
        self.field = CodeField(parameter) if parameter.is_code else _FIELDS.get(parameter.kind, TextField)(parameter)
        if isinstance(self.field, TypedField):
            self.field.accepts_copies = setting.per_copy
        self._typed_problem = ""
        self._discarded = ""
        """Message about invalid text that was discarded when the field was left."""
        self._value = RowState()
        self._settle = DeferredChange(self._forget_typed, self)
        grid = self._grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        grid.setColumnMinimumWidth(0, LABEL_WIDTH)
        grid.setColumnStretch(1, 1)
        self.title = label(title or parameter.name.replace("_", " "), wrap=True)
        self.title.setFixedWidth(LABEL_WIDTH)
        self.title.setToolTip(_tip(parameter))
        self.setToolTip(_tip(parameter))
        self._reset = buttons.icon_button(
            "reset", f"Reset {parameter.name} to its default", partial(self._clear, ""), token="text-dim", size=14
        )
        # Not in the tab order: with the keyboard, emptying the field resets it, and Tab should reach the next field.
        self._reset.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._reset.setProperty("kind", "small")
        policy = self._reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._reset.setSizePolicy(policy)
        self._problem = label("", "error", wrap=True)
        grid.addWidget(self.title, 0, 0)
        if parameter.is_code:
            grid.addWidget(self.field, 3, 0, 1, 3)
        else:
            grid.addWidget(self.field, 0, 1)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(0)
        self._buttons.addWidget(self._reset)
        grid.addLayout(self._buttons, 0, 2)
        self.computed = label("", "dim")
        self.computed.hide()
        grid.addWidget(self._problem, 1, 1, 1, 2)
        grid.addWidget(self.computed, 2, 1, 1, 2)
        self.field.edited.connect(self._set)
        self.field.cleared.connect(self._clear)
        self.field.reverted.connect(self._take_back)
        self.field.refused.connect(self._refuse)
        self.field.finished.connect(self._leave)
        self._show_problem()

    def add_button(self, button: QWidget) -> None:
        """Add a button at the end of the row."""
        self._buttons.addWidget(button)
        self._grid.setHorizontalSpacing(4)  # the row is as wide as without the button

    @property
    def is_missing(self) -> bool:
        """Whether the parameter has no value, no default and no inferred value."""
        is_computed = self.parameter.from_input is not None or self.parameter.from_training
        return self.parameter.required and not (is_computed or self._value.is_set or self._value.is_mixed)

    def show_value(self, value: RowState) -> None:
        self._value = value
        is_shown = value.is_set and not value.is_mixed
        if isinstance(self.field, NumberField):
            self.field.computed = value.computed
        self.computed.setText("" if value.computed is None else f"= {value.computed:,}")
        self.computed.setVisible(value.computed is not None)
        self.field.show_value(value.value, is_set=is_shown, implied=value.implied(self.parameter))
        self._reset.setVisible(value.is_set)
        self._show_problem()

    def draft_problem(self) -> str:
        """A complete message about invalid text; empty if the text is valid."""
        problem = self.field.draft_problem()
        if not problem:
            return ""
        text, name = self.field.text(), self.parameter.name
        return f"“{text}” is not a valid value for {self._setting.subject}: {name} {problem}. Correct it, then run."

    def show_draft(self) -> None:
        """Focus the field and show its message, also for incomplete numbers such as "1e"."""
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)
        self._refuse(self.field.draft_problem())

    def offer(self, choices: tuple[Any, ...]) -> None:
        """Replace the choices. Raises TypeError for a row without choices."""
        if not isinstance(self.field, ChoiceField):
            raise TypeError(f"{self.parameter.name} is not a choice")
        self.parameter = replace(self.parameter, choices=choices)
        self.field.offer(self.parameter)

    def _set(self, value: Any, gesture: str) -> None:
        self._store.edit(
            f"Set {self._setting.subject} to {_shortened(shown(value))}",
            lambda document: self._setting.set(document, value),
            merge=self._merge(gesture),
        )

    def _clear(self, gesture: str) -> None:
        title = f"{'Set' if gesture else 'Reset'} {self._setting.subject}"
        self._store.edit(title, self._setting.clear, merge=self._merge(gesture))

    def _take_back(self) -> None:
        self._store.revert_gesture(f"{self._setting.subject}:typing")

    def _merge(self, gesture: str) -> str | None:
        return f"{self._setting.subject}:{gesture}" if gesture else None

    def _refuse(self, problem: str) -> None:
        self._typed_problem, self._discarded = problem, ""
        self._show_problem()

    def _leave(self) -> None:
        """Discard invalid text and show the document's value."""
        self._store.end_gesture()
        self._settle.run()

    def _forget_typed(self) -> None:
        if not self.field.editor.hasFocus():
            problem, text = self.field.draft_problem(), _shortened(self.field.text())
            self._discarded = f"“{text}” was discarded: {self.parameter.name} {problem}." if problem else ""
            self._typed_problem = ""
            self.show_value(self._value)

    def _show_problem(self) -> None:
        problem = self._typed_problem
        if not problem and self._value.is_set and not self._value.is_mixed:
            each = values_per_copy(self._value.value) if self._setting.per_copy else None
            problems = map(self.parameter.problem, [self._value.value] if each is None else each)
            problem = next(filter(None, problems), "")
        self._problem.setText(f"{self.parameter.name} {problem}." if problem else self._discarded)
        self._problem.setVisible(bool(self._problem.text()))
        self.field.set_invalid(bool(problem))


def _origin(parameter: Parameter) -> str:
    return "run" if parameter.from_training else "input"


def _shortened(text: str) -> str:
    """A value for the title of an edit."""
    text = " ".join(text.split())
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…"


def _tip(parameter: Parameter) -> str:
    """Tooltip: name, help, bounds, default."""
    lines = [f"{parameter.name}: {parameter.help}" if parameter.help else parameter.name]
    if parameter.range is not None:
        lines.append(f"Must be {parameter.range}.")
    if parameter.relative_to is not None:
        lines.append("May be relative to the input: input, 4 * input, input / 2.")
    if parameter.from_input is not None:
        lines.append("Inferred from the input; a value set here must match it.")
    elif parameter.from_training:
        lines.append("Default: computed from the length of the run.")
    elif not parameter.required:
        lines.append(f"Default: {shown(parameter.default)}.")
    return "\n".join(lines)
