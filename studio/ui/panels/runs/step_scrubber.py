"""Connects the plots with the shown step: markers, keys and menus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, QTimer, Signal
from PySide6.QtWidgets import QMenu, QWidget

from studio.document.document_errors import FileError
from studio.training.breakpoints.breakpoint_hit import hits_of
from studio.training.runs.run_checkpoints import list_checkpoints
from studio.training.runs.run_history import Run
from studio.training.runs.step_positions import position_of, step_at
from studio.ui.panels.runs.curve_plot import CurvePlot, PlotOptions
from studio.ui.project.run_library import RunLibrary
from studio.ui.project.shown_moment import Moment, ShownMoment
from studio.ui.project.training_runner import TrainingRunner

_LIST_MS = 1000
"""Minimum milliseconds between two lists of the checkpoints and hits."""
_MAX_MARKS = 100
"""Maximum number of marked checkpoints of a run, the newest."""
_MAX_RUNS = 8
"""Maximum number of runs in the menu of a position."""


class StepScrubber(QObject):
    """Marks the shown step and the checkpoints in all plots, and shows the step to which a marker is moved."""

    failed = Signal(str)
    """Why a checkpoint cannot be shown."""

    def __init__(self, moment: ShownMoment, runner: TrainingRunner, library: RunLibrary, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._moment, self._runner, self._library = moment, runner, library
        self._checkpoints: dict[Path, list[int]] = {}
        """Steps of the checkpoints by run folder."""
        self._hits: dict[Path, list[tuple[int, str]]] = {}
        """Steps at which breakpoints paused runs, with the reason, by run folder."""
        self._folders: list[Path] = []
        self._pause = QTimer(self)
        """Active while no new list may start."""
        self._pause.setSingleShot(True)
        self._pause.setInterval(_LIST_MS)
        self._pause.timeout.connect(self._end_pause)
        self._is_outdated = False
        """Whether the runs were shown again during the pause."""
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
        plot.menu_requested.connect(partial(self._open_menu, plot))

    def show_runs(self, runs: Sequence[Run], shown: PlotOptions) -> None:
        """Mark the steps of these runs on the axis of the plots."""
        self._runs, self._shown = runs, shown
        folders = [run.folder for run in runs if run.is_shown and run.folder is not None]
        if folders != self._folders or not self._pause.isActive():
            self._folders = folders
            self._list()
        else:
            self._is_outdated = True
        self.refresh()

    def _list(self) -> None:
        self._is_outdated = False
        self._pause.start()
        self._library.run_in_reader(partial(_list_checkpoints, self._folders), self._show_checkpoints)
        self._library.run_in_reader(partial(_list_hits, self._folders), self._show_hits)

    def _end_pause(self) -> None:
        """List what was written during the pause. A checkpoint may be written after the last event of a run."""
        if self._window.isVisible() and (self._is_outdated or self._runner.is_active):
            self._list()

    def _show_checkpoints(self, found: dict[Path, list[int]]) -> None:
        if found != self._checkpoints:
            self._checkpoints = found
            self.refresh()

    def _show_hits(self, found: dict[Path, list[tuple[int, str]]]) -> None:
        if found != self._hits:
            self._hits = found
            self.refresh()

    def refresh(self) -> None:
        """Move the markers to the shown step and the one that it is compared with."""
        moment, base = self._moment.moment, self._moment.base
        if moment is not None and moment.statistics is None and self._moment.is_live:
            moment = None  # nothing was measured
        marks = [
            (run, step, at)
            for run in self._runs
            if run.is_shown and run.folder is not None
            for step in self._checkpoints.get(run.folder, ())
            if (at := position_of(run, step, self._shown.axis)) is not None
        ]
        hits = [
            (run, step, at, reason)
            for run in self._runs
            if run.is_shown and run.folder is not None
            for step, reason in self._hits.get(run.folder, ())
            if (at := position_of(run, step, self._shown.axis)) is not None
        ]
        for plot in self._plots:
            plot.mark_hits(hits)
            plot.mark_steps(self._position(moment), self._position(base))
            plot.mark_checkpoints(marks)

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

    def _open_menu(self, plot: CurvePlot, position: float, at: QPoint) -> None:
        """Offer what can be done with the checkpoint and the steps at a position."""
        found = [
            (run, step)
            for run in reversed(self._runs)
            if run.is_shown and run.folder is not None
            if (step := step_at(run, position, self._shown.axis)) is not None
        ][:_MAX_RUNS]
        if not found:
            return
        menu = QMenu(self._window)
        if (mark := plot.checkpoint_at(position)) is not None:
            menu.addAction(mark.title).setEnabled(False)  # titles of sections are not drawn
            menu.addAction("Show weights of this checkpoint", partial(self.show_checkpoint, mark.run, mark.step))
            resume = menu.addAction("Resume from here as a new run", partial(self._runner.branch, mark.run, mark.step))
            resume.setEnabled(not self._runner.is_active)
            menu.addSeparator()
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

    def show_checkpoint(self, run: Run, step: int) -> None:
        """Show the step of a checkpoint, and the values on wires with its weights."""
        try:
            if run.folder is not None:
                self._moment.show_checkpoint(run.folder, step)
        except FileError as error:
            self.failed.emit(str(error))

    def _show(self, run: Run, step: int, *_: object) -> None:
        if run.folder is not None:
            self._moment.show(run.folder, step)

    def _compare(self, base: Moment, *_: object) -> None:
        self._moment.compare(base)


def _list_checkpoints(folders: Iterable[Path]) -> dict[Path, list[int]]:
    """Steps of the checkpoints of runs. Runs in the reading thread."""
    return {folder: [step for step, _ in list_checkpoints(folder)][:_MAX_MARKS] for folder in folders}


def _list_hits(folders: Iterable[Path]) -> dict[Path, list[tuple[int, str]]]:
    """Steps and reasons of the hits of breakpoints. Runs in the reading thread."""
    return {folder: [(hit.step, hit.record.reason) for hit in hits_of(folder)][-_MAX_MARKS:] for folder in folders}


__all__ = ["StepScrubber"]
