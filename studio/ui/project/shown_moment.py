"""The step of a run whose statistics canvas, probes and panels show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from studio.document.document_errors import FileError
from studio.training.runs.run_branching import checkpoint_at
from studio.training.runs.run_history import Run
from studio.training.session_events import Measured, StateChanged
from studio.training.statistics.run_statistics import RunStatistics
from studio.training.statistics.step_statistics import StepStatistics
from studio.ui.project.run_library import RunLibrary
from studio.ui.project.training_runner import TrainingRunner

_LAST = 2**62
"""A step after all others."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A step of a run, with the statistics that were measured last before it."""

    run: Run
    step: int
    statistics: StepStatistics | None = None
    problem: str = ""
    """Why the statistics cannot be read."""
    checkpoint: Path | None = None
    """The checkpoint whose weights are shown, too."""

    @property
    def title(self) -> str:
        """The run and the step: "Run 3, step 1,240"."""
        return f"{self.run.name}, step {self.step:,}"

    def title_after(self, other: Moment) -> str:
        """The title behind that of another step: without the name of the run if it is the same one."""
        return f"step {self.step:,}" if self.run is other.run else self.title

    @property
    def label(self) -> str:
        """The title, and the step at which its statistics were measured, if it is another one."""
        notes: list[str] = []
        if self.statistics is None:
            notes.append("not measured")
        elif self.statistics.step != self.step:
            notes.append(f"measured at {self.statistics.step:,}")
        if self.checkpoint is not None:
            notes.append("weights of the checkpoint")
        return f"{self.title} ({', '.join(notes)})" if notes else self.title


