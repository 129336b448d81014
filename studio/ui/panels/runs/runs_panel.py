"""The Runs panel: list of runs, live curves, details and actions."""

from __future__ import annotations

import time
from functools import partial

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QMenu,
    QScrollArea,
    QSplitter,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from studio.training.runs.run_colors import assign_colors
from studio.training.runs.run_comparison import varying_settings
from studio.training.runs.run_history import Run
from studio.ui.panels.runs.curve_plot import CurvePlot, PlotOptions
from studio.ui.panels.runs.file_job_bar import FileJobBar
from studio.ui.panels.runs.moment_bar import MomentBar
from studio.ui.panels.runs.plot_toolbar import PlotToolbar
from studio.ui.panels.runs.run_actions import RUN_ACTIONS, RunActions
from studio.ui.panels.runs.run_details import RunDetails
from studio.ui.panels.runs.run_list import RunList
from studio.ui.panels.runs.step_scrubber import StepScrubber
from studio.ui.panels.runs.trash_bar import TrashBar
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.run_library import RunLibrary
from studio.ui.project.shown_moment import ShownMoment
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.settings import Settings
from studio.ui.theme import icons, theme
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.window.menu_bar import enable_inner

REDRAW_MS = 50
"""Minimum milliseconds between redraws."""
_PAUSE_FACTOR = 10
"""Pause after a redraw as a multiple of its duration, so that training keeps most of the time."""
_NARROW = 1080
"""Panel width in pixels below which details replace the curves."""
_LIST_SHARE = 0.405
"""Initial share of the panel's width that the list gets, enough for two losses at 900 pixels."""
_LIST_WIDTH, _MAX_LIST_WIDTH = 304, 480
"""Limits of the list's initial width in pixels."""
_MIN_LIST_WIDTH = 224
_SLIM = 680
"""Panel width in pixels below which the curves are below the list, if the height allows, unless details are shown."""
_TALL = 400
"""Minimum height for list and curves on top of each other."""


