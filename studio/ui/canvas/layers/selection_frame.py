"""The frame around several selected nodes."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.ui.canvas.geometry import Box
from studio.ui.canvas.paint_context import PaintContext

_GAP, _CORNER = 8.0, 10.0
_Z = 4.0


class SelectionFrame(QGraphicsRectItem):
    def __init__(self, paint_context: PaintContext) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self._paint_context = paint_context

    def surround(self, box: Box | None) -> None:
        """Set the box inside the frame; None hides it."""
        self.setVisible(box is not None)
        if box is not None:
            self.setRect(QRectF(box.left, box.top, box.width, box.height).adjusted(-_GAP, -_GAP, _GAP, _GAP))

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint straight lines without antialiasing: dashes along an antialiased path take longer than the nodes."""
        style, rect = self._paint_context.style, self.rect()
        inner = rect.adjusted(_CORNER, _CORNER, -_CORNER, -_CORNER)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(style.selection_frame)
        painter.drawLines(
            [
                QLineF(inner.left(), rect.top(), inner.right(), rect.top()),
                QLineF(inner.left(), rect.bottom(), inner.right(), rect.bottom()),
                QLineF(rect.left(), inner.top(), rect.left(), inner.bottom()),
                QLineF(rect.right(), inner.top(), rect.right(), inner.bottom()),
            ]
        )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setBrush(style.no_brush)
        for x, start in ((rect.left(), 90), (rect.right() - 2 * _CORNER, 0)):
            for y, angle in ((rect.top(), start), (rect.bottom() - 2 * _CORNER, 270 - start)):
                painter.drawArc(QRectF(x, y, 2 * _CORNER, 2 * _CORNER), 16 * angle, 16 * 90)
