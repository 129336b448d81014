"""The field of a parameter that is Python source."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetricsF

from engine.registry import Parameter
from studio.lowering.user_code.document_code import trust_typed
from studio.nodes.python_source import code_error
from studio.ui.panels.code.code_editor import CodeEditor, CodeError
from studio.ui.panels.inspector.parameter_fields import Field

_MIN_LINES, _MAX_LINES = 6, 24


class CodeField(Field):
    """A code editor. The source is applied when the field is left, or by Ctrl+Enter. Escape restores it.

    Source that the user types is trusted if the source before was: changes of untrusted code stay untrusted.

    Args:
        is_large: fill the space, and stay a draft when the field is left
    """

    def __init__(self, parameter: Parameter, *, is_large: bool = False) -> None:
        self.code = SourceEditor()
        super().__init__(parameter, self.code)
        self._source = ""
        self._is_large = is_large
        if not is_large:
            self.code.setToolTip("Ctrl+Enter applies the source, Escape restores it.")
            self.code.left.connect(self.apply)
        self.code.accepted.connect(self.apply)
        self.code.cancelled.connect(self._cancel)
        self.code.textChanged.connect(self._check)

    def show_value(self, value: Any, *, is_set: bool, implied: str) -> None:
        source = value if isinstance(value, str) else ""
        if source == self._source and self.code.document().isModified():
            return  # being typed
        self._source = source
        self.code.show_source(source)
        self._fit()
        self._check()

    @property
    def is_draft(self) -> bool:
        """Whether the text differs from the source of the node."""
        return self.text() != self._source

    def text(self) -> str:
        return self.code.toPlainText()

    def _check(self) -> None:
        problem = code_error(self.text())
        error = None if problem is None else CodeError(problem.reason, problem.line, problem.column - 1)
        self.code.show_error(error)
        self.refused.emit("" if problem is None else str(problem))

    def _fit(self) -> None:
        if self._is_large:
            return
        lines = min(max(self.code.blockCount() + 1, _MIN_LINES), _MAX_LINES)
        self.code.setFixedHeight(round(lines * QFontMetricsF(self.code.font()).lineSpacing()) + 16)

    def apply(self) -> None:
        """Make a draft the source of the node."""
        source, before = self.text(), self._source
        if source == before:
            return
        trust_typed([before], [source])
        self._source = source
        self.code.document().setModified(False)
        self._fit()
        self.edited.emit(source, "")
        self.finished.emit()

    def _cancel(self) -> None:
        if self.is_draft:
            self.restore()
        else:
            self.code.dismissed.emit()

    def restore(self) -> None:
        """Discard a draft."""
        self.code.show_source(self._source)
        self._check()


class SourceEditor(CodeEditor):
    left = Signal()
    """The focus moved to another widget of the window."""
    dismissed = Signal()
    """Escape was pressed without a draft."""

    def __init__(self) -> None:
        super().__init__()
        self.make_editable()
        self.setProperty("role", "")

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
            self.left.emit()
