"""The Log panel: messages of this session."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from studio.ui.theme import fonts, theme
from studio.ui.widgets.empty_state import EmptyState

_MAX_LINES = 5000

Level = Literal["info", "warning", "error"]


class LogPanel(QPlainTextEdit):
    """Read-only. Scrolls to new lines unless the user scrolled up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setAccessibleName("Log")
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setProperty("role", "page")
        self.setMaximumBlockCount(_MAX_LINES)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.setFont(fonts.monospace())
        self._empty = EmptyState("log", "No messages yet", "Messages about runs, saved files and errors appear here.")
        self._empty.setParent(self.viewport())
        self._empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._lines: list[tuple[str, Level, str]] = []
        self._is_at_end = True
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self._take_scroll)
        bar.rangeChanged.connect(self._follow)  # lines and the panel's size can change while it is hidden
        theme.manager().changed.connect(self._rewrite)

    def add(self, text: str, level: Level = "info") -> None:
        """Append a line with the current time."""
        entry = (f"{datetime.now().astimezone():%H:%M:%S}", level, text)
        self._lines = [*self._lines[-_MAX_LINES + 1 :], entry]
        self._empty.hide()
        self._write(*entry)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._empty.setGeometry(self.viewport().rect())

    def _rewrite(self) -> None:
        self.clear()
        for entry in self._lines:
            self._write(*entry)

    def _write(self, time: str, level: Level, text: str) -> None:
        colors = theme.current()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if not self.document().isEmpty():
            cursor.insertBlock()
        format_ = QTextCharFormat()
        format_.setForeground(colors.color("text-dim"))
        cursor.insertText(f"{time}  ", format_)
        format_.setForeground(colors.color("text" if level == "info" else level))
        cursor.insertText(text, format_)

    def _take_scroll(self, value: int) -> None:
        self._is_at_end = value >= self.verticalScrollBar().maximum() - 1

    def _follow(self, _: int, last: int) -> None:
        if self._is_at_end:
            self.verticalScrollBar().setValue(last)
