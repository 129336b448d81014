"""Records a run in its folder: the record, its lock, checkpoints and the background writer of both."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine import fit
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.training.run_settings import RunSettings
from studio.training.runs.background_writer import BackgroundWriter
from studio.training.runs.run_checkpoints import CheckpointManager
from studio.training.runs.run_locks import RunLock
from studio.training.runs.run_record import RunRecord
from studio.training.runs.run_resuming import ResumedRun, lock_run
from studio.training.statistics.measured_step import MeasuredStep
from studio.training.statistics.statistics_file import StatisticsFile, truncate_statistics
from studio.training.statistics.statistics_format import STATISTICS_FILE

_RETRY_SECONDS = 5.0
"""How long to retry writing the final results of a run."""
_STATISTICS_SECONDS = 2.0
"""Interval between writes of statistics."""


class RunRecorder:
    """Record a run, from `begin` to `finish`. Nothing is written for a run without a folder, which never begins.

    Args:
        document: the trained document
        settings: resolved settings
        label: name of the run in lists; None for its number
    """

    def __init__(self, document: Document, settings: RunSettings, label: str | None) -> None:
        self._document = document
        self._settings = settings
        self._label = label
        self._writer = BackgroundWriter()
        self._record: RunRecord | None = None
        self._checkpoints: CheckpointManager | None = None
        self._statistics: StatisticsFile | None = None
        self._statistics_written = 0.0
        self._lock: RunLock | None = None
        """Lock of a resumed run, until its record takes it over."""

    @property
    def has_begun(self) -> bool:
        return self._record is not None

    def lock(self, resume: ResumedRun) -> None:
        """Lock the folder of a run that will be resumed. Raises FileError if another process writes the run."""
        self._lock = lock_run(resume)

    def begin(self, folder: Path, position: Mapping[str, Any] | None) -> list[str]:
        """Write the graph and the settings. Returns warnings. Raises FileError if the folder cannot be written.

        Args:
            folder: the run folder
            position: position of a resumed run, from its checkpoint
        """
        settings = {name: getattr(self._settings, name) for name in RunSettings.__slots__}
        lock, self._lock = self._lock, None
        record = self._record = RunRecord(folder, self._document, settings, self._writer, position, lock)
        if self._label is not None:
            record.describe(name=self._label)
        training = self._document.training
        self._checkpoints = CheckpointManager(
            folder,
            self._writer,
            seconds=training.checkpoint_seconds,
            steps=training.checkpoint_steps,
            keep=training.checkpoints,
            first_step=0 if position is None else position.get("step", 0),
            before=self._flush,
        )
        if position is not None:
            self._truncate_statistics(folder, position.get("step", 0))
        if record.is_locked:
            return []
        problem = "is on a file system without locks, so a second process writing this run would not be detected"
        return [f"{folder} {problem}. Train it in one process at a time."]

    def describe(self, **content: Any) -> None:
        """Add entries to the metadata of the run."""
        if self._record is not None:
            self._record.describe(**content)

    def make_due_checkpoint(self, training: fit.Training, *, after: fit.TrainingEvent) -> None:
        """Make a checkpoint if an event makes one due; otherwise retry a failed one."""
        if self._checkpoints is None:
            return
        if self._checkpoints.should_checkpoint(training.step, after=after):
            self.make_checkpoint(training)
        else:
            self._checkpoints.retry()

    def make_checkpoint(self, training: fit.Training) -> None:
        """Make a checkpoint. Training continues if that fails; the writer reports and retries it."""
        record, checkpoints = self._record, self._checkpoints
        if record is None or checkpoints is None:
            return
        record_state = {"metrics": record.position(training.step), "data": record.data, "graph": record.graph}
        checkpoints.make(training.step, lambda: {"training": training.state_dict(), **record_state})

    def write_event(self, event: fit.TrainingEvent, weights: Callable[[], dict[str, Any]]) -> None:
        """Write the results in an event; `weights` returns those of the model."""
        if self._record is not None and not isinstance(event, fit.ValidationStep):
            self._record.write_event(event, weights)

    def write_statistics(self, measured: MeasuredStep) -> None:
        """Write the figures of a measured step, now or a little later."""
        if self._record is None:
            return
        if self._statistics is None:
            self._statistics = StatisticsFile(self._record.folder, measured.layout)
        self._statistics.append_deferred(measured.step, lambda: measured.numbers, has_gradients=measured.has_gradients)
        if time.monotonic() - self._statistics_written > _STATISTICS_SECONDS and not self._writer.is_busy:
            self._put_statistics()

    def _put_statistics(self) -> None:
        statistics = self._statistics
        if statistics is not None:
            self._statistics_written = time.monotonic()
            self._writer.put(STATISTICS_FILE, lambda: _write_statistics(statistics))

    def _flush(self) -> None:
        """Write what a checkpoint must not be ahead of. Statistics are no reason to have none."""
        if self._record is not None:
            self._record.flush()
        if self._statistics is not None:
            with suppress(Exception):  # the writer reports it
                self._statistics.write()

    def _truncate_statistics(self, folder: Path, step: int) -> None:
        with suppress(OSError):  # reported when new ones are written
            truncate_statistics(folder, step)

    def messages(self) -> list[str]:
        """Write errors since the last call."""
        return [] if self._record is None else self._writer.messages()

    def finish(self, state: str, weights: Callable[[], dict[str, Any]], message: str | None) -> tuple[str, ...]:
        """Write the final results. Returns the files that could not be written."""
        if self._record is not None:
            self._put_statistics()
            lost = self._record.finish(state, weights(), message, seconds=_RETRY_SECONDS)
            dropped = 0 if self._statistics is None else self._statistics.dropped
            return (*lost, f"{dropped:,} records of {STATISTICS_FILE}") if dropped else lost
        if self._lock is not None:
            self._lock.release()
        return ()


def _write_statistics(statistics: StatisticsFile) -> str:
    try:
        statistics.write()
    except OSError as error:
        found = FileError.from_os_error(statistics.path, "cannot be written", error)
        kept = "Training continues. Statistics are kept in memory until they can be written."
        raise FileError(found.path, "", found.problem, f"{kept} {found.remedy}") from None
    return f"Writing statistics succeeded: {statistics.path}."
