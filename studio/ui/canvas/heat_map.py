"""Colors the nodes of a canvas by a figure: parameters, multiply-adds or memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QRect, QTimer, Signal
from PySide6.QtWidgets import QWidget

from engine.data.file_access import format_bytes
from studio.lowering.analysis.node_facts import NodeInfo
from studio.ui import number_format
from studio.ui.canvas.canvas_style import HEAT_LEVELS
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.heat_legend import HeatLegend

_EDGE, _GAP = 12, 8


class Figure(NamedTuple):
    """A figure of nodes."""

    title: str
    help: str
    value: Callable[[NodeInfo], int]
    format: Callable[[int], str]


FIGURES: dict[str, Figure] = {
    "parameters": Figure(
        "Parameters", "Number of trained values", lambda info: info.parameters, lambda value: f"{value:,}"
    ),
    "macs": Figure("Multiply-adds", "Multiply-adds for one sample", lambda info: info.macs, number_format.macs),
    "memory": Figure("Activation memory", "Size of the outputs for one sample", lambda info: info.memory, format_bytes),
}
"""Figures by key. Those of an instance of a block are the sums of its nodes."""


class HeatMap(QObject):
    """Colors the nodes by their share of a figure, and shows the figure on them."""

    changed = Signal(str)
    """The key of the shown figure; empty for none."""

    def __init__(self, view: CanvasView, other_legend: QWidget) -> None:
        super().__init__(view)
        self._view = view
        self._key = ""
        self._other_legend = other_legend
        """A widget in the same corner; the legend is above it."""
        self.legend = HeatLegend(lambda: self.show_figure(""), view.viewport())
        self.legend.hide()
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
        self._refresh()
        self.changed.emit(key)

    def toggle(self, key: str) -> None:
        """Color nodes by a figure, or remove the colors if they show it."""
        self.show_figure("" if key == self._key else key)

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
            scene.set_heat({}, {})
            return
        infos = self._view.store.report.nodes
        values = {name: value for name in scene.nodes if name in infos and (value := figure.value(infos[name]))}
        total, most = sum(values.values()), max(values.values(), default=0)
        scene.set_heat(heat_levels(values), {name: _text(figure, value, total) for name, value in values.items()})
        self.legend.show_range(figure.title, figure.help, figure.format(most), figure.format(total))
        self.legend.show()
        self._place_legend()

    def _place_legend(self) -> None:
        """Place the legend in the lower left corner, and keep the minimap away from it."""
        placement = self._view.overlays.minimap_placement
        if not self._key:
            placement.set_reserved_area(QRect(), "heat map")
            return
        size, bottom = self.legend.sizeHint(), self._view.viewport().height() - _EDGE
        if self._other_legend.isVisible():
            bottom -= self._other_legend.height() + _GAP
        self.legend.setGeometry(_EDGE, bottom - size.height(), size.width(), size.height())
        placement.set_reserved_area(self.legend.geometry(), "heat map")


def heat_levels(values: Mapping[str, int]) -> dict[str, int]:
    """The level of each node, from 1 to HEAT_LEVELS by its share of the largest value; nodes without one are absent.

    Levels are of equal width in the square root, so that small values differ from none.
    """
    largest = max(values.values(), default=0)
    return {
        name: max(1, min(HEAT_LEVELS, round((value / largest) ** 0.5 * HEAT_LEVELS)))
        for name, value in values.items()
        if value > 0
    }


def _text(figure: Figure, value: int, total: int) -> str:
    share = 100 * value / total
    return f"{figure.format(value)} · {share:.0f}%" if share >= 1 else f"{figure.format(value)} · <1%"


__all__ = ["FIGURES", "Figure", "HeatMap", "heat_levels"]
