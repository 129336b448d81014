"""Icons in the canvas colors of segments and kernels."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QImage, QPainter, QPen, QPixmap

from studio.ui.canvas.coloring.region_style import RegionStyle
from studio.ui.theme import fonts, theme


def region_icon(segment: int, kernel: int = 0) -> QIcon:
    """An icon in the color of a segment; with the number of a kernel, from 1, if one is given."""
    return QIcon(_RegionIconEngine(segment, kernel))


class _RegionIconEngine(QIconEngine):
    def __init__(self, segment: int, kernel: int) -> None:
        super().__init__()
        self._segment, self._kernel = segment, kernel

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        colors = theme.current()
        area = QRectF(rect)
        side = min(area.width(), area.height())
        square = QRectF(0, 0, side, side)
        square.moveCenter(area.center())
        unit = side / 16
        body = square.adjusted(unit, unit, -unit, -unit)
        style = RegionStyle(colors)
        color = style.line(self._segment)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._kernel:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawRoundedRect(body, 3.5 * unit, 3.5 * unit)
            painter.setPen(colors.on(color))
            painter.setFont(fonts.interface(round((9.5 if self._kernel < 10 else 8) * unit), bold=True))
            painter.drawText(body, Qt.AlignmentFlag.AlignCenter, str(self._kernel))
        else:
            painter.setPen(QPen(color, 1.5 * unit))
            painter.setBrush(style.band(self._segment))
            painter.drawRoundedRect(body, 4 * unit, 4 * unit)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        self.paint(painter, image.rect(), mode, state)
        painter.end()
        return QPixmap.fromImage(image)

    def clone(self) -> QIconEngine:
        return _RegionIconEngine(self._segment, self._kernel)


__all__ = ["region_icon"]
