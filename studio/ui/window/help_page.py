"""Documentation sections, and a dialog that shows one."""

from __future__ import annotations

import functools
import re

from PySide6.QtCore import QSize
from PySide6.QtGui import QTextBlock, QTextCharFormat, QTextCursor, QTextFormat, QTextFrameFormat, QTextTable
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from engine.system.assets import page
from studio.ui.theme import fonts, theme

_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SIZE = QSize(600, 440)


@functools.cache
def section(name: str, title: str) -> str:
    """Markdown of a page section under a level-3 heading; empty if there is none."""
    text = page(name).read_text(encoding="utf-8")
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^#{{1,3}} |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def examples(name: str, title: str) -> list[str]:
    """Code blocks of a section."""
    return [block.strip() for block in _BLOCK.findall(section(name, title))]


class HelpPage(QDialog):
    """A modeless dialog with one section of the documentation, below an optional picture."""

    def __init__(
        self, title: str, markdown: str, parent: QWidget | None = None, picture: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.text = QTextBrowser()
        self.text.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.text.setProperty("role", "page")
        self.text.setOpenExternalLinks(True)
        self.text.document().setDocumentMargin(12)
        self.text.setMarkdown(f"### {title}\n\n{markdown}")
        self._style()
        theme.manager().changed.connect(self._style)
        self.text.setAccessibleName(title)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        if picture is not None:
            picture.setAccessibleName(f"Graph of {title}")
            column.addWidget(picture)
        column.addWidget(self.text, 1)
        column.addWidget(buttons)
        self.resize(_SIZE if picture is None else _SIZE + QSize(0, picture.sizeHint().height()))

    def _style(self, *_: object) -> None:
        self._space_out()
        self._style_tables()

    def _space_out(self) -> None:
        """Add paragraph spacing and code backgrounds, which Qt's Markdown lacks."""
        background, follows_code = theme.current().color("background"), False
        block = self.text.document().begin()
        while block.isValid():
            layout = block.blockFormat()
            is_code = layout.hasProperty(QTextFormat.Property.BlockCodeFence)
            layout.setTopMargin(0 if is_code and follows_code else 12)
            if is_code:
                layout.setBackground(background)
                layout.setLeftMargin(12)
                self._set_font(block)
            QTextCursor(block).setBlockFormat(layout)
            follows_code, block = is_code, block.next()

    def _style_tables(self) -> None:
        """Thin lines in the color of the theme, and space above, which Qt's Markdown lacks."""
        for table in self.text.document().rootFrame().childFrames():
            if isinstance(table, QTextTable):
                layout = table.format()
                layout.setBorderCollapse(True)
                layout.setBorder(1)
                layout.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
                layout.setBorderBrush(theme.current().color("border"))
                layout.setCellPadding(5)
                layout.setCellSpacing(0)
                layout.setTopMargin(12)
                table.setFormat(layout)

    def _set_font(self, block: QTextBlock) -> None:
        cursor = QTextCursor(block)
        cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
        code_format = QTextCharFormat()
        code_format.setFont(fonts.monospace())
        cursor.mergeCharFormat(code_format)


__all__ = ["HelpPage", "examples", "section"]
