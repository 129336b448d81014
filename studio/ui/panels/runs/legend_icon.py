"""Line samples for the legend buttons."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPen, QPixmap

from studio.ui.theme import theme


def line_sample(*, dashed: bool) -> QIcon:
    """A short line in the text color, solid or dashed; faint when off."""
    return QIcon(_LineIconEngine(dashed))


class _LineIconEngine(QIconEngine):
    def __init__(self, dashed: bool) -> None:
        super().__init__()
        self._dashed = dashed

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        pen = QPen(theme.current().color("text", 1.0 if state == QIcon.State.On else 0.35), rect.height() / 7)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if self._dashed:
            pen.setDashPattern([2.5, 1.5])
        area = QRectF(rect)
        painter.setPen(pen)
        painter.drawLine(QLineF(area.left() + 1, area.center().y(), area.right() - 1, area.center().y()))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        picture = QPixmap(size)
        if size.isEmpty():
            return picture  # of a button that has no room
        picture.fill(QColor(0, 0, 0, 0))
        painter = QPainter(picture)
        self.paint(painter, picture.rect(), mode, state)
        painter.end()
        return picture

    def clone(self) -> QIconEngine:
        return _LineIconEngine(self._dashed)
