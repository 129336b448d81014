"""A plot of one quantity of all runs over steps, epochs or time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np
import pyqtgraph as pg
from pyqtgraph.GraphicsScene.mouseEvents import MouseClickEvent
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QKeyEvent, QMouseEvent, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.training.runs.curves import Axis
from studio.training.runs.metric_points import MetricKind
from studio.training.runs.run_history import Curve, Run
from studio.training.runs.smoothing import smooth_at
from studio.ui import number_format
from studio.ui.panels.runs.checkpoint_marks import CheckpointMark, CheckpointMarks
from studio.ui.panels.runs.crosshair_readout import CrosshairReadout, Reading
from studio.ui.panels.runs.curves_item import CurvesItem, PlotOptions, run_color
from studio.ui.panels.runs.plot_axis import PlotAxis
from studio.ui.panels.runs.step_marker import StepMarker
from studio.ui.theme import fonts, theme

_PAGE = 10
"""Measured steps that Page Up, Page Down and the arrow keys with Shift skip."""

AXES: dict[Axis, str] = {"epoch": "Epoch", "step": "Step", "seconds": "Training time (s)"}


class CurvePlot(pg.PlotWidget):
    hovered = Signal(object)
    """X coordinate under the pointer; None when the pointer leaves."""
    step_dragged = Signal(float)
    """Position on the horizontal axis to which the marker of the shown step was dragged."""
    steps_moved = Signal(int)
    """A key asked for the measured step that is this number of steps later."""
    end_requested = Signal(bool)
    """A key asked for the first measured step (True) or the last one."""
    menu_requested = Signal(float, QPoint)
    """A menu was asked for at a position on the horizontal axis, and on the screen."""

    def __init__(self, quantity: str, parent: QWidget | None = None) -> None:
        self.item = pg.PlotItem(axisItems={side: PlotAxis(side) for side in ("left", "bottom")})
        super().__init__(parent, plotItem=self.item)
        self.quantity = quantity
        self.curves = CurvesItem(quantity)
        self.item.addItem(self.curves)
        self._runs: Sequence[Run] = ()
        self.seconds = 0.0
        """Duration of the last paint, in seconds."""
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.viewport().setAcceptDrops(False)  # pyqtgraph ignores drags, and Qt warns of each
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setAntialiasing(True)
        self.setMinimumSize(136, 110)
        self.setAccessibleName(f"{title(quantity)} of the runs")
        self.item.setContentsMargins(4, 8, 12, 4)
        box = self.item.getViewBox()
        box.setDefaultPadding(0.03)
        box.sigRangeChanged.connect(self._settle)
        self._cross = pg.InfiniteLine(angle=90)
        self._cross.hide()
        self.item.addItem(self._cross, ignoreBounds=True)
        self._readout = CrosshairReadout(self)
        self.checkpoints = CheckpointMarks()
        self.item.addItem(self.checkpoints, ignoreBounds=True)
        self.hits = CheckpointMarks()
        """Steps at which breakpoints paused runs."""
        self.item.addItem(self.hits, ignoreBounds=True)
        self.marker, self.base_marker = StepMarker(), StepMarker(is_base=True)
        for marker in (self.base_marker, self.marker):
            self.item.addItem(marker, ignoreBounds=True)
        self.marker.sigDragged.connect(self._drag)
        assert self.sceneObj is not None
        self.sceneObj.sigMouseClicked.connect(self._click)
        for side in ("left", "bottom"):  # before there are values: later, the call itself scales an axis below 1
            self.getAxis(side).enableAutoSIPrefix(False)
        theme.manager().changed.connect(self._apply_theme)
        self._apply_theme()

    @property
    def shown(self) -> PlotOptions:
        return self.curves.shown

    def show_runs(self, runs: Sequence[Run], shown: PlotOptions, highlighted: Run | None = None) -> None:
        """Draw these runs in the colors of their numbers."""
        before = self.shown
        self._runs = runs
        self.curves.show_runs(runs, shown, highlighted)
        self._settle()
        if (before.log_x, before.log_y) != (shown.log_x, shown.log_y):
            self.setLogMode(x=shown.log_x, y=shown.log_y)
        if (before.axis, before.log_x, before.log_y) != (shown.axis, shown.log_x, shown.log_y):
            self._label_axes()
            self.reset()

    def reset(self) -> None:
        """Fit all curves, and keep fitting while they grow."""
        self.enableAutoRange()

    def point_at(self, x: float | None, *, shows_values: bool = False) -> None:
        """Draw the crosshair at `x` in view coordinates, if it is not None."""
        self._cross.setVisible(x is not None)
        if x is not None:
            self._cross.setPos(x)
        if x is None or not shows_values:
            self._readout.hide()

    def mark_steps(self, shown: float | None, base: float | None) -> None:
        """Mark the shown step and the one that it is compared with, by positions on the axis; None: no mark."""
        for marker, at in ((self.marker, shown), (self.base_marker, base)):
            marker.show_at(None if at is None or (self.shown.log_x and at <= 0) else self._to_view(at))

    def mark_checkpoints(self, found: Iterable[tuple[Run, int, float]]) -> None:
        """Mark checkpoints: the run, the step, and the position on the axis."""
        marks = [
            CheckpointMark(run, step, self._to_view(at))
            for run, step, at in found
            if not (self.shown.log_x and at <= 0)
        ]
        self.checkpoints.show_marks(marks)

    def mark_hits(self, found: Iterable[tuple[Run, int, float, str]]) -> None:
        """Mark hits of breakpoints: the run, the step, the position on the axis, and the reason."""
        self.hits.show_marks(
            [
                CheckpointMark(run, step, self._to_view(at), reason)
                for run, step, at, reason in found
                if not (self.shown.log_x and at <= 0)
            ]
        )

    def checkpoint_at(self, position: float) -> CheckpointMark | None:
        """The mark at a position on the horizontal axis."""
        return self.checkpoints.near(self._to_view(position)) if position > 0 or not self.shown.log_x else None

    def paintEvent(self, ev: QPaintEvent) -> None:
        began = time.perf_counter()
        super().paintEvent(ev)
        self.seconds = time.perf_counter() - began

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.reset()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        super().mouseMoveEvent(ev)
        self._hover(self.mapToScene(ev.position().toPoint()))

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -_PAGE, Qt.Key.Key_PageDown: _PAGE}
        key = Qt.Key(ev.key())
        if key in steps:
            is_fast = ev.modifiers() & Qt.KeyboardModifier.ShiftModifier and abs(steps[key]) == 1
            self.steps_moved.emit(steps[key] * (_PAGE if is_fast else 1))
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.end_requested.emit(key == Qt.Key.Key_Home)
        else:
            super().keyPressEvent(ev)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the marker with a key; the mouse opens one where it is clicked."""
        event.accept()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            at = self.marker.at if self.marker.isVisible() else self.getViewBox().viewRect().center().x()
            center = self.viewport().mapToGlobal(self.viewport().rect().center())
            self.menu_requested.emit(self._from_view(at), center)

    def changeEvent(self, ev: QEvent) -> None:
        super().changeEvent(ev)
        if ev.type() == QEvent.Type.DevicePixelRatioChange:
            self._apply_theme()

    def leaveEvent(self, ev: QEvent) -> None:
        self.hovered.emit(None)
        super().leaveEvent(ev)

    def _settle(self, *_: object) -> None:
        """Update the other axis range before painting, to avoid a second paint."""
        if self.sceneObj is not None:
            self.sceneObj.prepareForPaint()

    # -- appearance

    def _apply_theme(self, *_: object) -> None:
        colors = theme.current()
        self.setBackground(colors.color("surface"))
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(self._pen(colors.color("border")))
            axis.setTextPen(colors.color("text-dim"))
            axis.setTickFont(fonts.interface(11))
            axis.setStyle(tickLength=-4, tickTextOffset=4)
        self.getAxis("bottom").setHeight(36)
        self._label_axes()
        self.showGrid(x=False, y=True, alpha=0.6)
        self._cross.setPen(self._pen(colors.color("border-strong")))
        self.marker.set_color(colors.color("accent"), self.devicePixelRatioF())
        self.base_marker.set_color(colors.color("text-dim"), self.devicePixelRatioF())
        self.curves.update()

    def _label_axes(self) -> None:
        style = {"color": theme.current().color("text-dim").name(), "font-size": "11px"}
        self.setLabel("left", title(self.quantity), **style)
        self.setLabel("bottom", AXES[self.shown.axis], **style)

    def _pen(self, color: QColor) -> QPen:
        """A one-pixel pen of constant width, in device pixels."""
        pen = QPen(color, self.devicePixelRatioF())
        pen.setCosmetic(True)
        return pen

    # -- the shown step

    def _to_view(self, position: float) -> float:
        return float(np.log10(position)) if self.shown.log_x else position

    def _from_view(self, x: float) -> float:
        return 10 ** min(x, 300.0) if self.shown.log_x else x

    def _drag(self, marker: StepMarker) -> None:
        self.step_dragged.emit(self._from_view(marker.at))

    def _click(self, event: MouseClickEvent) -> None:
        if event.button() == Qt.MouseButton.RightButton:
            x = self.getViewBox().mapSceneToView(event.scenePos()).x()
            self.menu_requested.emit(self._from_view(x), event.screenPos().toPoint())

    # -- values under the pointer

    def _hover(self, position: QPointF) -> None:
        box = self.getViewBox()
        readings: list[Reading] = []
        x = box.mapSceneToView(position).x()
        at = self._from_view(x)
        if box.sceneBoundingRect().contains(position):
            readings = [
                Reading(run.name, kind, value, run_color(run))
                for run in self._runs
                if run.is_shown
                for kind in self._kinds()
                if (value := self._value(run.curve(self.quantity, kind), at, kind)) is not None
            ]
        if not readings:
            self.hovered.emit(None)
            return
        self.hovered.emit(x)
        mark = self.hits.near(x) or self.checkpoint_at(at)
        title = _x_text(at, self.shown.axis) if mark is None else mark.title
        self._readout.show_at(self.mapFromScene(position), title, readings)

    def _kinds(self) -> list[MetricKind]:
        kinds: tuple[tuple[MetricKind, bool], ...] = (
            ("train", self.shown.train),
            ("validation", self.shown.validation),
        )
        return [kind for kind, is_shown in kinds if is_shown]

    def _value(self, curve: Curve | None, x: float, kind: MetricKind) -> float | None:
        """The point nearest to `x`, smoothed as drawn."""
        if curve is None or not len(curve):
            return None
        positions, x = curve.positions(self.shown.axis), x * curve.unit(self.shown.axis)
        index = int(np.clip(np.searchsorted(positions, x), 0, len(positions) - 1))
        if index and abs(positions[index - 1] - x) < abs(positions[index] - x):
            index -= 1
        is_smooth = kind == "train" and len(curve) > 1
        return smooth_at(curve.column.values, self.shown.smoothing if is_smooth else 0.0, index)


def title(quantity: str) -> str:
    """Axis title: "Learning rate", or "Loss of discriminator_adam" when each of several optimizers has one."""
    metric, _, optimizer = quantity.partition("/")
    text = metric.replace("_", " ").capitalize()
    return f"{text} of {optimizer}" if optimizer else text


def _x_text(x: float, axis: Axis) -> str:
    match axis:
        case "epoch":
            return f"Epoch {x:.2f}"
        case "step":
            return f"Step {x:,.0f}"
        case "seconds":
            return f"After {number_format.duration(max(x, 0.0))}"


__all__ = ["AXES", "CurvePlot", "PlotOptions", "run_color", "title"]
