"""Axes whose ticks and grid lines are painted as rectangles, because Qt blends translucent lines pixel by pixel."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter


class PlotAxis(pg.AxisItem):
    """Axis with one-pixel ticks."""

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
