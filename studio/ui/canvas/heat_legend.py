"""Legend of the colors of nodes."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from studio.ui.canvas.canvas_style import HEAT_LEVELS, heat_color
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label


class HeatLegend(QFrame):
    """The name of the figure, its colors from 0 to the largest value, and the total."""

    def __init__(self, hide: Callable[[], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "popup")
        self.setAccessibleName("Legend of the heat map")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 4, 4)
        row.setSpacing(8)
        self._title, self._least, self._most, self._total = (label("") for _ in range(4))
        self._total.setProperty("role", "dim")
        for widget in (self._title, self._least, _Scale(), self._most, self._total):
            widget.setFont(fonts.interface(12))
            row.addWidget(widget)
        close = buttons.icon_button("close", "Hide the heat map", hide, token="text-dim", size=12)
        close.setProperty("kind", "small")
        row.addWidget(close)

    def show_range(self, title: str, help: str, most: str, total: str) -> None:
        """Show a figure with its largest value on the canvas and its total."""
        self._title.setText(title)
        self._least.setText("0")
        self._most.setText(most)
        self._total.setText(f"Total {total}")
        self.setToolTip(help)
        self.setAccessibleDescription(f"{title}: {help}. Colors from 0 to {most}, total {total}")
        layout = self.layout()
        if layout is not None:
            layout.activate()
        self.adjustSize()


class _Scale(QWidget):
    """The colors of the levels, from none to the largest."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(QSize(18 * (HEAT_LEVELS + 1), 14))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        painter = QPainter(self)
        painter.setPen(QPen(colors.color("border-strong"), 1.0))
        for level in range(HEAT_LEVELS + 1):
            painter.setBrush(heat_color(colors, level))
            painter.drawRect(QRectF(18 * level + 0.5, 0.5, 17, 13))


__all__ = ["HeatLegend"]
