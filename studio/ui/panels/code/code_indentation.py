"""Indentation of Python source while it is typed. Each function is one step of undo."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QTextBlock, QTextCursor

STEP = 4
"""Number of spaces."""


def indent(cursor: QTextCursor) -> None:
    """Indent the selected lines, or insert spaces up to the next step."""
    if not cursor.hasSelection():
        cursor.insertText(" " * (STEP - cursor.positionInBlock() % STEP))
        return
    cursor.beginEditBlock()
    for block in _lines(cursor):
        if block.text().strip():
            QTextCursor(block).insertText(" " * STEP)
    cursor.endEditBlock()


def unindent(cursor: QTextCursor) -> None:
    """Remove up to one step of spaces from the selected lines, or from the line of the cursor."""
    cursor.beginEditBlock()
    for block in _lines(cursor):
        text = block.text()
        start = QTextCursor(block)
        for _ in range(min(STEP, len(text) - len(text.lstrip(" ")))):
            start.deleteChar()
    cursor.endEditBlock()


def new_line(cursor: QTextCursor) -> None:
    """Break the line and keep its indentation; one step deeper after a colon."""
    before = cursor.block().text()[: cursor.positionInBlock()]
    spaces = len(before) - len(before.lstrip(" "))
    if before.rstrip().endswith(":"):
        spaces += STEP
    cursor.insertText("\n" + " " * spaces)


def _lines(cursor: QTextCursor) -> Iterator[QTextBlock]:
    """The lines that a selection touches, the last one only if a character of it is selected."""
    document = cursor.document()
    first, last = document.findBlock(cursor.selectionStart()), document.findBlock(cursor.selectionEnd())
    if last != first and cursor.selectionEnd() == last.position():
        last = last.previous()
    block = first
    while block.isValid():
        following = block.next()
        yield block
        if block == last:
            return
        block = following


__all__ = ["STEP", "indent", "new_line", "unindent"]
