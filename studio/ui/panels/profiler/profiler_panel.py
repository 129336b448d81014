"""Profiler panel: flame graph, table, memory and roofline of measured training steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QScrollArea,
    QStackedLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from studio.training.profiling.hints import hints
from studio.training.profiling.machine_limits import MachineLimits
from studio.training.profiling.node_paths import without_copies
from studio.training.profiling.profile_data import Profile, ProfileStage
from studio.training.profiling.profile_tables import profile_record
from studio.training.profiling.profile_tree import TimeItem
from studio.training.profiling.roofline import RooflinePoint
from studio.training.profiling.trace_export import trace_text
from studio.ui import dialogs
from studio.ui.panels.profiler.flame_graph import FlameGraph
from studio.ui.panels.profiler.memory_chart import MemoryChart
from studio.ui.panels.profiler.profile_table import ProfileTable, TableRow
from studio.ui.panels.profiler.profiler_header import ProfilerHeader, stage_text
from studio.ui.panels.profiler.roofline_plot import RooflinePlot
from studio.ui.project.profile_runner import ProfileRunner
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import ElidedLabel, label, line
from studio.ui.widgets.notice_bar import NoticeBar

_EMPTY, _WORKING, _FAILED, _SHOWN = range(4)
_FLAME, _TABLE, _MEMORY, _ROOFLINE = range(4)


class ProfilerPanel(QWidget):
    node_requested = Signal(str)
    """A node should be selected and scrolled into view."""
    status_message = Signal(str)
    """A line for the status bar."""

    def __init__(
        self, store: ProjectStore, runner: TrainingRunner, profiler: ProfileRunner, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._runner, self._profiler = store, runner, profiler
        self._shown: tuple[Profile, MachineLimits] | None = None
        self._reveals = False
        """Whether the selection changes because of the panel itself."""
        exports = {
            "Trace for Perfetto and chrome://tracing…": self.export_trace,
            "Table as CSV…": self.export_csv,
            "Profile as JSON…": self.export_json,
        }
        self.header = ProfilerHeader(start=self.start, cancel=profiler.cancel, exports=exports)
        self.flame = FlameGraph(profiler.category)
        self.table = ProfileTable()
        self.memory = MemoryChart()
        self.hint = ElidedLabel()
        self.stale = NoticeBar("Profile again", self.start, "The graph was edited. This profile is older.")
        self.empty = EmptyState(
            "clock",
            "No profile yet",
            "Measure a few training steps to see which nodes and kernels take the time and memory.",
            action="Profile",
            run=self.start,
        )
        self.failed = EmptyState("error", "The steps could not be profiled", "", action="Try again", run=self.start)
        self.working = _ProgressPage(profiler.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(line())
        self._stack = QStackedLayout()
        # Add the layout before its pages: the first page is shown at once and would open as a window.
        column.addLayout(self._stack, 1)
        for page in (self.empty, self.working, self.failed, self._page()):
            self._stack.addWidget(page)
        self.header.view_chosen.connect(self._views.setCurrentIndex)
        self.flame.chosen.connect(self._choose_item)
        self.table.chosen.connect(self._choose_row)
        self.table.activated.connect(self._choose_row)
        self.memory.chosen.connect(self._reveal)
        profiler.changed.connect(self.refresh)
        runner.state_changed.connect(self._show_run)
        store.document_changed.connect(self._show_stale)
        store.selection_changed.connect(self._mark)
        self.refresh()
        self._show_run()

    def start(self) -> None:
        """Profile the chosen number of steps."""
        self._profiler.start(self.header.steps.value(), eager=self.header.eager.isChecked())

    def refresh(self) -> None:
        """Show the current state."""
        profiler = self._profiler
        self.header.show_profile(profiler.profile)
        self.header.show_stage(profiler.stage)
        self._show_stale()
        if profiler.profile is not None and profiler.limits is not None:
            shown = profiler.profile, profiler.limits
            if self._shown is None or any(a is not b for a, b in zip(self._shown, shown, strict=True)):
                self._show_profile(*shown)
        if profiler.state == "failed":
            self.failed.set_text("The steps could not be profiled", profiler.problem)
            self._stack.setCurrentIndex(_FAILED)
        elif profiler.stage is not None:
            self.working.show_stage(profiler.stage)
            self._stack.setCurrentIndex(_WORKING)
        else:
            self._stack.setCurrentIndex(_EMPTY if profiler.profile is None else _SHOWN)

    def export_trace(self) -> None:
        self._export(
            "Export trace", f"{self._store.name}.trace.json", "JSON (*.json)", lambda profile, _: trace_text(profile)
        )

    def export_csv(self) -> None:
        self._export("Export CSV", f"{self._store.name}-profile.csv", "CSV (*.csv)", lambda *_: self.table.csv_text())

    def export_json(self) -> None:
        self._export(
            "Export profile",
            f"{self._store.name}-profile.json",
            "JSON (*.json)",
            lambda profile, limits: json.dumps(profile_record(profile, limits), indent=2),
        )

    def sizeHint(self) -> QSize:
        return QSize(900, 272)

    # -- pages

    def _page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.stale)
        self._views = QStackedWidget()
        for view in (_scrolled(self.flame), self.table, _scrolled(self.memory), self._roofline_page()):
            self._views.addWidget(view)
        column.addWidget(self._views, 1)
        column.addWidget(line())
        row = QHBoxLayout()
        row.setContentsMargins(12, 4, 12, 4)
        row.setSpacing(8)
        row.addWidget(IconWidget("info", "text-dim"))
        row.addWidget(self.hint, 1)
        column.addLayout(row)
        return page

    def _roofline_page(self) -> QWidget:
        page = QWidget()
        column = self._roofline_column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        row = QHBoxLayout()
        row.setContentsMargins(12, 2, 8, 4)
        self.limits = ElidedLabel()
        self.limits.setProperty("role", "dim")
        row.addWidget(self.limits, 1)
        self.measure = buttons.text_button("Measure again", self._profiler.measure_limits)
        self.measure.setToolTip("Measure the limits of this machine again, best while nothing else runs")
        row.addWidget(self.measure)
        column.addLayout(row)
        return page

    @cached_property
    def roofline(self) -> RooflinePlot:
        """The plot, made for the first profile: it takes longer than the rest of the panel."""
        plot = RooflinePlot()
        plot.chosen.connect(self._choose_point)
        self._roofline_column.insertWidget(0, plot, 1)
        return plot

    def _show_profile(self, profile: Profile, limits: MachineLimits) -> None:
        is_new = self._shown is None or self._shown[0] is not profile
        self._shown = profile, limits
        if is_new:
            self.flame.show_profile(profile)
            self.memory.show_memory(profile.memory)
        self.table.show_profile(profile, limits)
        self.roofline.show_profile(profile, limits)
        self.limits.setText(
            f"{limits.name}, measured {limits.measured[:10]}: {limits.flops / 1e9:,.0f} GFLOP/s, "
            f"{limits.bandwidth / 1e9:,.1f} GB/s"
        )
        found = hints(profile, limits)
        self.hint.setText(" ".join(hint.text for hint in found) or "No hints: nothing stands out.")
        self._mark(self._store.selection)

    def _show_stale(self, *_: object) -> None:
        self.stale.setVisible(self._profiler.profile is not None and self._profiler.is_stale)

    def _show_run(self, *_: object) -> None:
        self.header.show_run(running=self._runner.state == "running")

    # -- selection

    def _mark(self, paths: frozenset[str]) -> None:
        """Highlight the nodes that are selected on the canvas."""
        if self._shown is None:
            return
        selected = sorted({without_copies(path) for path in paths})
        self.flame.mark_nodes(selected)
        self.memory.mark_nodes(selected)
        self.roofline.mark_nodes(selected)
        if not self._reveals:
            self.table.mark_nodes(selected)

    def _choose_item(self, item: TimeItem) -> None:
        if item.path:
            self._reveal(item.path)

    def _choose_row(self, row: TableRow) -> None:
        if row.nodes:
            self._reveal(row.nodes[0])

    def _choose_point(self, point: RooflinePoint) -> None:
        if point.kernel.nodes:
            self._reveal(point.kernel.nodes[0])

    def _reveal(self, path: str) -> None:
        """Select a node on the canvas."""
        self._reveals = True
        try:
            self.node_requested.emit(path.partition(", ")[0])
        finally:
            self._reveals = False

    # -- export

    def _export(self, title: str, name: str, kind: str, text: Callable[[Profile, MachineLimits], str]) -> None:
        path = dialogs.profile_to_save(self, title, Path(name), kind)
        if path is not None:
            problem = self._profiler.write(path, text)
            self.status_message.emit(problem or f"Exported {path}")


class _ProgressPage(QWidget):
    """What is measured, and how far."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 16, 24, 16)
        column.setSpacing(10)
        column.addStretch(1)
        self._text = label("", "dim")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(240)
        self._bar.setAccessibleName("Progress of the profile")
        button = buttons.text_button("Cancel", cancel)
        for widget in (self._text, self._bar, button):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)

    def show_stage(self, stage: ProfileStage) -> None:
        self._text.setText(stage_text(stage))
        self._bar.setRange(0, stage.total)
        self._bar.setValue(stage.done)


def _scrolled(widget: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidget(widget)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the widget inside has the keys
    return area


__all__ = ["ProfilerPanel"]
