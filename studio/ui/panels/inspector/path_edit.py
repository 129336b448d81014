"""A line edit for paths that shows the end of long paths."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtGui import QFocusEvent, QHelpEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QStyle, QStyleOptionFrame, QToolTip

from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import tip

_EDGE = 2
"""Horizontal margin inside a QLineEdit, in pixels."""


class PathEdit(LineEdit):
    """Without focus, a long path is elided at the start, at a folder boundary if possible. The tooltip has the full
    path."""

    @property
    def shown(self) -> str:
        """The visible text."""
        text, room = self.text(), self._room().width()
        if self.hasFocus() or self.fontMetrics().horizontalAdvance(text) <= room:
            return text
        for separator in re.finditer(r"[/\\]", text):
            end = f"…{text[separator.start() :]}"
            if self.fontMetrics().horizontalAdvance(end) <= room and len(end) > 2:
                return end
        return self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideLeft, room)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self.text():
            QToolTip.showText(event.globalPos(), tip(self.text()), self)
            return True
        return super().event(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        shown = self.shown
        if shown == self.text():
            super().paintEvent(event)
            return
        painter, option = QPainter(self), QStyleOptionFrame()
        self.initStyleOption(option)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelLineEdit, option, painter, self)
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        painter.drawText(self._room(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)

    def _room(self) -> QRect:
        option = QStyleOptionFrame()
        self.initStyleOption(option)
        inner = self.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, self)
        return inner.adjusted(_EDGE, 0, -_EDGE, 0)


__all__ = ["PathEdit"]
