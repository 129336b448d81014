"""Icon of the compile status: a bolt in a ring that fills as steps get faster."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPen, QPixmap

from studio.ui.compile_status import CompileStatus
from studio.ui.theme import icons, theme


def compile_status_icon(status: CompileStatus) -> QIcon:
    """An icon that follows theme changes."""
    return QIcon(_CompileStatusIconEngine(status))


class _CompileStatusIconEngine(QIconEngine):
    def __init__(self, status: CompileStatus) -> None:
        super().__init__()
        self._status = status

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        colors = theme.current()
        color = QColor(colors.color(self._status.token))
        area = QRectF(rect)
        side = min(area.width(), area.height())
        square = QRectF(0, 0, side, side)
        square.moveCenter(area.center())
        width = side / 8
        ring = square.adjusted(width / 2, width / 2, -width / 2, -width / 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colors.color("pressed"), width))
        painter.drawEllipse(ring)
        if self._status.filled:
            painter.setPen(QPen(color, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawArc(ring, 90 * 16, round(-360 * 16 * self._status.filled))
        inner = side * 0.24
        icons.paint(painter, "compile", square.adjusted(inner, inner, -inner, -inner), color)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        colors = theme.current()
        token_color, track_color = colors.color(self._status.token), colors.color("pressed")
        key = f"compile-status {self._status.filled} {token_color.rgba()} {track_color.rgba()}"
        return icons.cached_pixmap(key, size, lambda painter: self.paint(painter, QRect(QPoint(), size), mode, state))

    def clone(self) -> QIconEngine:
        return _CompileStatusIconEngine(self._status)


__all__ = ["compile_status_icon"]
