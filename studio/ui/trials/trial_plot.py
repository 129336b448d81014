"""Live plot of the loss in a trial dialog."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QWidget

from studio.ui.theme import fonts, theme


class TrialPlot(pg.PlotWidget):
    """Raw values faint, smoothed values strong; vertical markers with labels."""

    def __init__(
        self, x_title: str, low: float, high: float, *, log_x: bool = False, parent: QWidget | None = None
    ) -> None:
        """`low` and `high` are the initial axis limits."""
        self.item = pg.PlotItem()
        super().__init__(parent, plotItem=self.item)
        self._x_title = x_title
        self._log_x = log_x
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.viewport().setAcceptDrops(False)  # pyqtgraph ignores drags, and Qt warns of each
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setAntialiasing(True)
        self.setMouseEnabled(False, False)
        self.setMinimumSize(360, 220)
        self.setAccessibleName(f"Loss over {x_title.lower()}")
        self.item.setContentsMargins(4, 8, 16, 4)
        self.setLogMode(x=log_x, y=False)
        self._raw, self._smooth = self.plot([], []), self.plot([], [])
        self._marks: list[tuple[pg.InfiniteLine, str]] = []
        for side in ("left", "bottom"):
            self.getAxis(side).enableAutoSIPrefix(False)
        self.getAxis("left").setStyle(showValues=False)  # until there are values
        self.item.getViewBox().setXRange(self._axis_value(low), self._axis_value(high), padding=0.02)
        theme.manager().changed.connect(self._apply_theme)
        self._apply_theme()

    def show_values(self, x: list[float], raw: list[float], smooth: list[float] | None = None) -> None:
        """Set losses over the axis. Without smoothed values, raw values are drawn strong."""
        strong = raw if smooth is None else smooth
        self._raw.setData(np.array(x if smooth else []), np.array(raw if smooth else []), connect="finite")
        self._smooth.setData(np.array(x), np.array(strong), connect="finite")
        finite = [value for value in strong if math.isfinite(value)]
        if not finite:
            return
        self.getAxis("left").setStyle(showValues=True)
        if smooth is None:  # on a logarithmic axis, exponential decrease is a straight line
            self.setLogMode(x=self._log_x, y=0 < 10 * min(finite) < max(finite))
            return
        # The upper limit is that of the first half, because a diverging loss would flatten the rest of the curve.
        low, high = min(finite), max(finite[: max(len(finite) // 2, 1)])
        margin = 0.15 * (high - low or 1.0)
        self.item.getViewBox().setYRange(low - margin, high + 2 * margin, padding=0)

    def fit(self) -> None:
        """Fit the axes to the final data."""
        self.item.getViewBox().enableAutoRange(x=True)

    def mark(self, x: float, text: str, token: str) -> None:
        """Add a labeled vertical line in a theme color."""
        line = pg.InfiniteLine(
            self._axis_value(x),
            label=text,
            labelOpts={"position": 0.92, "movable": False, "anchors": [(1.05, 0.5), (1.05, 0.5)]},
        )
        self.item.addItem(line, ignoreBounds=True)
        self._marks.append((line, token))
        self._apply_theme()

    def _apply_theme(self, *_: object) -> None:
        colors = theme.current()
        self.setBackground(colors.color("surface"))
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(self._pen(colors.color("border"), 1.0))
            axis.setTextPen(colors.color("text-dim"))
            axis.setTickFont(fonts.interface(11))
            axis.setStyle(tickLength=-4, tickTextOffset=4)
        style = {"color": colors.color("text-dim").name(), "font-size": "11px"}
        self.setLabel("left", "Loss", **style)
        self.setLabel("bottom", self._x_title, **style)
        self.showGrid(x=False, y=True, alpha=0.6)
        strong = QColor(colors.series[0])
        faint = QColor(strong)
        faint.setAlphaF(0.45)
        self._raw.setPen(self._pen(faint, 1.0))
        self._smooth.setPen(self._pen(strong, 2.0))
        for line, token in self._marks:
            line.setPen(self._pen(colors.color(token), 1.5, Qt.PenStyle.DashLine))
            line.label.setColor(colors.color("text"))
            line.label.setFont(fonts.interface(12))

    def _axis_value(self, x: float) -> float:
        """Convert a value to a coordinate of the horizontal axis."""
        return math.log10(x) if self._log_x else x

    def _pen(self, color: QColor, width: float, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
        pen = QPen(color, width * self.devicePixelRatioF(), style)
        pen.setCosmetic(True)
        return pen
