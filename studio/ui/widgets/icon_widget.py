"""An icon as a widget."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.theme import icons, theme


class IconWidget(QWidget):
    """Reads its color from the theme at every paint, so that it follows theme changes."""

    def __init__(self, icon: str, token: str = "text", size: int = 16, *, category: str = "") -> None:
        super().__init__()
        self._icon, self._token, self._size, self._category = icon, token, size, category
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_icon(self, icon: str, token: str = "text", *, category: str = "") -> None:
        self._icon, self._token, self._category = icon, token, category
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._size, self._size)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        icons.paint(painter, self._icon, QRectF(self.rect()), self._color())

    def _color(self) -> QColor:
        colors = theme.current()
        return colors.category(self._category) if self._category else colors.color(self._token)
