"""Roofline plot: kernels by arithmetic intensity and reached arithmetic, under the limits of the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPen

from studio.training.profiling.machine_limits import MachineLimits
from studio.training.profiling.profile_data import PHASE_TITLES, Profile
from studio.training.profiling.roofline import RooflinePoint, roofline
from studio.ui import number_format
from studio.ui.panels.profiler.profile_colors import phase_color
from studio.ui.panels.runs.plot_axis import PlotAxis
from studio.ui.theme import fonts, theme
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.labels import tip

_SMALLEST, _LARGEST = 6.0, 22.0
"""Diameters of points in pixels; their area grows with the time."""
_SHORT = 2.5
"""Length of an axis in powers of ten up to which it has ticks between them."""
_MARGIN = 0.3
"""Room around the points, in powers of ten."""


class RooflinePlot(pg.PlotWidget):
    """A click or the arrow keys choose a kernel."""

    chosen = Signal(object)
    """The RooflinePoint."""

    def __init__(self) -> None:
        self.item = pg.PlotItem(axisItems={"left": PlotAxis("left"), "bottom": PlotAxis("bottom")})
        super().__init__(plotItem=self.item)
        self.points: list[RooflinePoint] = []
        self.current: RooflinePoint | None = None
        self._limits: MachineLimits | None = None
        self._marked: set[str] = set()
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.viewport().setAcceptDrops(False)  # pyqtgraph ignores drags, and Qt warns of each
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setAntialiasing(True)
        self.setMouseEnabled(False, False)
        self.setLogMode(x=True, y=True)
        self.setMinimumSize(240, 140)
        self.item.setContentsMargins(4, 8, 16, 4)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Roofline")
        for side in ("left", "bottom"):
            self.getAxis(side).enableAutoSIPrefix(False)
        self._scatter = pg.ScatterPlotItem(hoverable=True, tip=None)
        self._scatter.sigClicked.connect(self._on_clicked)
        self._scatter.sigHovered.connect(self._on_hovered)
        theme.manager().changed.connect(self._draw)

    def show_profile(self, profile: Profile, limits: MachineLimits) -> None:
        self.points = [point for point in roofline(profile, limits) if point.kernel.flops and point.kernel.bytes]
        self._limits, self.current = limits, None
        self.setAccessibleDescription(f"{len(self.points)} kernels. Arrow keys go from one to the next.")
        self._draw()

    def mark_nodes(self, paths: Sequence[str]) -> None:
        self._marked = set(paths)
        self._draw_points()

    def choose(self, point: RooflinePoint) -> None:
        self.current = point
        text = self.text_of(point)
        self.setAccessibleDescription(text)
        announce(self, text)
        self._draw_points()
        self.chosen.emit(point)

    def text_of(self, point: RooflinePoint) -> str:
        kernel = point.kernel
        phases = ", ".join(PHASE_TITLES[phase] for phase in kernel.phases)
        return (
            f"{kernel.name}\n{phases}: {', '.join(kernel.nodes)}\n"
            f"{number_format.milliseconds(kernel.seconds)}, {kernel.flops_per_second / 1e9:.1f} GFLOP/s, "
            f"{kernel.bytes_per_second / 1e9:.1f} GB/s\n"
            f"{kernel.intensity:.2g} FLOP per byte, {point.share:.0%} of the limit, bound by {point.bound}"
        )

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}.get(
            Qt.Key(ev.key()), 0
        )
        if not step or not self.points:
            super().keyPressEvent(ev)
            return
        index = -1 if self.current is None else self.points.index(self.current)
        self.choose(self.points[min(max(index + step, 0), len(self.points) - 1)])

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if (
            self.current is None
            and self.points
            and event.reason()
            in (
                Qt.FocusReason.TabFocusReason,
                Qt.FocusReason.BacktabFocusReason,
            )
        ):
            self.choose(self.points[0])

    def sizeHint(self) -> QSize:
        return QSize(600, 220)

    # -- drawing

    def _draw(self, *_: object) -> None:
        self.item.clear()
        colors = theme.current()
        self.setBackground(colors.color("surface"))
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(self._pen(colors.color("border"), 1.0))
            axis.setTextPen(colors.color("text-dim"))
            axis.setTickFont(fonts.interface(11))
            axis.setStyle(tickLength=-4, tickTextOffset=4)
        style = {"color": colors.color("text-dim").name(), "font-size": "11px"}
        self.setLabel("bottom", "Arithmetic intensity (FLOP per byte)", **style)
        self.setLabel("left", "GFLOP/s", **style)
        limits = self._limits
        if limits is None:
            return
        self._draw_roof(limits)
        self.item.addItem(self._scatter)
        self._draw_points()

    def _draw_roof(self, limits: MachineLimits) -> None:
        colors = theme.current()
        intensities = [point.kernel.intensity for point in self.points]
        reached = [point.kernel.flops_per_second for point in self.points]
        low, high = min([*intensities, limits.ridge]), max([*intensities, limits.ridge])
        left, right = math.log10(low) - _MARGIN, math.log10(high) + 2 * _MARGIN
        bottom = math.log10(min([*reached, limits.flops]) / 1e9) - _MARGIN
        top = math.log10(max([*reached, limits.flops]) / 1e9) + 2 * _MARGIN
        x = np.array([10**left, limits.ridge, 10**right])
        y = np.minimum(x * limits.bandwidth, limits.flops) / 1e9
        self.plot(x, y, pen=self._pen(colors.color("text-dim"), 2.0))
        for text, at, height in (
            (f"{limits.bandwidth / 1e9:.1f} GB/s", left + 0.05, None),
            (f"{limits.flops / 1e9:,.0f} GFLOP/s", right - 0.05, math.log10(limits.flops / 1e9)),
        ):
            is_left = height is None
            found = math.log10(10**at * limits.bandwidth / 1e9) if height is None else height
            label = pg.TextItem(text, color=colors.color("text-dim"), anchor=(0, 1) if is_left else (1, 0))
            label.setFont(fonts.interface(11))
            label.setPos(at, max(found, bottom))
            self.item.addItem(label, ignoreBounds=True)
        box = self.item.getViewBox()
        self.getAxis("bottom").setTicks([_ticks(left, right)])
        self.getAxis("left").setTicks([_ticks(bottom, top)])
        box.setXRange(left, right, padding=0)
        box.setYRange(bottom, top, padding=0)

    def _draw_points(self) -> None:
        colors = theme.current()
        longest = max((point.kernel.seconds for point in self.points), default=1.0) or 1.0
        spots: list[dict[str, Any]] = []
        for point in self.points:
            kernel = point.kernel
            share = math.sqrt(kernel.seconds / longest)
            is_current = point is self.current
            is_marked = not self._marked.isdisjoint(kernel.nodes)
            token = "accent" if is_current else "target" if is_marked else "surface"
            brush = QColor(phase_color(kernel.phases[0]))
            brush.setAlphaF(0.85)
            spots.append(
                {
                    "pos": (math.log10(kernel.intensity), math.log10(max(kernel.flops_per_second, 1.0) / 1e9)),
                    "size": _SMALLEST + (_LARGEST - _SMALLEST) * share + (4 if is_current else 0),
                    "brush": brush,
                    "pen": self._pen(colors.color(token), 2.5 if is_current or is_marked else 1.0),
                    "data": point,
                }
            )
        self._scatter.setData(spots)

    def _pen(self, color: QColor, width: float) -> QPen:
        pen = QPen(color, width)
        pen.setCosmetic(True)
        return pen

    def _on_clicked(self, _: object, spots: Sequence[Any], *__: object) -> None:
        if len(spots):
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self.choose(spots[0].data())

    def _on_hovered(self, _: object, spots: Sequence[Any], *__: object) -> None:
        self.setToolTip(tip(self.text_of(spots[0].data())) if len(spots) else "")

    def leaveEvent(self, ev: QEvent) -> None:
        self.setToolTip("")
        super().leaveEvent(ev)


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Ticks of a logarithmic axis: powers of ten, and 2 and 5 times as much on a short one."""
    factors = (1, 2, 5) if high - low < _SHORT else (1,)
    values = [factor * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for factor in factors]
    return [(math.log10(value), f"{value:,.10g}") for value in values if low <= math.log10(value) <= high]


__all__ = ["RooflinePlot"]
