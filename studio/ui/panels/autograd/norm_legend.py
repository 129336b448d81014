"""Legend of the colors of gradient norms."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QFontMetrics, QLinearGradient, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from studio.ui import number_format
from studio.ui.panels.autograd.norm_scale import NormScale
from studio.ui.theme import fonts, theme

_TITLE = "Gradient norm"
_STRIP = 72
_GAP = 12


class NormLegend(QWidget):
    """The color scale of gradient norms."""

    def __init__(self) -> None:
        super().__init__()
        self._scale = NormScale(())
        self.setToolTip(_TITLE)

    def show_scale(self, scale: NormScale) -> None:
        self._scale = scale
        self.setVisible(not scale.is_empty)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.minimumSizeHint().width() + self._title_width + _GAP, 20)

    def minimumSizeHint(self) -> QSize:
        """Minimum size without the text."""
        metrics = QFontMetrics(fonts.interface(11))
        return QSize(sum(metrics.horizontalAdvance(bound) + 8 for bound in self._bounds) + _STRIP, 20)

    @property
    def _bounds(self) -> list[str]:
        return [number_format.norm(bound) for bound in self._scale.bounds]

    @property
    def _title_width(self) -> int:
        return QFontMetrics(fonts.interface(11)).horizontalAdvance(_TITLE)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(fonts.interface(11))
        painter.setPen(colors.color("text-dim"))
        low, high = self._bounds
        metrics = painter.fontMetrics()
        baseline = (self.height() + metrics.ascent() - metrics.descent()) / 2
        right = self.width() - metrics.horizontalAdvance(high)
        painter.drawText(right, round(baseline), high)
        strip_left, strip_right = right - 8 - _STRIP, right - 8
        start = strip_left - 8 - metrics.horizontalAdvance(low)
        painter.drawText(start, round(baseline), low)
        if (left := start - _GAP - self._title_width) >= 0:
            painter.drawText(left, round(baseline), _TITLE)
        ramp = QLinearGradient(strip_left, 0, strip_right, 0)
        for step in range(5):
            share = step / 4
            ramp.setColorAt(share, self._scale.color_at(share, colors))
        painter.setBrush(ramp)
        painter.setPen(colors.color("border"))
        painter.drawRoundedRect(strip_left, self.height() // 2 - 4, _STRIP, 8, 2, 2)
