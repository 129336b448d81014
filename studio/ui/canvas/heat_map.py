"""Colors the nodes of a canvas by a figure: parameters, multiply-adds, memory or time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QTimer, Signal
from PySide6.QtWidgets import QWidget

from engine.data.file_access import format_bytes
from studio.lowering.analysis.node_facts import NodeInfo
from studio.training.probing.node_times import NodeTime
from studio.ui import number_format
from studio.ui.canvas.canvas_style import HEAT_LEVELS
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.heat_legend import HeatLegend
from studio.ui.canvas.hit_testing import Hit
from studio.ui.project.time_measurer import TimeMeasurer

_EDGE, _GAP = 12, 8


class Figure(NamedTuple):
    """A figure of nodes."""

    title: str
    help: str
    value: Callable[[NodeInfo], float] | None
    """None for a figure that is measured."""
    format: Callable[[float], str]


FIGURES: dict[str, Figure] = {
    "parameters": Figure(
        "Parameters", "Number of trained values", lambda info: info.parameters, lambda value: f"{value:,}"
    ),
    "macs": Figure(
        "Multiply-adds",
        "Multiply-adds for one sample",
        lambda info: info.macs,
        lambda value: number_format.macs(int(value)),
    ),
    "memory": Figure(
        "Activation memory",
        "Size of the outputs for one sample",
        lambda info: info.memory,
        lambda value: format_bytes(int(value)),
    ),
    "time": Figure(
        "Time",
        "Measured time of forward and backward pass for a batch, node by node without compilation",
        None,
        number_format.milliseconds,
    ),
}
"""Figures by key. Those of an instance of a block are the sums of its nodes."""
MEASURED = "time"


class HeatMap(QObject):
    """Colors the nodes by their share of a figure, and shows the figure on them."""

    changed = Signal(str)
    """The key of the shown figure; empty for none."""

    def __init__(self, view: CanvasView, other_legend: QWidget, measurer: TimeMeasurer) -> None:
        super().__init__(view)
        self._measurer = measurer
        self._view = view
        self._key = ""
        self._other_legend = other_legend
        """A widget in the same corner; the legend is above it."""
        self.legend = HeatLegend(lambda: self.show_figure(""), self.measure, view.viewport())
        self.legend.hide()
        view.tooltip_sources.append(self._tooltip)
        measurer.changed.connect(self._refresh)
        view.store.report_changed.connect(self._refresh)
        view.store.location_changed.connect(self._refresh)
        view.viewport().installEventFilter(self)
        other_legend.installEventFilter(self)

    @property
    def key(self) -> str:
        """Key of the shown figure; empty for none."""
        return self._key

    def show_figure(self, key: str) -> None:
        """Color nodes by a figure; an empty or unknown key removes the colors."""
        key = key if key in FIGURES else ""
        if key == self._key:
            return
        self._key = key
        if not self._is_measured:
            self._measurer.cancel()
        self._refresh()
        self.changed.emit(key)

    def toggle(self, key: str) -> None:
        """Color nodes by a figure, or remove the colors if they show it. Measures a figure without values."""
        self.show_figure("" if key == self._key else key)
        if self._is_measured and (self._measurer.times is None or self._measurer.is_stale):
            self._measurer.measure()

    def measure(self) -> None:
        """Color nodes by their time, and measure it now."""
        self.show_figure(MEASURED)
        self._measurer.measure()

    @property
    def _is_measured(self) -> bool:
        """Whether the shown figure is measured."""
        return self._key == MEASURED

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if self._key and event.type() in (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.Move):
            QTimer.singleShot(0, self, self._place_legend)
        return False

    def _refresh(self, *_: object) -> None:
        scene = self._view.canvas_scene
        figure = FIGURES.get(self._key)
        if figure is None:
            self.legend.hide()
            self._place_legend()
            scene.marks.set_heat({}, {})
            return
        values = self._values(figure)
        total, most = sum(values.values()), max(values.values(), default=0)
        scene.marks.set_heat(heat_levels(values), {name: _text(figure, value, total) for name, value in values.items()})
        if self._is_measured and self._measurer.state != "ready":
            self.legend.show_message(figure.title, figure.help, self._progress())
        else:
            note = "before the last edit" if self._is_measured and self._measurer.is_stale else ""
            self.legend.show_range(figure.title, figure.help, figure.format(most), figure.format(total), note)
        self.legend.show_measure(shown=self._is_measured, running=self._measurer.state == "measuring")
        self.legend.show()
        self._place_legend()

    def _values(self, figure: Figure) -> dict[str, float]:
        """The figure of each node that has one."""
        names, infos = self._view.canvas_scene.nodes, self._view.store.report.nodes
        if figure.value is not None:
            return {name: value for name in names if name in infos and (value := figure.value(infos[name]))}
        return {name: found.total for name in names if (found := self._time(name)) is not None and found.total}

    def _time(self, name: str) -> NodeTime | None:
        times = self._measurer.times
        return None if times is None else times.times.get(self._view.store.prefix + name)

    def _progress(self) -> str:
        match self._measurer.state:
            case "measuring":
                return f"Measuring, {self._measurer.share:.0%}"
            case "failed":
                return self._measurer.problem
            case _:
                return "Not measured yet"

    def _tooltip(self, hit: Hit, _: QPointF) -> str:
        """Forward and backward time of the node at the pointer."""
        found = self._time(hit.node) if self._is_measured and hit.node is not None and hit.port is None else None
        if found is None:
            return ""
        forward, backward = number_format.milliseconds(found.forward), number_format.milliseconds(found.backward)
        return f"Forward {forward}, backward {backward} for a batch"

    def _place_legend(self) -> None:
        """Place the legend in the lower left corner, and keep the minimap away from it."""
        placement = self._view.overlays.minimap_placement
        if not self._key:
            placement.set_reserved_area(QRect(), "heat map")
            return
        size, bottom = self.legend.sizeHint(), self._view.viewport().height() - _EDGE
        if self._other_legend.isVisible():
            bottom -= self._other_legend.height() + _GAP
        width = min(size.width(), self._view.viewport().width() - 2 * _EDGE)
        self.legend.setGeometry(_EDGE, bottom - size.height(), width, size.height())
        placement.set_reserved_area(self.legend.geometry(), "heat map")


def heat_levels(values: Mapping[str, float]) -> dict[str, int]:
    """The level of each node, from 1 to HEAT_LEVELS by its share of the largest value; nodes without one are absent.

    Levels are of equal width in the square root, so that small values differ from none.
    """
    largest = max(values.values(), default=0)
    return {
        name: max(1, min(HEAT_LEVELS, round((value / largest) ** 0.5 * HEAT_LEVELS)))
        for name, value in values.items()
        if value > 0
    }


def _text(figure: Figure, value: float, total: float) -> str:
    share = 100 * value / total
    return f"{figure.format(value)} · {share:.0f}%" if share >= 1 else f"{figure.format(value)} · <1%"


__all__ = ["FIGURES", "MEASURED", "Figure", "HeatMap", "heat_levels"]
