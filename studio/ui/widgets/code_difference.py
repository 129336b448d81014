"""A read-only view of the lines that differ between two texts."""

from __future__ import annotations

import difflib
from typing import Literal

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from studio.ui.theme import fonts, theme

Change = Literal["-", "+", " "]
_CONTEXT = 1
_MAX_ROWS = 12
_TINT = 36
"""Opacity of the background of changed lines, of 255."""


class CodeDifference(QPlainTextEdit):
    """Removed lines begin with "- ", added ones with "+ "."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setProperty("role", "page")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(fonts.monospace())
        self.setAccessibleName("Change of the code")
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._lines: list[tuple[Change, str]] = []
        theme.manager().changed.connect(self._tint)

    def show_difference(self, old: str, new: str) -> None:
        lines = changed_lines(old, new)
        if lines != self._lines:
            self._lines = lines
            self.setPlainText("\n".join(f"{change} {text}" for change, text in lines))
            self._tint()
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        rows = min(max(len(self._lines), 1), _MAX_ROWS)
        bar = self.horizontalScrollBar()
        height = bar.sizeHint().height() if bar.maximum() > 0 else 0
        return QSize(400, rows * self.fontMetrics().lineSpacing() + height + 20)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())

    def _tint(self, *_: object) -> None:
        tokens = {"-": "error", "+": "ok"}
        selections: list[QTextEdit.ExtraSelection] = []
        for number, (change, _text) in enumerate(self._lines):
            if change in tokens:
                color = QColor(theme.current().color(tokens[change]))
                color.setAlpha(_TINT)
                look = QTextCharFormat()
                look.setBackground(color)
                look.setProperty(QTextFormat.Property.FullWidthSelection, True)
                selection = QTextEdit.ExtraSelection()
                selection.format = look  # pyright: ignore[reportAttributeAccessIssue]
                selection.cursor = QTextCursor(self.document().findBlockByNumber(number))  # pyright: ignore[reportAttributeAccessIssue]
                selections.append(selection)
        self.setExtraSelections(selections)


def changed_lines(old: str, new: str) -> list[tuple[Change, str]]:
    """The changed lines with one line around them, without line numbers and common indentation."""
    found: list[tuple[Change, str]] = []
    for line in list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=_CONTEXT))[2:]:
        if line.startswith("@@"):
            if found:
                found.append((" ", "…"))
            continue
        change: Change = "-" if line[0] == "-" else "+" if line[0] == "+" else " "
        found.append((change, line[1:]))
    indent = min((len(text) - len(text.lstrip()) for _, text in found if text.strip() and text != "…"), default=0)
    return [(change, text if text == "…" else text[indent:]) for change, text in found]


__all__ = ["CodeDifference", "changed_lines"]
