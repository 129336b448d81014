"""Axes whose ticks and grid lines are painted as rectangles, because Qt blends translucent lines pixel by pixel."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QTextDocument


class PlotAxis(pg.AxisItem):
    """Axis with one-pixel ticks."""

    def labelString(self) -> str:
        """The title as HTML, shortened to the height of the axis."""
        html = super().labelString()
        room = self.size().height() if self.orientation == "left" else 0.0
        document, text, count = QTextDocument(), self.labelText, len(self.labelText)
        document.setHtml(html)
        while room > 0 and count > 1 and document.idealWidth() > room:
            count -= 1
            self.labelText = f"{text[:count].rstrip()}…"
            html = super().labelString()
            document.setHtml(html)
        self.labelText = text
        return html

    def resizeEvent(self, ev: Any = None) -> None:
        if self.label is not None and self.labelText:
            self.label.setHtml(self.labelString())
        super().resizeEvent(ev)

    def logTickStrings(self, values: Any, scale: float, spacing: float) -> list[str]:
        """Labels of a logarithmic axis. Powers are written from 10⁴ on; pyqtgraph writes them from 10¹ on."""
        texts = super().logTickStrings(values, scale, spacing)
        numbers = [10.0**value * scale for value in values]
        return [f"{number:.0f}" if 1 <= number < 9999 else text for number, text in zip(numbers, texts, strict=True)]

    def drawPicture(self, p: QPainter, axisSpec: Any, tickSpecs: Any, textSpecs: Any) -> None:
        super().drawPicture(p, axisSpec, (), textSpecs)
        p.setClipping(False)
        for pen, begin, end in tickSpecs:
            line = QRectF(begin, end).normalized()
            if self.orientation in ("left", "right"):
                line.adjust(0, -0.5, 0, 0.5)
            else:
                line.adjust(-0.5, 0, 0.5, 0)
            p.fillRect(line, pen.color())


__all__ = ["PlotAxis"]
