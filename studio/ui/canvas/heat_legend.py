"""Legend of the colors of nodes."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from studio.ui.canvas.canvas_style import HEAT_LEVELS, heat_color
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import ElidedLabel, label


class HeatLegend(QFrame):
    """The name of the figure, its colors from 0 to the largest value, and the total."""

    def __init__(self, hide: Callable[[], object], measure: Callable[[], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "popup")
        self.setAccessibleName("Legend of the heat map")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 4, 4)
        row.setSpacing(8)
        self._title, self._least, self._most = (label("") for _ in range(3))
        self._total = ElidedLabel()
        self._total.setProperty("role", "dim")
        self._scale = _Scale()
        for widget in (self._title, self._least, self._scale, self._most, self._total):
            widget.setFont(fonts.interface(12))
            row.addWidget(widget)
        self.measure = buttons.text_button("Measure", measure, kind="link")
        self.measure.setToolTip("Measure the time of each node on a few batches, in the background")
        row.addWidget(self.measure)
        close = buttons.icon_button("close", "Hide the heat map", hide, token="text-dim", size=12)
        close.setProperty("kind", "small")
        row.addWidget(close)

    def show_range(self, title: str, help: str, most: str, total: str, note: str = "") -> None:
        """Show a figure with its largest value on the canvas and its total; `note` says what they belong to."""
        self._title.setText(title)
        self._least.setText("0")
        self._most.setText(most)
        self._total.setText(f"Total {total}, {note}" if note else f"Total {total}")
        for widget in (self._least, self._scale, self._most):
            widget.show()
        self.setToolTip(help)
        self.setAccessibleDescription(f"{title}: {help}. Colors from 0 to {most}, {self._total.text()}")
        self._fit()

    def show_message(self, title: str, help: str, text: str) -> None:
        """Show why a figure has no values, or the progress."""
        self._title.setText(title)
        self._total.setText(text)
        for widget in (self._least, self._scale, self._most):
            widget.hide()
        self.setToolTip(help)
        self.setAccessibleDescription(f"{title}: {help}. {text}")
        self._fit()

    def show_measure(self, *, shown: bool, running: bool) -> None:
        """Show the button that measures the figure; disabled while it is measured."""
        self.measure.setVisible(shown)
        self.measure.setEnabled(not running)
        self._fit()

    def _fit(self) -> None:
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
