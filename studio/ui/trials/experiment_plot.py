"""The picture of an experiment: curves, or horizontal bars."""

from __future__ import annotations

import math
from itertools import count, takewhile

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QWidget

from studio.training.experiments.experiment import Bars, Curves, Picture
from studio.ui.theme import fonts, theme

_MAX_NAME = 22
_BAR = 0.62
_LEFT, _RIGHT = (12, 4), (-8, 4)
"""Offsets of the legend from the upper corners."""
_FLAT = 0.1
"""Smallest vertical range as a share of the values."""


class ExperimentPlot(pg.PlotWidget):
    """Shows one picture at a time, in the colors of the theme."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.item = pg.PlotItem()
        super().__init__(parent, plotItem=self.item)
        self.picture: Picture | None = None
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.viewport().setAcceptDrops(False)  # pyqtgraph ignores drags, and Qt warns of each
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setAntialiasing(True)
        self.setMouseEnabled(False, False)
        self.setMinimumSize(240, 140)
        self.item.setContentsMargins(4, 8, 16, 4)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # there is nothing to do with keys
        self._legend = self.item.addLegend(offset=_RIGHT)
        for side in ("left", "bottom"):  # before there is a label: later, the call itself scales the axis
            self.getAxis(side).enableAutoSIPrefix(False)
        theme.manager().changed.connect(self._draw)

    def sizeHint(self) -> QSize:
        return QSize(360, 220)

    def show_picture(self, picture: Picture | None) -> None:
        """Show a picture; None empties the plot."""
        if picture != self.picture:
            self.picture = picture
            self._draw()

    def _draw(self, *_: object) -> None:
        self.item.clear()
        self._legend.clear()
        self._style_axes()
        box = self.item.getViewBox()
        box.invertY(isinstance(self.picture, Bars))
        match self.picture:
            case Curves():
                self._draw_curves(self.picture)
            case Bars():
                self._draw_bars(self.picture)
            case _:
                self.setAccessibleName("No picture")
        for side in ("left", "bottom"):
            self.getAxis(side).setStyle(showValues=self.picture is not None)

    def _draw_curves(self, picture: Curves) -> None:
        colors = theme.current()
        self.setAccessibleName(f"{picture.y_title} over {picture.x_title.lower()}")
        self._legend.setVisible(len(picture.series) > 1)
        self._legend.setOffset(_LEFT if picture.log_x else _RIGHT)  # losses rise at high rates, and fall over steps
        self._legend.setLabelTextColor(colors.color("text"))
        self.setLogMode(x=picture.log_x, y=False)
        self.getAxis("left").setTicks(None)
        self._label(picture.x_title, picture.y_title)
        for index, series in enumerate(picture.series):
            color = QColor(colors.series[index % len(colors.series)])
            pen = self._pen(color, 2.0)
            self.plot(np.array(series.x), np.array(series.y), pen=pen, connect="finite", name=series.name)
        finite = [y for series in picture.series for y in series.y if math.isfinite(y)]
        if finite:
            start = [y for series in picture.series for y in series.y[:5] if math.isfinite(y)]
            top = min(max(finite), 3 * max(map(abs, start), default=1.0) + 1e-9)
            room = max(_FLAT * abs(top) - (top - min(finite)), 0.0) / 2  # a flat curve must look flat
            margin = 0.08 * (top - min(finite) + 2 * room or 1.0)
            self.item.getViewBox().setYRange(min(finite) - room - margin, top + room + 2 * margin, padding=0)
        self.item.getViewBox().enableAutoRange(x=True)
        for value, name in picture.marks:
            at = math.log10(value) if picture.log_x else value
            options = {"position": 0.9, "movable": False, "color": colors.color("text")}
            pen = self._pen(colors.color("text-dim"), 1.5, Qt.PenStyle.DashLine)
            self.item.addItem(pg.InfiniteLine(at, pen=pen, label=name, labelOpts=options), ignoreBounds=True)

    def _draw_bars(self, picture: Bars) -> None:
        colors = theme.current()
        self.setAccessibleName(f"{picture.title} of {', '.join(picture.names[:4])}")
        self._legend.hide()
        self.setLogMode(x=False, y=False)
        self._label(picture.title, "")
        lengths = [_length(value, is_log=picture.is_log) for value in picture.values]
        known = [each for each in lengths if each is not None]
        start = min(known, default=0.0) - 0.5 if picture.is_log else 0.0
        rows = np.arange(len(lengths), dtype=float)
        ends = [start if each is None else each for each in lengths]
        color = QColor(colors.series[0])
        bars = pg.BarGraphItem(x0=start, x1=np.array(ends), y=rows, height=_BAR, brush=color, pen=self._pen(color, 1))
        self.item.addItem(bars)
        self.getAxis("left").setTicks([[(row, _short(name)) for row, name in zip(rows, picture.names, strict=True)]])
        if picture.is_log:
            powers = takewhile(lambda power: power <= max(known, default=0.0) + 1, count(math.floor(start)))
            self.getAxis("bottom").setTicks([[(float(power), f"1e{power}") for power in powers]])
        else:
            self.getAxis("bottom").setTicks(None)
        box = self.item.getViewBox()
        box.setYRange(-0.7, len(lengths) - 0.3, padding=0)
        box.setXRange(start, max([*known, start + 1e-9]), padding=0.04)

    def _style_axes(self) -> None:
        colors = theme.current()
        self.setBackground(colors.color("surface"))
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(self._pen(colors.color("border"), 1.0))
            axis.setTextPen(colors.color("text-dim"))
            axis.setTickFont(fonts.interface(11))
            axis.setStyle(tickLength=-4, tickTextOffset=4)
        self.getAxis("bottom").setTicks(None)

    def _label(self, bottom: str, left: str) -> None:
        style = {"color": theme.current().color("text-dim").name(), "font-size": "11px"}
        self.setLabel("bottom", bottom, **style)
        self.setLabel("left", left, **style)

    def _pen(self, color: QColor, width: float, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
        pen = QPen(color, width * self.devicePixelRatioF(), style)
        pen.setCosmetic(True)
        return pen


def _length(value: float, *, is_log: bool) -> float | None:
    """The end of a bar; None if it has none."""
    if not math.isfinite(value) or (is_log and value <= 0):
        return None
    return math.log10(value) if is_log else value


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"…{name[-_MAX_NAME + 1 :]}"
