"""Labels in the text roles of the style sheet."""

from __future__ import annotations

import html
from typing import Literal

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

Role = Literal[
    "title", "heading", "section", "dim", "small", "error", "warning", "mono", "mono-dim", "mono-warning", ""
]


def label(text: str, role: Role = "", *, wrap: bool = False, selectable: bool = False) -> QLabel:
    """A plain-text label."""
    widget = QLabel(text)
    widget.setTextFormat(Qt.TextFormat.PlainText)
    widget.setProperty("role", role)
    widget.setWordWrap(wrap)
    if selectable:
        widget.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return widget


def tip(text: str) -> str:
    """Escape a tooltip. Qt would interpret HTML in it and load images from the URLs inside."""
    return f"<qt>{html.escape(text).replace(chr(10), '<br>')}</qt>" if "<" in text else text


def line() -> QFrame:
    """A horizontal separator."""
    widget = QFrame()
    widget.setProperty("role", "line")
    return widget


class ElidedLabel(QWidget):
    """A single line of text, elided with "…" instead of widening its container."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = text
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        return self._text

    def setText(self, text: str) -> None:
        self._text = text
        self.setToolTip(tip(text))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self._text), metrics.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(20, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        shown = self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
