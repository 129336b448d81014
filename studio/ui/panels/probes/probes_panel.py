"""Probes panel: all probes of the project, live while a run trains."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QStackedLayout, QVBoxLayout, QWidget

from studio.training.probing.probe_list import Probe
from studio.ui.canvas.probes.probe_menu import CHECK
from studio.ui.panels.probes.probe_tile import ProbeTile
from studio.ui.project.probes.probe_computer import ProbeComputer
from studio.ui.project.probes.probe_store import ProbeKey, ProbeStore
from studio.ui.settings import Settings
from studio.ui.theme import fonts
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.flow_layout import FlowLayout
from studio.ui.widgets.inputs import SpinBox
from studio.ui.widgets.labels import ElidedLabel, label

_VIEWER = "panel"
_MAX_INTERVAL = 1_000_000
_BELOW = 8
"""Space below the probes."""


class ProbesPanel(QWidget):
    node_requested = Signal(str)
    """Path of a node to show on the canvas."""

    def __init__(
        self, probes: ProbeStore, computer: ProbeComputer, settings: Settings, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._probes, self._computer, self._settings = probes, computer, settings
        self._in_sight = False
        self.tiles: dict[ProbeKey, ProbeTile] = {}
        self._empty = EmptyState(
            "eye",
            "No probes yet",
            "Select a wire or a node and press Shift+P to see its values, gradients and images here and on the canvas.",
        )
        self.interval = SpinBox()
        self.interval.setRange(0, _MAX_INTERVAL)
        self.interval.setValue(computer.interval)
        self.interval.setSpecialValueText("never")
        self.interval.setAccessibleName("Steps between updates while a run trains (0: never)")
        self.interval.setToolTip(self.interval.accessibleName())
        self.interval.valueChanged.connect(self._set_interval)
        self.check = buttons.text_button(CHECK, computer.verify, icon="check")
        self.check.setToolTip(
            "Compute the shown values again with the training program, and show the largest difference"
        )
        self._summary = ElidedLabel()
        self._summary.setProperty("role", "dim")
        self._summary.setFont(fonts.interface(12))
        bar = self._bar = QHBoxLayout()
        bar.setContentsMargins(12, 4, 8, 4)
        bar.setSpacing(8)
        bar.addWidget(self._summary, 1)
        bar.addWidget(label("Update every", "dim"))
        bar.addWidget(self.interval)
        bar.addWidget(label("steps", "dim"))
        bar.addWidget(self.check)
        bar.addWidget(buttons.icon_button("reset", "Compute again", computer.refresh))
        self._grid = QWidget()
        rows = QVBoxLayout(self._grid)
        rows.setContentsMargins(12, 0, 12, _BELOW)
        self._flow = FlowLayout(spacing=8)
        rows.addLayout(self._flow)
        rows.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setAccessibleName("Probes")
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._grid)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self._scroll, 1)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(page)
        probes.changed.connect(self._apply)
        computer.changed.connect(self._show_results)
        self._apply()

    def set_in_sight(self, in_sight: bool) -> None:
        """Set whether the user sees the panel: probes are computed only then."""
        self._in_sight = in_sight
        self._watch()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = self.height() - self._bar.sizeHint().height() - _BELOW
        for tile in self.tiles.values():
            tile.fit_height(room)

    def _apply(self) -> None:
        """Show the probes of the project, and no others."""
        shown = {probe.key: probe for probe in self._probes.probes}
        for key in self.tiles.keys() - shown.keys():
            tile = self.tiles.pop(key)
            self._flow.removeWidget(tile)
            tile.deleteLater()
        for key, probe in shown.items():
            if key not in self.tiles:
                self.tiles[key] = ProbeTile(probe, self._probes, self._reveal)
                self._flow.addWidget(self.tiles[key])
        self._fit()
        self._stack.setCurrentIndex(1 if shown else 0)
        self._show_results()
        self._watch()

    def _show_results(self) -> None:
        for probe in self._probes.probes:
            if probe.key in self.tiles:
                self.tiles[probe.key].show_probe(probe, self._computer.result(probe.key))
        results = [tile.result for tile in self.tiles.values()]
        checked = [each.verification for each in results if each.verification is not None]
        text = "Computing…" if self._computer.is_busy and not any(each.view for each in results) else ""
        if checked:
            confirmed = sum(each.is_confirmed for each in checked)
            text = f"{confirmed} of {len(checked)} checked probes are confirmed"
            if confirmed == len(checked):
                text += f", largest difference {max(each.difference for each in checked):.2g}"
        self._summary.setText(text or f"{len(results)} {'probe' if len(results) == 1 else 'probes'}")

    def _watch(self) -> None:
        self._computer.watch(_VIEWER, self.tiles if self._in_sight else ())

    def _set_interval(self, steps: int) -> None:
        self._computer.set_interval(steps)
        self._settings.probe_interval = steps

    def _reveal(self, probe: Probe) -> None:
        self.node_requested.emit(probe.node)


__all__ = ["ProbesPanel"]
