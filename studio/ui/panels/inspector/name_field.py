"""A field for a name that becomes an identifier, with the reason while it cannot be used."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.document import node_names
from studio.ui.widgets.deferred_change import DeferredChange
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label


class NameField(QWidget):
    """Enter or leaving the field commits a valid name.

    Args:
        problem: why a name cannot be used, such as "is already used. Choose another name"; None if it can
    """

    renamed = Signal(str, str)
    """The old and the new name."""

    def __init__(self, name: str, title: str, problem: Callable[[str], str | None]) -> None:
        super().__init__()
        self._name, self._find_problem = name, problem
        self._settle = DeferredChange(self._show_name, self)
        self._discarded = ""
        """Message about an invalid name that was discarded when the field was left."""
        self.line = LineEdit(name)
        self.line.setAccessibleName(title)
        self._problem = label("", "error", wrap=True)
        self._derived = label("", "dim", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        for widget in (self.line, self._problem, self._derived):
            column.addWidget(widget)
        self.line.textEdited.connect(self._check)
        self.line.editingFinished.connect(self._commit)
        self.line.draft.reverted.connect(self._show_name)
        self._show_name()

    def show_name(self, name: str) -> None:
        """Show another name, except while the user types."""
        self._name = name
        if not self.line.draft.is_open:
            self._show_name()

    def _show_name(self) -> None:
        self.line.setText(self._name)
        self._check(self._name)
        if self._discarded:
            self._problem.setText(self._discarded)
            self._problem.show()
            self._discarded = ""

    def _find_any_problem(self, new: str) -> str | None:
        return None if new == self._name else node_names.problem(new) or self._find_problem(new)

    def _check(self, text: str) -> bool:
        """Show why a name cannot be used, or the identifier that it becomes. Returns whether it can be used."""
        new = node_names.name_from_title(text)
        problem = self._find_any_problem(new)
        self._problem.setText(f"{new!r} {problem}." if problem else "")
        self._problem.setVisible(problem is not None)
        self._derived.setText(f"Stored as {new}.")
        self._derived.setVisible(problem is None and new != text.strip())
        return problem is None

    def _commit(self) -> None:
        new, old = node_names.name_from_title(self.line.text()), self._name
        if not self._check(self.line.text()):
            if not self.line.hasFocus():
                self._discarded = f"{new!r} was discarded: it {self._find_any_problem(new)}."
                self._settle.run()
        elif new != old:
            self._name = new
            self.line.draft.commit()
            self.renamed.emit(old, new)
