"""One line of a form: what is set, the field, the way back to the default, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from engine.registry import REQUIRED, Parameter
from studio.document.model import Document
from studio.ui.panels.inspector.parameter_fields import BoolField, ChoiceField, Field
from studio.ui.panels.inspector.parameter_text import shown
from studio.ui.panels.inspector.text_fields import NumberField, PathField, TextField
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


@dataclass(frozen=True, slots=True)
class Value:
    """What a row shows. `value` is what will be used; None if nobody knows it."""

    value: Any = None
    is_set: bool = False
    is_inferred: bool = False
    is_mixed: bool = False

    def implied(self, parameter: Parameter) -> str:
        """The greyed words of an empty field."""
        if self.is_mixed:
            return "several values"
        if self.is_inferred:
            return f"{shown(self.value)} (from {_origin(parameter)})"
        if (parameter.from_input is not None or parameter.from_training) and self.value in (None, REQUIRED):
            return f"from {_origin(parameter)}"
        if parameter.required:
            return "required"
        return "none" if parameter.default is None else shown(parameter.default)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a row changes in the document."""

    subject: str
    """As undo names it: "conv.stride"."""
    set: Callable[[Document, Any], Document]
    clear: Callable[[Document], Document]


class ParameterRow(QWidget):
    """A parameter of one or several nodes, or of the training.

    What is typed in one go is one step of undo, and so are steps by arrow keys; each choice and each reset is its own.
    """

    def __init__(self, store: ProjectStore, parameter: Parameter, setting: Setting, title: str = "") -> None:
        super().__init__()
        self._store, self._setting = store, setting
        self.parameter = parameter
        self.field = _FIELDS.get(parameter.kind, TextField)(parameter)
        self._typed_problem = ""
        self._value = Value()
        self._settle = DeferredChange(self._forget_typed, self)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        grid.setColumnMinimumWidth(0, LABEL_WIDTH)
        grid.setColumnStretch(1, 1)
        self.title = label(title or parameter.name.replace("_", " "), wrap=True)
        self.title.setFixedWidth(LABEL_WIDTH)
        self.title.setToolTip(_tip(parameter))
        self.setToolTip(_tip(parameter))
        self._reset = buttons.tool(
            "reset", f"Use the default of {parameter.name} again", partial(self._clear, ""), token="text-dim", size=14
        )
        # By the keyboard an empty field means the default; as a stop of Tab the button would take what is typed next.
        self._reset.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._reset.setProperty("kind", "small")
        policy = self._reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._reset.setSizePolicy(policy)
        self._problem = label("", "error", wrap=True)
        grid.addWidget(self.title, 0, 0)
        grid.addWidget(self.field, 0, 1)
        grid.addWidget(self._reset, 0, 2)
        grid.addWidget(self._problem, 1, 1, 1, 2)
        self.field.edited.connect(self._set)
        self.field.cleared.connect(self._clear)
        self.field.reverted.connect(self._take_back)
        self.field.refused.connect(self._refuse)
        self.field.finished.connect(self._leave)
        self._show_problem()

    @property
    def is_missing(self) -> bool:
        """Whether the parameter has no value, no default and nothing that it follows from."""
        follows = self.parameter.from_input is not None or self.parameter.from_training
        return self.parameter.required and not (follows or self._value.is_set or self._value.is_mixed)

    def show_value(self, value: Value) -> None:
        self._value = value
        is_shown = value.is_set and not value.is_mixed
        self.field.show_value(value.value, is_set=is_shown, implied=value.implied(self.parameter))
        self._reset.setVisible(value.is_set)
        self._show_problem()

    def draft_problem(self) -> str:
        """What is typed here and is no value, as a sentence that stands alone; empty if there is nothing such."""
        problem = self.field.draft_problem()
        if not problem:
            return ""
        text, name = self.field.text(), self.parameter.name
        return f"The field {self._setting.subject} holds “{text}”: {name} {problem}. Correct it, then run."

    def show_draft(self) -> None:
        """Put the cursor into text that is no value and say why, also where only its end is missing, as in "1e"."""
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)
        self._refuse(self.field.draft_problem())

    def offer(self, choices: tuple[Any, ...]) -> None:
        """Offer other choices than before. Raises TypeError for a row without choices."""
        if not isinstance(self.field, ChoiceField):
            raise TypeError(f"{self.parameter.name} is not a choice")
        self.parameter = replace(self.parameter, choices=choices)
        self.field.offer(self.parameter)

    def _set(self, value: Any, gesture: str) -> None:
        self._store.edit(
            f"Set {self._setting.subject}",
            lambda document: self._setting.set(document, value),
            merge=self._merge(gesture),
        )

    def _clear(self, gesture: str) -> None:
        title = f"{'Set' if gesture else 'Reset'} {self._setting.subject}"
        self._store.edit(title, self._setting.clear, merge=self._merge(gesture))

    def _take_back(self) -> None:
        self._store.take_back(f"{self._setting.subject}:typing")

    def _merge(self, gesture: str) -> str | None:
        return f"{self._setting.subject}:{gesture}" if gesture else None

    def _refuse(self, problem: str) -> None:
        self._typed_problem = problem
        self._show_problem()

    def _leave(self) -> None:
        """What was typed and is no value is forgotten; the field shows the document again."""
        self._store.seal()
        self._settle.run()

    def _forget_typed(self) -> None:
        if not self.field.editor.hasFocus():
            self._typed_problem = ""
            self.show_value(self._value)

    def _show_problem(self) -> None:
        problem = self._typed_problem
        if not problem and self._value.is_set and not self._value.is_mixed:
            problem = self.parameter.problem(self._value.value) or ""
        self._problem.setText(f"{self.parameter.name} {problem}." if problem else "")
        self._problem.setVisible(bool(problem))
        self.field.set_invalid(bool(problem))


def _origin(parameter: Parameter) -> str:
    return "run" if parameter.from_training else "input"


def _tip(parameter: Parameter) -> str:
    """Name, what it means, bounds and default."""
    lines = [f"{parameter.name}: {parameter.help}" if parameter.help else parameter.name]
    if parameter.range is not None:
        lines.append(f"Must be {parameter.range}.")
    if parameter.from_input is not None:
        lines.append("Follows from what is connected; a value set here must agree with it.")
    elif parameter.from_training:
        lines.append("Follows from how long the training is, if nothing is set here.")
    elif not parameter.required:
        lines.append(f"Default: {shown(parameter.default)}.")
    return "\n".join(lines)
