"""A source view with line numbers, highlighted lines and an underlined error; read-only until it is made editable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from studio.ui.panels.code.code_indentation import indent, new_line, unindent
from studio.ui.panels.code.python_highlighter import PythonHighlighter
from studio.ui.panels.code.text_merge import difference
from studio.ui.theme import fonts, theme

_MARGIN = 12


@dataclass(frozen=True, slots=True)
class CodeError:
    """An error at a range of the source. Lines count from 1, columns from 0."""

    message: str
    line: int
    column: int = 0
    end_line: int | None = None
    end_column: int | None = None


class CodeEditor(QPlainTextEdit):
    line_clicked = Signal(int)
    """Line number, from 1."""
    accepted = Signal()
    """Ctrl+Enter was pressed."""
    cancelled = Signal()
    """Escape was pressed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setProperty("role", "page")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(fonts.monospace())
        self._marked: frozenset[int] = frozenset()
        self._error: CodeError | None = None
        self._corner: QWidget | None = None
        self._leaves_by_tab = False
        """Whether the last key was Escape, after which Tab leaves the editor."""
        self._numbers = _LineNumberArea(self)
        self._highlighter = PythonHighlighter(self.document(), theme.current())
        theme.manager().changed.connect(self._highlighter.set_theme)
        self.blockCountChanged.connect(self._fit_margin)
        self.updateRequest.connect(self._scroll_margin)
        self._fit_margin()

    @property
    def marked(self) -> frozenset[int]:
        return self._marked

    @property
    def error(self) -> CodeError | None:
        """The underlined error."""
        return self._error

    def make_editable(self) -> None:
        """Allow editing. Tab indents, Ctrl+Enter accepts, Escape cancels, and after Escape Tab leaves."""
        self.setReadOnly(False)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextEditorInteraction)
        self.setTabChangesFocus(False)

    def show_source(self, text: str) -> None:
        """Replace the lines that differ, with nothing to undo. The cursor and the view stay at their lines."""
        old, new = self.toPlainText().split("\n"), text.split("\n")
        first, old_end, new_end = difference(old, new)
        scroll, cursor = self.verticalScrollBar().value(), self.textCursor()
        line, column = cursor.blockNumber(), cursor.positionInBlock()
        document = self.document()
        document.setUndoRedoEnabled(False)
        cursor = self._cursor(first + 1)
        cursor.setPosition(document.findBlockByNumber(old_end - 1).position(), QTextCursor.MoveMode.KeepAnchor)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText("\n".join(new[first:new_end]))
        document.setUndoRedoEnabled(True)
        document.setModified(False)
        block = document.findBlockByNumber(min(line + (new_end - old_end) * (line >= old_end), self.blockCount() - 1))
        cursor.setPosition(block.position() + min(column, block.length() - 1))
        self.setTextCursor(cursor)
        self.verticalScrollBar().setValue(scroll)

    def show_error(self, error: CodeError | None, *, scroll: bool = False) -> None:
        """Underline an error, or none."""
        self._error = error
        self._show_selections()
        if error is not None and scroll:
            self._reveal(error.line)

    def set_corner(self, widget: QWidget) -> None:
        """Place a small widget in the top right corner."""
        self._corner = widget
        widget.setParent(self)

    def mark(self, lines: Iterable[int], *, scroll: bool = True) -> None:
        """Highlight these lines and scroll to the first."""
        self._marked = frozenset(lines)
        self._show_selections()
        if scroll and self._marked:
            self._reveal(min(self._marked))
        self._numbers.update()

    def _show_selections(self) -> None:
        selections: list[QTextEdit.ExtraSelection] = []
        for first, last in _ranges(self._marked):
            selection = QTextEdit.ExtraSelection()
            selection.cursor = self._cursor(first)
            selection.cursor.setPosition(self._cursor(last).position(), QTextCursor.MoveMode.KeepAnchor)
            selection.cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            selection.format.setBackground(theme.current().color("selection"))
            selection.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            selections.append(selection)
        if self._error is not None:
            selection = QTextEdit.ExtraSelection()
            selection.cursor = self._error_range(self._error)
            selection.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            selection.format.setUnderlineColor(theme.current().color("error"))
            selections.append(selection)
        self.setExtraSelections(selections)
        self._numbers.update()

    def _error_range(self, error: CodeError) -> QTextCursor:
        """The characters of an error; the whole line without its indentation if there are none."""
        first = self.document().findBlockByNumber(error.line - 1)
        last = self.document().findBlockByNumber((error.end_line or error.line) - 1)
        text = first.text()
        start = first.position() + min(max(error.column, len(text) - len(text.lstrip())), len(text))
        length = len(last.text()) if error.end_column is None else min(error.end_column, len(last.text()))
        cursor = QTextCursor(self.document())
        cursor.setPosition(start if start < last.position() + length else first.position())
        cursor.setPosition(max(last.position() + length, first.position()), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and not self.isReadOnly():
            is_undo, is_redo = (event.matches(key) for key in (_UNDO, _REDO))
            if (is_undo and not self.document().isUndoAvailable()) or (
                is_redo and not self.document().isRedoAvailable()
            ):
                event.ignore()  # the command of the window, which undoes edits of the graph
                return False
            if _is_accept(event) and self.document().isModified():
                event.accept()
                return True
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self._error is not None:
            line = self.cursorForPosition(self.viewport().mapFrom(self, event.pos())).blockNumber() + 1
            if self._error.line <= line <= (self._error.end_line or self._error.line):
                QToolTip.showText(event.globalPos(), self._error.message, self)
                return True
        return super().event(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Let Tab and Shift+Tab leave a read-only editor, or one in which Escape was pressed before."""
        if self._leaves_by_tab:
            self._leaves_by_tab = False
            return super(QPlainTextEdit, self).focusNextPrevChild(next)
        return super().focusNextPrevChild(next)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Shift:  # the first half of Shift+Tab
            self._leaves_by_tab = event.key() == Qt.Key.Key_Escape
        if self.isReadOnly():
            super().keyPressEvent(event)
        elif _is_accept(event):
            self.accepted.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        elif event.key() == Qt.Key.Key_Tab:
            indent(self.textCursor())
        elif event.key() == Qt.Key.Key_Backtab:
            unindent(self.textCursor())
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            new_line(self.textCursor())
            self.ensureCursorVisible()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        area = self.contentsRect()
        self._numbers.setGeometry(QRect(area.left(), area.top(), self._numbers.width_needed(), area.height()))
        if self._corner is not None:
            size = self._corner.sizeHint()
            self._corner.setGeometry(
                self.viewport().geometry().right() - size.width() - 8, 6, size.width(), size.height()
            )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            self.line_clicked.emit(self.cursorForPosition(event.position().toPoint()).blockNumber() + 1)

    def paint_numbers(self, painter: QPainter, area: QRect) -> None:
        """Paint the line numbers in `area` of the margin."""
        colors = theme.current()
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= area.bottom():
            height = self.blockBoundingRect(block).height()
            number = block.blockNumber() + 1
            is_wrong = self._error is not None and number == self._error.line
            painter.setPen(colors.color("error" if is_wrong else "text" if number in self._marked else "text-dim"))
            line_area = QRect(0, round(top), self._numbers.width() - _MARGIN, round(height))
            painter.drawText(line_area, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(number))
            top += height
            block = block.next()

    def _cursor(self, number: int) -> QTextCursor:
        return QTextCursor(self.document().findBlockByNumber(number - 1))

    def _reveal(self, number: int) -> None:
        """Scroll to a line if it is not visible."""
        first = self.firstVisibleBlock().blockNumber() + 1
        shown = max(self.viewport().height() // max(self.fontMetrics().lineSpacing(), 1), 1)
        if not first <= number < first + shown - 1:
            self.verticalScrollBar().setValue(max(number - 1 - shown // 3, 0))

    def _fit_margin(self) -> None:
        self.setViewportMargins(self._numbers.width_needed(), 0, 0, 0)

    def _scroll_margin(self, area: QRect, by: int) -> None:
        if by:
            self._numbers.scroll(0, by)
        else:
            self._numbers.update(0, area.y(), self._numbers.width(), area.height())


_UNDO, _REDO = QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last number of each group of consecutive numbers."""
    first = last = None
    for number in sorted(numbers):
        if first is not None and last is not None and number > last + 1:
            yield first, last
            first = None
        first, last = number if first is None else first, number
    if first is not None and last is not None:
        yield first, last


def _is_accept(event: QKeyEvent) -> bool:
    is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
    return is_enter and event.modifiers() == Qt.KeyboardModifier.ControlModifier


class _LineNumberArea(QWidget):
    def __init__(self, editor: CodeEditor) -> None:
        super().__init__(editor)
        self._editor = editor

    def width_needed(self) -> int:
        digits = max(len(str(self._editor.blockCount())), 2)
        return self._editor.fontMetrics().horizontalAdvance("0") * digits + 2 * _MARGIN

    def sizeHint(self) -> QSize:
        return QSize(self.width_needed(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._editor.paint_numbers(QPainter(self), event.rect())