class RunsPanel(QWidget):
    """Empty until the first run; then the list, a plot per quantity, and details of the selected runs."""

    status_message = Signal(str)
    """A status-line message."""
    node_requested = Signal(str)
    """Name of a node to show."""

    def __init__(
        self,
        store: ProjectStore,
        runner: TrainingRunner,
        library: RunLibrary,
        moment: ShownMoment,
        settings: Settings,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._runner, self._library, self._settings = store, runner, library, settings
        self._shown = PlotOptions(smoothing=settings.smoothing)
        self._highlighted: Run | None = None
        self._draw_seconds = 0.0
        self.plots: dict[str, CurvePlot] = {}
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.timeout.connect(self.draw)

        self._empty = EmptyState(
            "runs",
            "No runs yet",
            "Loss and metrics appear here from the first batch on. Command-line runs are listed too.",
            action="Run",
            run=runner.start,
        )
        self._no_curves = EmptyState("runs", "", "")
        self._arrangement: tuple[bool, bool] | None = None
        """Whether the panel is narrow, and whether the curves are below the list."""
        self._is_split_by_user = False
        """Whether the user has moved the handle between list and curves in the current arrangement."""
        self._restored: set[Run] = set()
        """Runs whose visibility differs from the saved state."""
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        # Widgets are made inside their containers, because Qt applies the style sheet again to those that move.
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._stack.addWidget(self._splitter)
        left, right = QWidget(self._splitter), QWidget(self._splitter)
        self.list = RunList(settings.hidden_columns, left)
        self.list.setMinimumWidth(_MIN_LIST_WIDTH)
        self.run_actions = RunActions(store, runner, library, lambda: self.list.selected, self)
        self._fill_left(left)
        self.scrubber = StepScrubber(moment, runner, library, self)
        self.bar = PlotToolbar(self._shown, fit=self._reset, copy=self._copy, parent=right)
        self.moment_bar = MomentBar(moment, library, right)
        self._fill_right(right)
        self._splitter.setStretchFactor(1, 1)
        self._splitter.setSizes([_LIST_WIDTH, 900])
        self._splitter.setChildrenCollapsible(False)
        self._connect()
        self._show_runs()

    def draw(self) -> None:
        """Draw the current state of all runs."""
        began = time.perf_counter()
        runs = self._library.runs
        assign_colors(runs, len(theme.current().series))
        quantities = dict.fromkeys(name for run in runs for name in run.quantities)
        self.bar.set_quantities(quantities)
        is_first = any(quantity not in self.plots for quantity in quantities)
        for quantity in quantities:
            if quantity not in self.plots:
                self._add_plot(quantity)
            self.plots[quantity].setVisible(quantity not in self.bar.hidden)
        self._show_why_no_curves()
        for plot in self.plots.values():
            if plot.isVisible():
                plot.show_runs(runs, self._shown, self._highlighted)
        self.scrubber.show_runs(runs, self._shown)
        self.moment_bar.refresh()  # the run goes on between measured steps
        self.list.table.refresh()
        self._draw_seconds = 0.0 if is_first else time.perf_counter() - began  # plots are created once

    def _show_why_no_curves(self) -> None:
        if self.plots:
            self._no_curves.set_text("All curves are hidden", "Show curves with the eye button above.")
        else:
            self._no_curves.set_text("No curves yet", "Loss and metrics appear here from the first batch on.")
        self._no_curves.setVisible(all(plot.isHidden() for plot in self.plots.values()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._library.follow(True)
        self._show_details()
        self.draw()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._library.follow(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # -- widgets

    def _fill_left(self, left: QWidget) -> None:
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.list, 1)
        self.trash = TrashBar(self.run_actions, left)
        column.addWidget(self.trash)
        column.addWidget(FileJobBar(self.run_actions.jobs, left))

    def _fill_right(self, right: QWidget) -> None:
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.bar)
        column.addWidget(self.moment_bar)
        self._panes = QSplitter(Qt.Orientation.Horizontal, right)
        column.addWidget(self._panes, 1)
        scroll = self._curves = QScrollArea(self._panes)
        scroll.setAccessibleName("Details of the run")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._plot_board = QWidget(scroll.viewport())
        self._plot_board.setObjectName("page")
        self._plots = QHBoxLayout(self._plot_board)
        self._plots.setContentsMargins(0, 0, 0, 0)
        self._plots.setSpacing(0)
        self._plots.addWidget(self._no_curves)
        scroll.setWidget(self._plot_board)
        self.details = RunDetails(self.run_actions, self._store.catalogue, self._panes)
        self._panes.addWidget(scroll)
        self._panes.addWidget(self.details)
        self._panes.setStretchFactor(0, 1)
        self._panes.setSizes([700, 336])
        self._panes.setChildrenCollapsible(False)

    def _connect(self) -> None:
        self._splitter.splitterMoved.connect(self._note_user_split)
        self.bar.changed.connect(self._show)
        self.bar.plots_changed.connect(self.draw)
        self.bar.details.toggled.connect(self._fit)
        self.details.closed.connect(partial(self.bar.details.setChecked, False))
        self.details.facts.node_requested.connect(self._show_node)
        self.list.toggled.connect(self._toggle)
        self.list.columns_chosen.connect(partial(setattr, self._settings, "hidden_columns"))
        self.list.hovered.connect(self._highlight)
        self.list.chosen.connect(self._show_details)
        self.list.menu_requested.connect(self._open_menu)
        self.list.renamed.connect(self.run_actions.rename)
        self.run_actions.rename_requested.connect(self.list.rename)
        self.run_actions.status_message.connect(self.status_message)
        self.scrubber.failed.connect(self.status_message)
        self._library.runs_changed.connect(self._show_runs)
        self._library.metadata_changed.connect(self._refresh)
        self._library.curves_changed.connect(self._schedule)
        self._runner.events.connect(self._schedule)
        self._runner.run_begun.connect(self._show_new_run)
        self._runner.state_changed.connect(self._refresh)
        self._fit()

    # -- selection and details

    def _show(self, shown: PlotOptions) -> None:
        self._shown = shown
        self._settings.smoothing = shown.smoothing
        self.draw()

    def _fit(self, *_: object) -> None:
        """Show the details; in a narrow panel they replace the curves and the toolbar."""
        on = self.bar.details.isChecked()
        is_slim = self.width() < _SLIM
        is_below = is_slim and not on and self.height() >= _TALL
        has_curves = not on or self.width() >= _NARROW
        if (is_slim, is_below) != self._arrangement:
            self._arrangement = is_slim, is_below
            self._is_split_by_user = False
            self._splitter.setOrientation(Qt.Orientation.Vertical if is_below else Qt.Orientation.Horizontal)
        if not self._is_split_by_user:
            list_width = self._list_width(has_both=on and has_curves)
            sizes = [self.height() // 3, self.height()] if is_below else [list_width, self.width() - list_width]
            self._splitter.setSizes(sizes)
        had_focus = self.bar.details.hasFocus() or self.details.isAncestorOf(self.focusWidget())
        self.details.setVisible(on)
        self.bar.setVisible(has_curves)
        if has_curves and self._curves.isHidden():
            self._schedule()  # hidden plots are not drawn
        self._curves.setVisible(has_curves)
        if had_focus and not has_curves:
            self.details.setFocus()
        elif had_focus and not on:
            self.bar.details.setFocus()
        if on:
            self._show_details()

    def _list_width(self, *, has_both: bool) -> int:
        """Initial width of the list. `has_both`: curves and details are shown, so that space is short."""
        if self.width() < _SLIM:
            return _MIN_LIST_WIDTH
        return _LIST_WIDTH if has_both else min(max(round(_LIST_SHARE * self.width()), _LIST_WIDTH), _MAX_LIST_WIDTH)

    def _note_user_split(self, *_: object) -> None:
        self._is_split_by_user = True

    def _show_runs(self) -> None:
        """Update the list after runs were added or removed."""
        runs = self._library.runs
        if self._highlighted not in runs:
            self._highlighted = None
        self._restore_ticks()
        assign_colors(runs, len(theme.current().series))
        self._stack.setCurrentIndex(1 if runs else 0)
        self.list.show_runs(runs)
        self._compare()
        self._show_details()
        self._schedule()

    def _refresh(self, *_: object) -> None:
        assign_colors(self._library.runs, len(theme.current().series))
        self.list.table.refresh()
        self._show_details()
        self._schedule()

    def _compare(self) -> None:
        """Update the settings that differ between runs."""
        runs = list(self._library.runs)
        self._library.run_in_reader(
            partial(varying_settings, runs, self._store.catalogue), self.list.table.show_differences
        )

    def _show_details(self) -> None:
        if self.details.isVisible():
            self.details.show_runs(self.list.selected)

    def _show_new_run(self, run: Run) -> None:
        """A run has started in this session."""
        self.list.select([run], run)
        self._reset()
        self._schedule()

    def _toggle(self) -> None:
        """Store which runs are shown, and read curves that are shown for the first time."""
        ticks = {run.folder.name: run.is_shown for run in self._library.runs if run.folder is not None}
        self._settings.set_ticks(self._library.folder, ticks)
        self._library.scan()
        self.draw()

    def _restore_ticks(self) -> None:
        ticks = self._settings.ticks(self._library.folder)
        for run in self._library.runs:
            if run not in self._restored and run.folder is not None and not run.is_own:
                run.is_shown = ticks.get(run.folder.name, run.is_shown)
        self._restored = set(self._library.runs)

    def _highlight(self, run: Run | None) -> None:
        if run is not self._highlighted:
            self._highlighted = run
            self.draw()

    def _show_node(self, name: str) -> None:
        if name in self._store.document.nodes:
            self.node_requested.emit(name)
        else:
            self.status_message.emit(f"{name} is not in the current graph. Restore the run's graph to show it.")

    def _open_menu(self, position: QPoint) -> None:
        menus = {"": QMenu(self)}
        for entry in RUN_ACTIONS:
            if entry.menu not in menus:
                menus[entry.menu] = menus[""].addMenu(icons.themed("swatch"), entry.menu)
            menu = menus[entry.menu]
            if entry.separated:
                menu.addSeparator()
            action = menu.addAction(icons.themed(entry.icon, entry.token), entry.title)
            action.setEnabled(entry.is_possible(self.run_actions))
            if entry.is_on is not None:
                action.setCheckable(True)
                action.setChecked(entry.is_on(self.run_actions))
            action.triggered.connect(partial(self._run_entry, entry.run))
        enable_inner(menus[""])
        menus[""].exec(position)

    def _run_entry(self, run: object, *_: object) -> None:
        assert callable(run)
        run(self.run_actions)

    # -- plots

    def _reset(self) -> None:
        for plot in self.plots.values():
            plot.reset()

    def _copy(self) -> None:
        QApplication.clipboard().setPixmap(self._plot_board.grab())

    def _add_plot(self, quantity: str) -> None:
        plot = CurvePlot(quantity)
        if (first := next(iter(self.plots.values()), None)) is not None:
            plot.setXLink(first)
        plot.hovered.connect(partial(self._point, plot))
        self.scrubber.add(plot)
        self.plots[quantity] = plot
        self._plots.addWidget(plot, 1)

    def _point(self, at: CurvePlot, x: float | None) -> None:
        """Move the crosshair in all plots."""
        for plot in self.plots.values():
            plot.point_at(x, shows_values=plot is at)

    def _schedule(self, *_: object) -> None:
        """Schedule a redraw, with a minimum pause while a run is active."""
        if not self.isVisible():
            return
        wait = REDRAW_MS
        if self._runner.state == "running" or any(run.is_live and not run.is_own for run in self._library.runs):
            painting = sum(plot.seconds for plot in self.plots.values() if plot.isVisible())
            wait = max(wait, round(1000 * _PAUSE_FACTOR * (self._draw_seconds + painting)))
        if not self._redraw.isActive() or self._redraw.remainingTime() > wait:
            self._redraw.start(wait)
