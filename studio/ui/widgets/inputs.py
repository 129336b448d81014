"""Input widgets that share these rules:

- The wheel never changes a value: it scrolls the panel, also when a focused field passes under the pointer.
- Undo reverts uncommitted text first, then edits of the project.
- Escape reverts uncommitted text; the window then focuses the canvas.
- Out-of-range values are clamped when the field loses the focus; no key is ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QAction, QFocusEvent, QKeyEvent, QKeySequence, QPaintEvent, QPalette, QValidator, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from studio.ui.theme import icons

_NARROWEST = 80
"""Width of a drop-down list below which layouts do not squeeze it, in pixels."""
_EDGE_MARGIN = 6
"""Space before the text of a field with a number, in pixels."""
_CLEAR_ACTION = "_q_qlineeditclearaction"
"""Name that Qt gives the action of the clear button."""
_Widget = QWidget if TYPE_CHECKING else object


class Draft(QObject):
    """Uncommitted text of a line edit. Enter or leaving the field commits it."""

    reverted = Signal()
    """The text is back to its committed state."""

    def __init__(self, line: QLineEdit) -> None:
        super().__init__(line)
        self._line = line
        self.start = line.text()
        """The committed text."""
        self._has_undone = False
        """Whether the last undo changed the text and not the project."""
        line.textChanged.connect(self._on_text_changed)

    @property
    def is_open(self) -> bool:
        return self._line.isModified()

    def commit(self) -> None:
        self._line.setModified(False)
        self.start = self._line.text()

    def revert(self) -> None:
        if self.is_open:
            self._line.setText(self.start)
            self.reverted.emit()

    def handles(self, event: QKeyEvent) -> bool:
        """Whether a key belongs to the line edit although a window command uses it."""
        if event.matches(QKeySequence.StandardKey.Undo):
            self._has_undone = self.is_open
            return self.is_open
        if event.matches(QKeySequence.StandardKey.Redo):
            return self._has_undone and self._line.isRedoAvailable()
        return True

    def _on_text_changed(self, text: str) -> None:
        if not self.is_open:
            self.start = text


class _DraftMixin(_Widget):
    """Shared behavior of a line edit, or of a spin box around it."""

    draft: Draft

    def event(self, event: QEvent) -> bool:
        if _is_shortcut_override(event) and not self.draft.handles(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.draft.revert()
            event.ignore()
            return
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.draft.commit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.draft.commit()
        super().focusOutEvent(event)


class LineEdit(_DraftMixin, QLineEdit):
    """A single-line text field."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.draft = Draft(self)
        show_start(self)

    def setText(self, text: str | None) -> None:
        """Show a text. If it is shown already, cursor and selection stay, so that a refresh does not disturb input."""
        if text == self.text():
            self.draft.commit()
        else:
            super().setText(text)
        show_start(self)

    def setClearButtonEnabled(self, enable: bool) -> None:
        """Use an icon of the theme; that of Qt is a dark bitmap."""
        super().setClearButtonEnabled(enable)
        action = self.findChild(QAction, _CLEAR_ACTION)
        if action is not None:
            action.setIcon(icons.themed("close", "text-dim"))


class TextEdit(QPlainTextEdit):
    """A multi-line text field. Tab leaves it."""

    finished = Signal()
    """The field lost the focus."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)

    def set_visible_lines(self, lines: int) -> None:
        """Make the field as high as this number of whole lines."""
        self.ensurePolished()
        margins, top = self.contentsMargins(), round(self.document().documentMargin())
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + top + margins.top() + margins.bottom())

    def event(self, event: QEvent) -> bool:
        if _is_shortcut_override(event) and not self._handles(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            while self.document().isModified() and self.document().isUndoAvailable():
                self.undo()
            event.ignore()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.document().setModified(False)
            self.finished.emit()

    def _handles(self, event: QKeyEvent) -> bool:
        if event.matches(QKeySequence.StandardKey.Undo):
            return self.document().isModified()
        return not event.matches(QKeySequence.StandardKey.Redo) or self.document().isRedoAvailable()


class _IgnoresWheel(_Widget):
    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class AbstractSpinBox(_IgnoresWheel, _DraftMixin, QAbstractSpinBox):
    """A spin box whose subclass parses the text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.draft = Draft(self.lineEdit())


class SpinBox(_IgnoresWheel, _DraftMixin, QSpinBox):
    """An integer within a range."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lineEdit().setTextMargins(_EDGE_MARGIN, 0, 0, 0)  # Qt ignores the padding of the style sheet here
        self.draft = Draft(self.lineEdit())

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept out-of-range input while typing; leaving the field clamps it."""
        number = self._number(text)
        if number is None:
            found: tuple[QValidator.State, str, int] = super().validate(text, position)  # pyright: ignore[reportAssignmentType]
            return found
        inside = self.minimum() <= number <= self.maximum()
        return QValidator.State.Acceptable if inside else QValidator.State.Intermediate, text, position

    def fixup(self, text: str) -> str:
        number = self._number(text)
        if number is None:
            return super().fixup(text)
        return self.textFromValue(min(max(number, self.minimum()), self.maximum()))

    def _number(self, text: str) -> int | None:
        digits = text.removeprefix(self.prefix()).removesuffix(self.suffix()).strip()
        try:
            return int(digits)
        except ValueError:
            return None


class ComboBox(_IgnoresWheel, QComboBox):
    """A drop-down list. It elides long choices where there is little room."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Elide the choice. With a style sheet, Qt cuts it off inside a letter."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        if self.currentIndex() < 0 and self.placeholderText():
            option.palette.setBrush(QPalette.ColorRole.ButtonText, option.palette.placeholderText())
            option.currentText = self.placeholderText()
        kind = QStyle.ComplexControl.CC_ComboBox
        room = self.style().subControlRect(kind, option, QStyle.SubControl.SC_ComboBoxEditField, self).width()
        option.currentText = option.fontMetrics.elidedText(option.currentText, Qt.TextElideMode.ElideRight, room)
        painter.drawComplexControl(kind, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def minimumSizeHint(self) -> QSize:
        return QSize(min(super().minimumSizeHint().width(), _NARROWEST), super().minimumSizeHint().height())


class Slider(_IgnoresWheel, QSlider):
    """A slider."""

    def __init__(self, orientation: Qt.Orientation, parent: QWidget | None = None) -> None:
        super().__init__(orientation, parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)


def show_start(line: QLineEdit) -> None:
    """Show the start of a text that is longer than the field, except while the user edits it."""
    if not line.hasFocus():
        line.setCursorPosition(0)


def _is_shortcut_override(event: QEvent) -> TypeGuard[QKeyEvent]:
    """Whether this is Qt's ShortcutOverride event, which lets the widget claim a key before window commands."""
    return event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)


__all__ = ["AbstractSpinBox", "ComboBox", "Draft", "LineEdit", "Slider", "SpinBox", "TextEdit", "show_start"]
