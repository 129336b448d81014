"""The frame around several selected nodes."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.ui.canvas.geometry import Box
from studio.ui.canvas.paint_context import PaintContext

_GAP = 8.0
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
        painter.setPen(self._paint_context.style.selection_frame)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(self.rect(), 10, 10)
