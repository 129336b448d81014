"""Markdown of a lesson, as high as its content. Terms of the lesson are links."""

from __future__ import annotations

import re
from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import QResizeEvent, QTextBlockFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser

from studio.ui.theme import theme

TERM = "term"
"""Scheme of the links to terms."""
_CODE = re.compile(r"(```.*?```|`[^`\n]*`|\[[^\]\n]*\]\([^)\n]*\))", re.DOTALL)
_EMPHASIS = re.compile(r"(\*{1,2})(?! )([^*\n]+)\1")
_START = r"(?:(?<=^)|(?<=\n)|(?<=\*\*)|(?<=[.?:] ))"
"""Before the first word of a sentence or an emphasized one."""
_SPACING = 8
_INDENT = 16
"""Indentation of lists, in pixels."""


class LessonText(QTextBrowser):
    """Shows neither HTML nor pictures, because a lesson can come from anyone."""

    term_requested = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setProperty("role", "page")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setOpenLinks(False)
        self.anchorClicked.connect(self._open)
        self.document().setDocumentMargin(0)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._markdown = ""
        self._measured = QTextDocument(self)
        """The same text, laid out for any width: that of the view has the width of the view."""
        theme.manager().changed.connect(self._render)

    def show_text(self, markdown: str, terms: Iterable[str] = ()) -> None:
        """Show a text in which the first occurrence of each term is a link."""
        self._markdown = linked(markdown, terms)
        self._render()

    def loadResource(self, kind: int, name: QUrl | str) -> None:
        """Load no picture."""

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        self._measured.setTextWidth(max(width, 40))
        return round(self._measured.size().height()) + 2

    def sizeHint(self) -> QSize:
        return QSize(240, self.heightForWidth(max(self.width(), 160)))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.heightForWidth(max(self.width(), 120)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _render(self, *_: object) -> None:
        for document in (self.document(), self._measured):
            document.setDefaultFont(self.font())
            document.setDocumentMargin(0)
            document.setIndentWidth(_INDENT)
            self._fill(document)
        self.updateGeometry()

    def _fill(self, document: QTextDocument) -> None:
        document.setMarkdown(
            self._markdown,
            QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML,
        )
        block = document.begin()
        is_first = True
        while block.isValid():
            layout: QTextBlockFormat = block.blockFormat()
            layout.setTopMargin(0 if is_first else _SPACING / 2 if block.textList() else _SPACING)
            layout.setBottomMargin(0)
            layout.setLineHeight(118, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            QTextCursor(block).setBlockFormat(layout)
            is_first, block = False, block.next()

    def _open(self, url: QUrl) -> None:
        if url.scheme() == TERM:
            self.term_requested.emit(QUrl.fromPercentEncoding(url.path().encode()))


def linked(markdown: str, terms: Iterable[str]) -> str:
    """The text with the first occurrence of each term as a link, except in code and in links.

    A capital letter inside a sentence is the name of a button or a panel, as in "Press Run".
    """
    parts = _CODE.split(markdown)
    for term in sorted(terms, key=len, reverse=True):
        first, rest = re.escape(term[:1]), re.escape(term[1:])
        pattern = re.compile(rf"(?<![\w/(\[])(?:{first}|{_START}(?i:{first})){rest}(s?)(?![\w\]])")
        for index in range(0, len(parts), 2):
            found = pattern.search(parts[index])
            if found is not None:
                link = f"[{found[0]}]({TERM}:{bytes(QUrl.toPercentEncoding(term).data()).decode()})"
                before, after = parts[index][: found.start()], parts[index][found.end() :]
                parts[index : index + 1] = [before, link, after]
                break
    return "".join(parts)


def plain_text(markdown: str) -> str:
    """The text without the marks of emphasis, code and lists, for labels and screen readers."""
    return _EMPHASIS.sub(r"\2", markdown.replace("`", "")).replace("\n- ", "\n• ").strip()


__all__ = ["LessonText", "linked", "plain_text"]
