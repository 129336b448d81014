"""The views of one project: the canvas and the panels, connected to each other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QObject, QRectF, QTimer, Signal
from PySide6.QtWidgets import QWidget

from engine import fit
from studio.document.model import Document
from studio.training.session_events import BreakpointsHit, Failed, StateChanged, Warned
from studio.ui import number_format
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.coloring.color_by import ColorBy
from studio.ui.canvas.coloring.compile_overlay import CompileOverlay
from studio.ui.canvas.coloring.region_layer import Choice
from studio.ui.canvas.comparison.canvas_comparison import CanvasComparison
from studio.ui.canvas.comparison.fix_preview_layer import FixPreviewLayer
from studio.ui.canvas.graph_break_mending import GraphBreakMending
from studio.ui.canvas.layers.step_layer import StepLayer
from studio.ui.canvas.probes.probe_cards import ProbeCards
from studio.ui.canvas.wires.wire_statistics_tooltip import WireStatisticsTooltip
from studio.ui.palette import PalettePanel
from studio.ui.palette.palette_offers import PaletteOffers
from studio.ui.panels.autograd.autograd_panel import AutogradPanel
from studio.ui.panels.breakpoints.breakpoints_panel import BreakpointsPanel
from studio.ui.panels.breakpoints.hit_bar import HitBar
from studio.ui.panels.code.code_panel import CodePanel
from studio.ui.panels.compile.compile_panel import CompilePanel
from studio.ui.panels.data.data_panel import DataPanel
from studio.ui.panels.history.history_panel import HistoryPanel
from studio.ui.panels.inspector.block_library_row import block_library_row
from studio.ui.panels.inspector.code_window import code_window_row
from studio.ui.panels.inspector.fit_from_data import fit_from_data_row
from studio.ui.panels.inspector.inspector_panel import InspectorPanel
from studio.ui.panels.inspector.instance_section import instance_section
from studio.ui.panels.inspector.port_order import port_section
from studio.ui.panels.lesson.lesson_panel import LessonPanel
from studio.ui.panels.log_panel import LogPanel
from studio.ui.panels.probes.probes_panel import ProbesPanel
from studio.ui.panels.problems_panel import ProblemsPanel
from studio.ui.panels.profiler.profiler_panel import ProfilerPanel
from studio.ui.panels.runs.runs_panel import RunsPanel
from studio.ui.panels.stepping.step_panel import StepPanel
from studio.ui.project.background_inspector import BackgroundInspector
from studio.ui.project.block_libraries import BlockLibraries
from studio.ui.project.block_library_actions import BlockLibraryActions
from studio.ui.project.breakpoint_store import BreakpointStore
from studio.ui.project.data_previewer import DataPreviewer
from studio.ui.project.probes.probe_computer import ProbeComputer
from studio.ui.project.probes.probe_store import ProbeStore
from studio.ui.project.project import Project
from studio.ui.project.step_recordings import StepRecordings
from studio.ui.project.time_measurer import TimeMeasurer
from studio.ui.project.transform_fitter import TransformFitter
from studio.ui.project.wire_statistics import WireStatisticsSource
from studio.ui.settings import Settings
from studio.ui.theme.theme import ThemeManager
from studio.ui.trials.trial_dialog import TrialDialog, TrialFactory
from studio.ui.widgets import buttons
from studio.ui.window.dock_area import DockArea

_LIVE_VALUES_MS = 200
"""Minimum interval between updates of live numbers on the canvas; each update repaints part of it."""


class ProjectView(QObject):
    zoomed = Signal(float)
    status_message = Signal(str)
    """A status-line message."""
    problems_requested = Signal()
    """A run did not start because of errors: show the Problems panel."""
    breakpoints_requested = Signal()
    """A breakpoint is added from the canvas: show the Breakpoints panel."""
    graph_break_requested = Signal()
    """A graph-break marker was clicked on the canvas: show the Compile panel."""

    def __init__(
        self,
        project: Project,
        settings: Settings,
        themes: ThemeManager,
        offers: PaletteOffers,
        libraries: BlockLibraries,
        docks: DockArea,
    ) -> None:
        super().__init__(project)
        self.project = project
        store, runner = project.store, project.runner
        self.canvas = CanvasView(project.scope, themes, offers)
        self.fitter = TransformFitter(store, self)
        palette = PalettePanel(project.scope, themes, offers, docks["palette"].panel_parent)
        palette.requested.connect(self.canvas.add_at_center)
        self.block_library = BlockLibraryActions(project.scope, libraries, self)
        palette.manage_blocks(self.block_library)
        self.inspector = InspectorPanel(
            project.scope,
            [
                partial(code_window_row, project.scope),
                partial(fit_from_data_row, self.fitter),
                partial(instance_section, project.scope, self.canvas.block_actions.unpack),
                partial(block_library_row, self.block_library, project.scope),
                partial(port_section, project.scope),
            ],
            docks["inspector"].panel_parent,
            several=self._group_button,
        )
        self.runs = RunsPanel(store, runner, project.library, project.moment, settings, docks["runs"].panel_parent)
        self.problems = ProblemsPanel(store, project.fix_trials, docks["problems"].panel_parent)
        self.previewer = DataPreviewer(store, self)
        self.data = DataPanel(store, self.previewer, docks["data"].panel_parent)
        self.data_inspector = BackgroundInspector(store, self)
        self.autograd = AutogradPanel(store, runner, docks["autograd"].panel_parent)
        self.compile = CompilePanel(
            store, runner, project.explainer, project.break_mender, docks["compile"].panel_parent
        )
        self.profiler = ProfilerPanel(store, runner, project.profiler, docks["profiler"].panel_parent)
        self.code = CodePanel(store, docks["code"].panel_parent)
        self.log = LogPanel(docks["log"].panel_parent)
        self.history = HistoryPanel(store, docks["history"].panel_parent)
        self.lesson = LessonPanel(docks["lesson"].panel_parent)
        self.profiler.node_requested.connect(self.canvas.reveal)
        self.profiler.status_message.connect(self.status_message)
        self.overlay = CompileOverlay(self.canvas, project.explainer)
        self.break_mending = GraphBreakMending(
            self.canvas, self.overlay, project.explainer, project.break_mender, store
        )
        self.time_measurer = TimeMeasurer(store, runner, self)
        self.color_by = ColorBy(self.canvas, self.overlay, self.time_measurer, project.moment)
        self.comparison = CanvasComparison(self.canvas)
        self.wire_statistics = WireStatisticsSource(store, project.scope, runner, project.moment, self)
        WireStatisticsTooltip(self.canvas, self.wire_statistics)
        self.probe_store = ProbeStore(store, settings, self)
        self.probe_computer = ProbeComputer(
            store, runner, project.moment, self.probe_store, settings.probe_interval, self
        )
        self.canvas.probes = self.probe_cards = ProbeCards(self.canvas, self.probe_store, self.probe_computer)
        self.probes = ProbesPanel(self.probe_store, self.probe_computer, settings, docks["probes"].panel_parent)
        scene = self.canvas.canvas_scene
        self.fix_preview = FixPreviewLayer(
            project.scope, store.fix_previewer, scene.paint_context, scene.nodes, scene.wires
        )
        scene.addItem(self.fix_preview)
        self.step_recordings = StepRecordings(store, runner, self)
        self.step_layer = StepLayer(project.scope, self.step_recordings, scene.paint_context, scene.nodes, scene.wires)
        scene.addItem(self.step_layer)
        self.breakpoint_store = BreakpointStore(store, runner, self)
        self.breakpoints = BreakpointsPanel(self.breakpoint_store, docks["breakpoints"].panel_parent)
        self.stepping = StepPanel(self.step_recordings, docks["stepping"].panel_parent)
        self.stepping.sight_changed.connect(self.step_layer.set_shown)
        self.step_recordings.moved.connect(self._reveal_step)
        self.hit_bar = HitBar(self.canvas, self.breakpoint_store, runner)
        self.canvas.breakpoints = self.breakpoint_store
        scene.show_breakpoints(self.breakpoint_store.paths)
        self.breakpoint_store.changed.connect(scene.refresh_breakpoints)
        self.panels: dict[str, QWidget] = {
            "palette": palette,
            "inspector": self.inspector,
            "runs": self.runs,
            "problems": self.problems,
            "data": self.data,
            "autograd": self.autograd,
            "compile": self.compile,
            "profiler": self.profiler,
            "code": self.code,
            "log": self.log,
            "history": self.history,
            "lesson": self.lesson,
            "probes": self.probes,
            "breakpoints": self.breakpoints,
            "stepping": self.stepping,
        }
        self._settings = settings
        self._latest: fit.Step | None = None
        self._live_values_timer = QTimer(self)
        self._live_values_timer.setSingleShot(True)
        self._live_values_timer.setInterval(_LIVE_VALUES_MS)
        self._live_values_timer.timeout.connect(self._show_live_values)
        self._was_fitted = False
        self._highlights_trained = False
        """Run that has already been reported as waiting for data."""
        self.trial: TrialDialog | None = None
        """The open trial dialog, if any."""
        self._runs_when_checked = False
        self.canvas.zoom_changed.connect(self.zoomed)
        self.problems.activated.connect(self.canvas.reveal)
        self.problems.find_reproduction = self.runs.run_actions.reproduction_of_last
        self.lesson.node_requested.connect(self.canvas.reveal)
        self.probes.node_requested.connect(self.canvas.reveal)
        self.breakpoints.node_requested.connect(self.canvas.reveal)
        self.hit_bar.node_requested.connect(self.canvas.reveal)
        self.canvas.breakpoint_requested.connect(self._begin_breakpoint)
        store.selection_changed.connect(self._note_selected_node)
        self.problems.emptied.connect(self.canvas.setFocus)
        self.data.node_requested.connect(self.canvas.reveal)
        self.stepping.node_requested.connect(self.canvas.reveal)
        self.code.problems_requested.connect(self.problems_requested)
        self.fitter.status_message.connect(self.status_message)
        self.data.source_requested.connect(self._search_node)
        self.runs.status_message.connect(self.status_message)
        self.runs.run_actions.comparison_requested.connect(self.compare_with)
        self.runs.node_requested.connect(self.canvas.reveal)
        self._connect_compile()
        project.logged.connect(self.log.add)
        runner.events.connect(self._on_events)
        runner.refused.connect(self._show_refusal_reason)
        store.report_changed.connect(self._run_if_requested)
        store.document_changed.connect(self._clear_live_values)
        store.selection_changed.connect(self._show_trained)
        store.report_changed.connect(self._show_trained)
        project.scope.location_changed.connect(self._on_location_changed)

    def _group_button(self) -> QWidget:
        """The button for several selected nodes."""
        button = buttons.text_button("Group into block", self.canvas.group, icon="block")
        button.setToolTip("Replace the selected nodes by one node that contains them (Ctrl+G)")
        return button

    def _connect_compile(self) -> None:
        """Keep the selection of the Compile panel and the canvas overlay in sync."""
        self.compile.node_requested.connect(self.canvas.reveal)
        self.compile.overlay_requested.connect(self.overlay.show_overlay)
        self.compile.chosen.connect(self._highlight)
        self.overlay.toggled.connect(self.compile.show_overlay)
        self.compile.mend_requested.connect(self._mend_break)
        self.break_mending.details_requested.connect(self._show_break)
        self.break_mending.status_message.connect(self.status_message)
        self.color_by.show_figure(self._settings.color_by_of(self.project.store.path))
        self.color_by.changed.connect(self._save_color_by)

    def _reveal_step(self) -> None:
        """Bring the node of the shown step into view. Blocks that it is not in are left."""
        layer, scope = self.step_layer, self.project.scope
        while layer.step is not None and not layer.node and scope.location:
            scope.go(scope.location[:-1])
        for box in self.canvas.canvas_scene.boxes([layer.node] if layer.node else []).values():
            self.canvas.camera.reveal(layer.area(QRectF(box.left, box.top, box.width, box.height)))

    def _begin_breakpoint(self) -> None:
        """Show the Breakpoints panel with a condition for the selected node."""
        self.breakpoints_requested.emit()
        self.breakpoints.begin(self._selected_path())

    def _note_selected_node(self, *_: object) -> None:
        self.breakpoints.set_node(self._selected_path())

    def _selected_path(self) -> str:
        selection = self.project.store.selection
        return next(iter(selection)) if len(selection) == 1 else ""

    def _search_node(self) -> None:
        self.canvas.setFocus()
        self.canvas.open_search()

    def _highlight(self, names: Iterable[str], region: Choice | None, break_index: int | None) -> None:
        self.canvas.canvas_scene.marks.highlight_nodes(self.project.scope.names_of(names))
        self.overlay.choose(region, break_index=break_index)

    def _show_trained(self, *_: object) -> None:
        """Highlight the layers that the selected optimizer trains, if it does not train all of them."""
        store = self.project.store
        selected = next(iter(store.selection), "") if len(store.selection) == 1 else ""
        trained = store.report.trained.get(selected, ())
        highlighted = (
            trained
            if len(store.report.trained) > 1 or len(trained) < len(store.report.trainable.get(selected, ()))
            else ()
        )
        if highlighted or self._highlights_trained:
            self.canvas.canvas_scene.marks.highlight_nodes(self.project.scope.names_of(highlighted))
        self._highlights_trained = bool(highlighted)

    def _save_color_by(self, key: str) -> None:
        self._settings.set_color_by(self.project.store.path, key)

    def _mend_break(self, index: int) -> None:
        """Open the popup of a break that the Compile panel shows."""
        self.overlay.show_overlay(True)
        self.break_mending.open(index)

    def _show_break(self, index: int) -> None:
        self.graph_break_requested.emit()
        self.compile.show_break(index)

    def compare_with_saved(self) -> None:
        """Show the differences from the version in the project file."""
        history = self.project.store.history
        if history.saved is None:
            self.status_message.emit("The project is not in a file yet. Save it to compare later versions with it.")
        else:
            self.comparison.begin("Compared with saved", lambda: history.saved or history.document)

    def compare_with(self, title: str, document: Document) -> None:
        """Show the differences from another project or an earlier version."""
        self.comparison.begin(f"Compared with {title}", lambda: document)

    def fit_once(self) -> None:
        """Fit the graph once the canvas has its final size."""
        if not self._was_fitted:
            self._was_fitted = True
            self.canvas.canvas_actions.open_at_readable_zoom()
            self.canvas.canvas_actions.lay_out_if_unplaced()

    def run_when_checked(self) -> None:
        """Start training as soon as the check of the graph has finished."""
        self._runs_when_checked = True
        self._run_if_requested()

    def _run_if_requested(self, *_: object) -> None:
        if self._runs_when_checked and self.project.store.is_checked:
            self._runs_when_checked = False
            self.project.runner.start()

    def _clear_live_values(self, *_: object) -> None:
        """Remove live numbers that belong to an earlier version of the graph."""
        if not self.project.runner.is_active:
            self._latest = None
            self.canvas.set_live({})

    def _show_live_values(self) -> None:
        """Show losses and metrics at their nodes."""
        step = self._latest
        if step is None:
            return
        values = {name: number_format.measured(value) for name, value in step.metrics.items()}
        progress: dict[str, float] = {}
        run = self.project.runner.run
        for wire in self.project.store.document.wires:
            if wire.target.node in step.losses:
                values[wire.source.node] = number_format.measured(step.losses[wire.target.node])
                progress[wire.source.node] = run.progress.fraction if run else 0.0
        if self.project.scope.location:
            values, progress = {}, {}  # losses and metrics are on the canvas of the project
        self.canvas.set_live(values, progress if self.project.runner.is_active else None)

    def _on_location_changed(self, *_: object) -> None:
        self._show_live_values()
        self._show_trained()

    def _show_refusal_reason(self, *_: object) -> None:
        """Show why the run cannot start: an invalid field, an empty canvas, or the list of errors."""
        store = self.project.store
        if self.inspector.show_draft():
            return
        if not store.document.nodes:
            self.canvas.show_run_requirements()
        elif store.check_report.errors:
            self.problems_requested.emit()

    def _log_state(self, state: str) -> None:
        run = self.project.runner.run
        if run is not None:
            self.log.add(f"{run.name} {state}", "error" if state == "failed" else "info")

    def _on_events(self, events: list[object]) -> None:
        latest = next((event for event in reversed(events) if isinstance(event, fit.Step)), None)
        if latest is not None:
            self._latest = latest
            if not self._live_values_timer.isActive():
                self._live_values_timer.start()
        for event in events:
            if isinstance(event, fit.Step):  # most events
                continue
            match event:
                case fit.Epoch():
                    self.log.add(_epoch_line(event))
                case StateChanged():
                    self._log_state(event.state)
                case Failed():
                    self.log.add(event.message if event.by_input else event.detail or event.message, "error")
                case BreakpointsHit():
                    self.log.add(event.message, "warning")
                case Warned():
                    self.log.add(event.message, "warning")
                    self.status_message.emit(event.message)
                case _:
                    pass

    @property
    def zoom(self) -> float:
        """Scale of the canvas."""
        return self.canvas.camera.scale

    def open_trial(self, make: TrialFactory) -> TrialDialog | None:
        """Open a trial dialog, replacing an open one. Returns None if a run cannot start."""
        store = self.project.store
        if reason := store.prepare_run():
            self.status_message.emit(reason)
            self._show_refusal_reason()
            return None
        self._end_trial()
        trial = self.trial = make(store, self.canvas.window())
        trial.closed.connect(partial(self._on_trial_closed, trial))
        trial.show()
        return trial

    def _end_trial(self) -> None:
        if self.trial is not None:
            self.trial.close()

    def _on_trial_closed(self, closed_trial: TrialDialog) -> None:
        if closed_trial is self.trial:
            self.trial = None

    def close(self) -> None:
        """Stop the threads of canvas and panels. The widgets are deleted with their containers."""
        self._end_trial()
        self.canvas.close_view()
        self.autograd.close_view()
        self.previewer.close()
        self.data_inspector.close()
        self.wire_statistics.close()
        self.probe_computer.close()
        self.time_measurer.close()
        self.step_recordings.close()
        self.fitter.close()
        self.canvas.deleteLater()


def _epoch_line(event: fit.Epoch) -> str:
    parts = [f"Epoch {event.epoch}", f"loss {number_format.measured(event.train_loss)}"]
    if event.val_loss is not None:
        parts.append(f"validation loss {number_format.measured(event.val_loss)}")
    parts += [f"validation {name} {number_format.measured(value)}" for name, value in event.val_metrics.items()]
    return ", ".join([*parts, number_format.rate(event.samples_per_second).replace("/s", " samples/s")])
