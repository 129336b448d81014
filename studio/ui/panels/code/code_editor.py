"""A read-only source view with line numbers and highlighted lines."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QTextCursor, QTextFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from studio.ui.theme import fonts, theme

_MARGIN = 12


class CodeEditor(QPlainTextEdit):
    line_clicked = Signal(int)
    """Line number, from 1."""

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
        self._corner: QWidget | None = None
        self._numbers = _LineNumberArea(self)
        self.blockCountChanged.connect(self._fit_margin)
        self.updateRequest.connect(self._scroll_margin)
        self._fit_margin()

    @property
    def marked(self) -> frozenset[int]:
        return self._marked

    def set_corner(self, widget: QWidget) -> None:
        """Place a small widget in the top right corner."""
        self._corner = widget
        widget.setParent(self)

    def mark(self, lines: Iterable[int], *, scroll: bool = True) -> None:
        """Highlight these lines and scroll to the first."""
        self._marked = frozenset(lines)
        selections: list[QTextEdit.ExtraSelection] = []
        for number in sorted(self._marked):
            selection = QTextEdit.ExtraSelection()
            selection.cursor = self._cursor(number)
            selection.format.setBackground(theme.current().color("selection"))
            selection.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            selections.append(selection)
        self.setExtraSelections(selections)
        if scroll and self._marked:
            self._reveal(min(self._marked))
        self._numbers.update()

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
            painter.setPen(colors.color("text" if number in self._marked else "text-dim"))
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
