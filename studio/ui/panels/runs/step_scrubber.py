"""Connects the plots with the shown step: markers, keys and menus."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QPoint
from PySide6.QtWidgets import QMenu, QWidget

from studio.training.runs.run_history import Run
from studio.training.runs.step_positions import position_of, step_at
from studio.ui.panels.runs.curve_plot import CurvePlot, PlotOptions
from studio.ui.project.shown_moment import Moment, ShownMoment

_MAX_RUNS = 8
"""Maximum number of runs in the menu of a position."""


class StepScrubber(QObject):
    """Marks the shown step in all plots, and shows the step to which a marker is moved."""

    def __init__(self, moment: ShownMoment, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._moment = moment
        self._plots: list[CurvePlot] = []
        self._runs: Sequence[Run] = ()
        self._shown = PlotOptions()
        moment.changed.connect(self.refresh)

    def add(self, plot: CurvePlot) -> None:
        """Mark the steps in a plot, too."""
        self._plots.append(plot)
        plot.step_dragged.connect(self._drag)
        plot.steps_moved.connect(self._moment.move)
        plot.end_requested.connect(self._move_to_end)
        plot.menu_requested.connect(self._open_menu)

    def show_runs(self, runs: Sequence[Run], shown: PlotOptions) -> None:
        """Mark the steps of these runs on the axis of the plots."""
        self._runs, self._shown = runs, shown
        self.refresh()

    def refresh(self) -> None:
        """Move the markers to the shown step and the one that it is compared with."""
        moment, base = self._moment.moment, self._moment.base
        if moment is not None and moment.statistics is None and self._moment.is_live:
            moment = None  # nothing was measured
        for plot in self._plots:
            plot.mark_steps(self._position(moment), self._position(base))

    def _position(self, moment: Moment | None) -> float | None:
        if moment is None or not moment.run.is_shown or moment.run not in self._runs:
            return None
        return position_of(moment.run, moment.step, self._shown.axis)

    def _drag(self, position: float) -> None:
        run = self._moment.run
        step = None if run is None else step_at(run, position, self._shown.axis)
        if run is not None and run.folder is not None and step is not None:
            self._moment.show(run.folder, step)

    def _move_to_end(self, first: bool) -> None:
        self._moment.move_to_end(first=first)

    def _open_menu(self, position: float, at: QPoint) -> None:
        """Offer the steps at a position: to show, or to compare with."""
        found = [
            (run, step)
            for run in reversed(self._runs)
            if run.is_shown and run.folder is not None
            if (step := step_at(run, position, self._shown.axis)) is not None
        ][:_MAX_RUNS]
        if not found:
            return
        menu = QMenu(self._window)
        for run, step in found:
            action = menu.addAction(f"Show step {step:,} of {run.name}")
            action.triggered.connect(partial(self._show, run, step))
        menu.addSeparator()
        for run, step in found:
            base = self._moment.at(run, step)
            action = menu.addAction(f"Compare with step {step:,} of {run.name}")
            action.setEnabled(base.statistics is not None)
            action.triggered.connect(partial(self._compare, base))
        menu.exec(at)

    def _show(self, run: Run, step: int, *_: object) -> None:
        if run.folder is not None:
            self._moment.show(run.folder, step)

    def _compare(self, base: Moment, *_: object) -> None:
        self._moment.compare(base)


__all__ = ["StepScrubber"]