class ShownMoment(QObject):
    """Follows the current run, else the newest one, until a step of a run is chosen."""

    changed = Signal()
    """Another step is shown, or compared with."""

    def __init__(self, runner: TrainingRunner, library: RunLibrary, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner, self._library = runner, library
        self._readers: dict[Path, RunStatistics] = {}
        self._live: StepStatistics | None = None
        """The last step that the run of this session has measured."""
        self._chosen: Moment | None = None
        self._followed: Moment | None = None
        """The last measured step of the newest run, once it was read."""
        self.base: Moment | None = None
        """The step that the shown one is compared with."""
        runner.events.connect(self._on_events)
        runner.run_begun.connect(self._on_run_begun)
        library.runs_changed.connect(self._on_runs_changed)
        library.curves_changed.connect(self._on_curves_changed)

    # -- reading

    @property
    def is_live(self) -> bool:
        """Whether the last measured step of the current run is shown, not a chosen step."""
        return self._chosen is None

    @property
    def moment(self) -> Moment | None:
        """The shown step; None without a run."""
        if self._chosen is not None:
            return self._chosen
        run = self.followed_run
        if run is None:
            return None
        if run is self._runner.run and self._live is not None:
            return Moment(run, max(run.step, self._live.step), self._live)
        if self._followed is None or self._followed.run is not run:
            found, problem = self._at(run, _LAST)
            step = run.step if found is None else max(run.step, found.step)
            self._followed = Moment(run, step, found, problem)
        return self._followed

    @property
    def statistics(self) -> StepStatistics | None:
        """The statistics of the shown step; None if none were measured up to it."""
        moment = self.moment
        return None if moment is None else moment.statistics

    @property
    def run(self) -> Run | None:
        """The run of the shown step."""
        return self.followed_run if self._chosen is None else self._chosen.run

    @property
    def step(self) -> int:
        """The shown step; 0 without a run."""
        moment = self.moment
        return 0 if moment is None else moment.step

    @property
    def followed_run(self) -> Run | None:
        """The current or last run of this session, else the newest run of the project."""
        if self._runner.run is not None:
            return self._runner.run
        return self._library.runs[-1] if self._library.runs else None

    def measured_steps(self, run: Run | None = None) -> NDArray[np.int64]:
        """The measured steps of a run, ascending; of the shown run by default."""
        run = run or self.run
        reader = None if run is None else self._reader(run)
        if reader is None:
            return np.empty(0, np.int64)
        try:
            return reader.steps()
        except FileError:  # `moment` tells why
            return np.empty(0, np.int64)

    def at(self, run: Run, step: int) -> Moment:
        """A step of a run with its statistics."""
        return Moment(run, step, *self._at(run, step))

    # -- changing

    def show(self, run_folder: Path, step: int) -> None:
        """Show a step of a run until `follow`. A folder that is no run of the project is ignored."""
        run = next((run for run in self._library.runs if run.folder == run_folder), None)
        if run is not None:
            self._choose(self.at(run, max(step, 0)))

    def show_checkpoint(self, run_folder: Path, step: int) -> None:
        """Show a step with the weights of its checkpoint. Raises FileError if it has none."""
        run = next((run for run in self._library.runs if run.folder == run_folder), None)
        if run is not None:
            self._choose(replace(self.at(run, step), checkpoint=checkpoint_at(run_folder, step)))

    def move(self, count: int) -> None:
        """Show a later measured step of the shown run, or an earlier one if `count` is negative."""
        run, steps = self.run, self.measured_steps()
        if run is None or run.folder is None or not len(steps):
            return
        index = int(np.searchsorted(steps, self.step, "right")) - 1
        if count < 0 and index >= 0 and steps[index] < self.step:
            index += 1  # the step shown is between two measured ones
        self.show(run.folder, int(steps[min(max(index + count, 0), len(steps) - 1)]))

    def move_to_end(self, *, first: bool) -> None:
        """Show the first or the last measured step of the shown run."""
        run, steps = self.run, self.measured_steps()
        if run is not None and run.folder is not None and len(steps):
            self.show(run.folder, int(steps[0 if first else -1]))

    def follow(self) -> None:
        """Show the last measured step of the current run again, also while it trains."""
        self._choose(None)

    def compare(self, base: Moment | None) -> None:
        """Compare the shown step with another one; None ends the comparison."""
        if base != self.base:
            self.base = base
            self.changed.emit()

    # -- helpers

    def _choose(self, moment: Moment | None) -> None:
        if moment != self._chosen:
            self._chosen, self._followed = moment, None
            self.changed.emit()

    def _reader(self, run: Run) -> RunStatistics | None:
        if run.folder is None:
            return None
        if run.folder not in self._readers:
            self._readers[run.folder] = RunStatistics(run.folder)
        return self._readers[run.folder]

    def _at(self, run: Run, step: int) -> tuple[StepStatistics | None, str]:
        """The statistics of a step, and why they cannot be read."""
        reader = self._reader(run)
        try:
            return (None if reader is None else reader.at(step)), ""
        except FileError as error:
            return None, str(error)

    def _on_events(self, events: list[object]) -> None:
        measured = next((event for event in reversed(events) if isinstance(event, Measured)), None)
        if measured is not None:
            self._live = measured.read()
        has_new_state = self._live is not None and any(isinstance(event, StateChanged) for event in events)
        if self.is_live and (measured is not None or has_new_state):  # a run rarely ends at a measured step
            self.changed.emit()

    def _on_run_begun(self, run: Run) -> None:
        self._live = self._followed = None
        if run.folder is not None:
            self._readers.pop(run.folder, None)  # a resumed run goes back to its checkpoint
        if self.is_live:
            self.changed.emit()

    def _on_runs_changed(self) -> None:
        """End what is shown of removed runs."""
        runs, before = self._library.runs, (self._chosen, self.base, self._followed)
        if self._chosen is not None and self._chosen.run not in runs:
            self._chosen = None
        if self.base is not None and self.base.run not in runs:
            self.base = None
        if self._followed is not None and self._followed.run is not self.followed_run:
            self._followed = None
        if before != (self._chosen, self.base, self._followed) or self.is_live:
            self.changed.emit()

    def _on_curves_changed(self) -> None:
        """Read the newest step of a run that another process trains, or whose curves are known only now."""
        run, followed = self.followed_run, self._followed
        if not self.is_live or run is None or run.is_own:
            return
        if run.is_live or (followed is not None and run.step > followed.step):
            self._followed = None
            self.changed.emit()


__all__ = ["Moment", "ShownMoment"]
