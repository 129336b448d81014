"""Drawing of the current gesture: rubber band, guides, pending wire or cut line."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.ui.canvas.paint_context import PaintContext

DrawFunction = Callable[[QPainter, PaintContext], None]
_Z = 10.0


class GestureOverlay(QGraphicsRectItem):
    def __init__(self, paint_context: PaintContext) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self._paint_context = paint_context
        self._draw: DrawFunction | None = None

    def show_drawing(self, rect: QRectF, draw: DrawFunction) -> None:
        """Show a drawing inside `rect` until `clear`."""
        margin = 16 / min(self._paint_context.zoom.scale, 1.0)
        self._draw = draw
        self.setRect(rect.normalized().adjusted(-margin, -margin, margin, margin))
        self.setVisible(True)
        self.update()

    def clear(self) -> None:
        self._draw = None
        self.setVisible(False)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if self._draw is not None:
            self._draw(painter, self._paint_context)
