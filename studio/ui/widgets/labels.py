"""Labels in the text roles of the style sheet."""

from __future__ import annotations

import html
from math import ceil
from typing import Literal

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPalette, QTextLayout, QTextOption
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

Role = Literal[
    "title", "heading", "section", "dim", "small", "error", "warning", "mono", "mono-dim", "mono-warning", ""
]

_LONGEST_TEXT = 40
"""Maximum number of characters of a shortened text."""
_LONGEST_WORD = 120
"""Width in pixels beyond which a word of a wrapping label is broken if there is no room."""

_KEPT_HEIGHTS = 64
"""Maximum number of heights that a label remembers."""


def label(text: str, role: Role = "", *, wrap: bool = False, selectable: bool = False) -> QLabel:
    """A plain-text label."""
    widget = _WrappingLabel(text) if wrap and not selectable else QLabel(text)
    widget.setTextFormat(Qt.TextFormat.PlainText)
    widget.setProperty("role", role)
    widget.setWordWrap(wrap)
    if selectable:
        widget.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return widget


def tip(text: str) -> str:
    """Escape a tooltip. Qt would interpret HTML in it and load images from the URLs inside."""
    return f"<qt>{html.escape(text).replace(chr(10), '<br>')}</qt>" if "<" in text else text


def quoted(text: str) -> str:
    """The text in quotation marks, cut at the end if it is long."""
    return f"“{shortened(' '.join(text.split()))}”"


def shortened(text: str) -> str:
    """The text, cut at the end if it has more than 40 characters."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def line() -> QFrame:
    """A horizontal separator."""
    widget = QFrame()
    widget.setProperty("role", "line")
    return widget


class _WrappingLabel(QLabel):
    """Wraps plain text, also inside a word that is longer than a line, such as the name of a node.

    QLabel would widen its container by such a word.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._heights: dict[tuple[str, str, int, int], int] = {}
        """By text, font, resolution and width: layouts ask for the same ones many times."""

    def minimumSizeHint(self) -> QSize:
        size = super().minimumSizeHint()
        return QSize(min(size.width(), _LONGEST_WORD), size.height())

    def heightForWidth(self, width: int) -> int:
        margins = self.contentsMargins()
        around = margins.left() + margins.right()
        return self._text_height(width - around) + margins.top() + margins.bottom()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, room = QPainter(self), self.contentsRect()
        painter.setPen(self.palette().color(self.foregroundRole()))
        lines = self._lines(room.width())
        left_over = room.height() - lines.boundingRect().height()
        is_top = bool(self.alignment() & Qt.AlignmentFlag.AlignTop)
        lines.draw(painter, QPointF(room.left(), room.top() + (0 if is_top else max(left_over / 2, 0))))

    def _text_height(self, width: int) -> int:
        key = (self.text(), self.font().key(), self.logicalDpiY(), width)
        if key not in self._heights:
            if len(self._heights) >= _KEPT_HEIGHTS:
                self._heights.clear()
            self._heights[key] = ceil(self._lines(width).boundingRect().height())
        return self._heights[key]

    def _lines(self, width: int) -> QTextLayout:
        option = QTextOption(self.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout = QTextLayout(self.text().replace("\n", "\u2028"), self.font())
        layout.setTextOption(option)
        layout.beginLayout()
        top = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            line.setPosition(QPointF(0, top))
            top += line.height()
        layout.endLayout()
        return layout


class ElidedLabel(QWidget):
    """A single line of text, elided with "…" at the end or in the middle instead of widening its container."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(parent)
        self._text, self._mode = text, mode
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        return self._text

    def setText(self, text: str) -> None:
        self._text = text
        self.setToolTip(tip(text))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(self.font()).horizontalAdvance(self._text)
        return QSize(ceil(width), self.fontMetrics().height())  # rounded down, the text would be elided

    def minimumSizeHint(self) -> QSize:
        return QSize(20, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        shown = self.fontMetrics().elidedText(self._text, self._mode, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
