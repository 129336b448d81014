"""One plot: a quantity of all runs over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.ui import fonts, theme
from studio.ui.panels.runs.readout import Reading, Readout
from studio.ui.runs import Curve, Kind, Run

_FEW = 40
"""Up to so many validation points are drawn as dots too: a single one is no line."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What all plots of the panel draw."""

    train: bool = True
    validation: bool = True
    logarithmic: bool = False
    smoothing: float = 0.9


@dataclass(slots=True)
class _Lines:
    """What one run is drawn with."""

    raw: pg.PlotDataItem
    smooth: pg.PlotDataItem
    validation: pg.PlotDataItem

    def all(self) -> tuple[pg.PlotDataItem, ...]:
        return self.raw, self.smooth, self.validation


class CurvePlot(pg.PlotWidget):
    """Train solid over its raw values, validation dashed, one colour for each run."""

    def __init__(self, quantity: str, parent: QWidget | None = None) -> None:
        self.item = pg.PlotItem()
        super().__init__(parent, plotItem=self.item)
        self.quantity = quantity
        self.shown = Shown()
        self._runs: Sequence[Run] = ()
        self._lines: dict[int, _Lines] = {}
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setAntialiasing(True)
        self.setMinimumSize(220, 120)
        self.setAccessibleName(f"{quantity} over epochs")
        self.item.setContentsMargins(4, 8, 12, 4)
        self.item.getViewBox().setDefaultPadding(0.03)
        self._cross = pg.InfiniteLine(angle=90)
        self._cross.hide()
        self.item.addItem(self._cross, ignoreBounds=True)
        self._readout = Readout(self)
        theme.manager().changed.connect(self._paint_anew)
        self._paint_anew()

    def show_runs(self, runs: Sequence[Run], shown: Shown) -> None:
        """Draw these runs, each in the colour that its number has."""
        if shown.logarithmic != self.shown.logarithmic:
            self.setLogMode(x=False, y=shown.logarithmic)
        self._runs, self.shown = runs, shown
        present = {run.number for run in runs if run.is_shown}
        for number in [number for number in self._lines if number not in present]:
            for line in self._lines.pop(number).all():
                self.removeItem(line)
        for run in runs:
            if run.is_shown:
                self._draw(run)

    def reset(self) -> None:
        """All of the curves in view again, also while they grow."""
        self.enableAutoRange()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.reset()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        super().mouseMoveEvent(ev)
        self._hover(self.mapToScene(ev.position().toPoint()))

    def changeEvent(self, ev: QEvent) -> None:
        super().changeEvent(ev)
        if ev.type() == QEvent.Type.DevicePixelRatioChange:
            self._paint_anew()

    def leaveEvent(self, ev: QEvent) -> None:
        self._cross.hide()
        self._readout.hide()
        super().leaveEvent(ev)

    # -- drawing

    def _draw(self, run: Run) -> None:
        lines = self._lines.get(run.number) or self._make(run.number)
        train, validation = run.curve(self.quantity, "train"), run.curve(self.quantity, "validation")
        smooth = self.shown.smoothing if train is not None and len(train) > 1 else 0.0
        if train is not None and self.shown.train:
            x = train.x
            self._set(lines.raw, x, train.y if smooth else None)
            self._set(lines.smooth, x, train.smooth(smooth))
        else:
            self._set(lines.raw, np.empty(0), None)
            self._set(lines.smooth, np.empty(0), None)
        if validation is not None and self.shown.validation:
            self._set(lines.validation, validation.x, validation.y)
            lines.validation.setSymbolSize(5 if len(validation) <= _FEW else 0)
        else:
            self._set(lines.validation, np.empty(0), None)

    def _set(self, line: pg.PlotDataItem, x: np.ndarray, y: np.ndarray | None) -> None:
        if y is None:
            line.setData([], [])
            return
        if self.shown.logarithmic:
            y = np.where(y > 0, y, np.nan)
        line.setData(x, y, connect="finite")

    def _make(self, number: int) -> _Lines:
        lines = _Lines(*(self.plot([], []) for _ in range(3)))
        for line in (lines.raw, lines.smooth):
            line.setDownsampling(auto=True, method="peak")
            line.setClipToView(True)
        self._lines[number] = lines
        self._color(number)
        return lines

    def _color(self, number: int) -> None:
        lines, color = self._lines[number], run_color(number)
        faint = QColor(color)
        faint.setAlphaF(0.5)
        lines.raw.setPen(self._pen(faint, 1.0))
        lines.smooth.setPen(self._pen(color, 2.0))
        lines.validation.setPen(self._pen(color, 2.0, Qt.PenStyle.DashLine))
        lines.validation.setSymbolBrush(color)
        lines.validation.setSymbolPen(None)
        lines.validation.setSymbol("o")

    def _paint_anew(self, *_: object) -> None:
        colors = theme.current()
        self.setBackground(colors.color("surface"))
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(self._pen(colors.color("border"), 1.0))
            axis.setTextPen(colors.color("text-dim"))
            axis.setTickFont(fonts.interface(11))
            axis.setStyle(tickLength=-4, tickTextOffset=4)
            axis.enableAutoSIPrefix(False)
        self.getAxis("bottom").setHeight(36)
        style = {"color": colors.color("text-dim").name(), "font-size": "11px"}
        self.setLabel("left", title(self.quantity), **style)
        self.setLabel("bottom", "Epoch", **style)
        self.showGrid(x=False, y=True, alpha=0.6)
        self._cross.setPen(self._pen(colors.color("border-strong"), 1.0))
        for number in self._lines:
            self._color(number)

    def _pen(self, color: QColor, width: float, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
        """A pen that no zoom of the plot widens. Such pens are measured in pixels of the device."""
        pen = QPen(color, width * self.devicePixelRatioF(), style)
        pen.setCosmetic(True)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        return pen

    # -- values under the pointer

    def _hover(self, place: QPointF) -> None:
        box = self.getViewBox()
        if not box.sceneBoundingRect().contains(place) or not self._lines:
            self._cross.hide()
            self._readout.hide()
            return
        x = box.mapSceneToView(place).x()
        readings = [
            Reading(run.name, kind, value, run_color(run.number))
            for run in self._runs
            if run.is_shown
            for kind in self._kinds()
            if (value := _value(run.curve(self.quantity, kind), x, kind, self.shown.smoothing)) is not None
        ]
        self._cross.setPos(x)
        self._cross.setVisible(bool(readings))
        self._readout.show_at(self.mapFromScene(place), x, readings)

    def _kinds(self) -> list[Kind]:
        kinds: list[Kind] = []
        if self.shown.train:
            kinds.append("train")
        if self.shown.validation:
            kinds.append("validation")
        return kinds


def run_color(number: int) -> QColor:
    """The colour of a run, by its number."""
    series = theme.current().series
    return QColor(series[(number - 1) % len(series)])


def title(quantity: str) -> str:
    return quantity.replace("_", " ").capitalize()


def _value(curve: Curve | None, x: float, kind: Kind, smoothing: float) -> float | None:
    """The point nearest to `x`, smoothed as it is drawn."""
    if curve is None or not len(curve):
        return None
    times = curve.x
    index = int(np.clip(np.searchsorted(times, x), 0, len(times) - 1))
    if index and abs(times[index - 1] - x) < abs(times[index] - x):
        index -= 1
    values = curve.smooth(smoothing) if kind == "train" and len(curve) > 1 else curve.y
    return float(values[index])
