"""The colors of a legend: a row of samples that highlights the nodes of the color under the pointer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Signal
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from studio.training.statistics.color_scale import Shade
from studio.ui.canvas.canvas_style import shade_color
from studio.ui.theme import theme

_WIDTH, _HEIGHT = 16, 14


class ColorScaleBar(QWidget):
    """Samples of colors without gaps.

    Args:
        describe: what a color stands for, for its tooltip
    """

    hovered = Signal(object)
    """The Shade under the pointer; None when the pointer leaves."""

    def __init__(self, describe: Callable[[Shade], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._describe = describe
        self._shades: tuple[Shade, ...] = ()
        self._hovered: Shade | None = None
        self.setMouseTracking(True)

    @property
    def shades(self) -> tuple[Shade, ...]:
        return self._shades

    def show_shades(self, shades: Sequence[Shade]) -> None:
        if tuple(shades) != self._shades:
            self._shades = tuple(shades)
            self.setFixedSize(QSize(_WIDTH * len(self._shades), _HEIGHT))
        self.update()

    def center_of(self, shade: Shade) -> QPoint:
        """The middle of a sample."""
        return QPoint(_WIDTH * self._shades.index(shade) + _WIDTH // 2, _HEIGHT // 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        painter = QPainter(self)
        painter.setPen(QPen(colors.color("border-strong"), 1.0))
        for index, shade in enumerate(self._shades):
            painter.setBrush(shade_color(colors, shade))
            painter.drawRect(QRectF(_WIDTH * index + 0.5, 0.5, _WIDTH - 1, _HEIGHT - 1))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self._shade_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)

    def hideEvent(self, event: QEvent) -> None:
        self._hover(None)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            shade = self._shade_at(event.pos())
            QToolTip.showText(event.globalPos(), "" if shade is None else self._describe(shade), self)
            return True
        return super().event(event)

    def _shade_at(self, position: QPoint) -> Shade | None:
        index = position.x() // _WIDTH
        return self._shades[index] if 0 <= index < len(self._shades) else None

    def _hover(self, shade: Shade | None) -> None:
        if shade != self._hovered:
            self._hovered = shade
            self.hovered.emit(shade)


__all__ = ["ColorScaleBar"]
