"""The runs of a project. A background thread reads the run folder and follows runs that are still growing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from studio.document.document_errors import FileError
from studio.document.files.autosave import move_runs
from studio.training.runs.metric_points import Rewind
from studio.training.runs.run_history import MetricsFollower, MetricsUpdate, Run, RunFolder, StoredRun, run_from_stored
from studio.training.runs.run_record import is_this_process

T = TypeVar("T")

POLL_MS = 1000
_SHOWN_AT_FIRST = 10
"""Number of newest existing runs whose curves are read immediately; others are read when they are shown."""
_SECONDS = 0.05
"""Maximum seconds of reading before results are passed to the GUI thread."""


@dataclass(frozen=True, slots=True)
class _ScanResult:
    found: list[StoredRun]
    updates: list[tuple[Run, MetricsFollower, MetricsUpdate]]


class RunLibrary(QObject):
    """All runs of a project, oldest first: those of this session, of earlier sessions and of other processes."""

    runs_changed = Signal()
    """Runs were added or removed."""
    metadata_changed = Signal()
    """Metadata of runs has changed."""
    curves_changed = Signal()
    """Curves have changed."""
    closing = Signal()
    """The project is being closed; file operations on its runs must stop."""
    _result_ready = Signal(object, object, object)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.runs: list[Run] = []
        self.has_scanned = False
        """The folder has been scanned at least once."""
        self._run_folder = RunFolder(folder)
        self._followers: dict[Run, MetricsFollower] = {}
        self._read: set[Run] = set()
        """Runs whose metrics are read to the end."""
        self._recently_written: set[Run] = set()
        """Runs whose metadata was set here after the current scan may have read it."""
        self._is_scanning = False
        self._rescan_requested = False
        """A scan was requested during the current one, which may have missed the change."""
        self._is_closed = False
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="runs")
        # Queued, because an immediate answer would arrive before `ask` returns.
        self._result_ready.connect(_handle_result, Qt.ConnectionType.QueuedConnection)
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self.scan)

    # -- reading

    @property
    def folder(self) -> Path:
        """Folder for new runs."""
        return self._run_folder.folder

    @property
    def next_number(self) -> int:
        return max((run.number for run in self.runs), default=0) + 1

    @property
    def is_reading(self) -> bool:
        """Whether curves of shown runs are still being read."""
        return any(run not in self._read for run in self._runs_to_read())

    # -- requests

    def follow(self, on: bool) -> None:
        """Start or stop periodic scans of the folder."""
        if on and not self._is_closed:
            self._timer.start()
            self.scan()
        else:
            self._timer.stop()

    def add(self, run: Run) -> None:
        """Add a run that starts in this process."""
        self.runs.append(run)
        self.runs_changed.emit()

    def scan(self) -> None:
        """Scan the folder for changes in the background."""
        if self._is_scanning or self._is_closed:
            self._rescan_requested = True
            return
        self._rescan_requested = False
        self._is_scanning = True
        self._recently_written.clear()
        to_read = [(run, self._follower(run)) for run in self._runs_to_read() if run not in self._read or run.is_live]
        self.run_in_reader(partial(_scan, self._run_folder, to_read), self._on_scanned)

    def set_folder(self, run: Run, folder: Path) -> None:
        """Set the folder that a run of this process writes to."""
        run.folder = folder
        self.metadata_changed.emit()

    def set_metadata(self, run: Run, about: Mapping[str, Any]) -> None:
        """Set the contents of a run's run.json that this process has just written."""
        run.metadata = about
        self._recently_written.add(run)
        self.metadata_changed.emit()

    def remove(self, runs: Iterable[Run]) -> None:
        """Remove deleted runs."""
        removed = set(runs)
        self.runs = [run for run in self.runs if run not in removed]
        for run in removed:
            self._reset_follower(run)
        self.runs_changed.emit()

    def run_in_reader(
        self,
        work: Callable[[], T],
        then: Callable[[T], object],
        refused: Callable[[FileError], object] | None = None,
    ) -> None:
        """Run `work` in the reading thread and pass its result to `then` in the GUI thread."""
        if not self._is_closed:
            self._pool.submit(work).add_done_callback(partial(self._post_result, then, refused))

    def read_all(self, run: Run) -> list[MetricsUpdate]:
        """Read the unread curves of a run. Call it in the reading thread."""
        return [] if run.is_own else list(_read_all(self._follower(run)))

    def move(self, target: Path) -> None:
        """Move all saved runs to another folder, which becomes the project's run folder."""
        before, self._run_folder = self._run_folder.folder, RunFolder(target)
        self._followers.clear()
        if any(run.folder is not None for run in self.runs):
            self.run_in_reader(partial(move_runs, before, target), partial(self._update_folders, target))

    def switch_folder(self, target: Path) -> None:
        """Switch to another folder without moving files; runs of this session stay in the list."""
        self._run_folder = RunFolder(target)
        self.remove([run for run in self.runs if not run.is_own])
        self.scan()

    def close(self) -> None:
        """Stop the thread."""
        self.closing.emit()
        self._is_closed = True
        self._timer.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    # -- in the GUI thread

    def _on_scanned(self, result: _ScanResult) -> None:
        self._is_scanning = False
        for run, follower, updates in result.updates:
            if self._followers.get(run) is follower:
                run.apply_update(updates)
                if updates.is_complete:
                    self._read.add(run)
        self._update_runs(result.found)
        if result.updates:
            self.curves_changed.emit()
        if self.is_reading or self._rescan_requested:
            self.scan()

    def _update_runs(self, found: list[StoredRun]) -> None:
        by_folder = {run.folder: run for run in self.runs if run.folder is not None}
        new_runs: list[Run] = []
        changed = False
        for stored in found:
            run = by_folder.pop(stored.folder, None) or self._own_run(stored)
            if run is None:
                run = run_from_stored(stored, [other.number for other in (*self.runs, *new_runs)])
                run.is_shown = False
                new_runs.append(run)
            elif run in self._recently_written:
                continue  # this scan may have read outdated metadata; the next one reads it again
            elif run.metadata is not stored.metadata or (run.state != stored.state and not run.is_own):
                self._reopen(run, stored)
                if run.is_live:
                    self._read.discard(run)  # its last lines may have been written after the scan
                run.describe(stored.metadata, stored.state)
                changed = True
        removed = [
            run for folder, run in by_folder.items() if self._run_folder.folder == folder.parent and not run.is_live
        ]
        self.runs = sorted((run for run in [*self.runs, *new_runs] if run not in removed), key=_order)
        _assign_numbers(self.runs)
        for run in removed:
            self._reset_follower(run)
        for run in self._to_show(new_runs):
            run.is_shown = True
        self.has_scanned = True
        if new_runs or removed:
            self.runs_changed.emit()
        elif changed:
            self.metadata_changed.emit()

    def _to_show(self, new_runs: list[Run]) -> list[Run]:
        """Runs to show among new ones: active runs, runs that started while the window was open, else the newest."""
        if self.has_scanned:
            return new_runs
        newest = sorted(new_runs, key=_order)[-_SHOWN_AT_FIRST:]
        return [run for run in new_runs if run.is_live or run in newest]

    def _own_run(self, found: StoredRun) -> Run | None:
        """The run of this process that writes to the found folder."""
        if is_this_process(found.metadata.get("process")):
            for run in self.runs:
                if run.is_own and run.is_live and run.folder is None:
                    run.folder = found.folder
                    return run
        return None

    def _reopen(self, run: Run, found: StoredRun) -> None:
        """Read a run again that another process has resumed or rewound."""
        is_others = found.state == "running" and not is_this_process(found.metadata.get("process"))
        went_back = run.metadata.get("resumed") != found.metadata.get("resumed")
        if (run.is_own and not run.is_live and is_others) or (not run.is_own and went_back):
            run.is_own = False
            run.add([Rewind(-1)])
            self._reset_follower(run)

    def _runs_to_read(self) -> list[Run]:
        return [run for run in self.runs if run.is_shown and not run.is_own and run.folder is not None]

    def _follower(self, run: Run) -> MetricsFollower:
        if run not in self._followers:
            assert run.folder is not None
            self._followers[run] = MetricsFollower(run.folder)
        return self._followers[run]

    def _reset_follower(self, run: Run) -> None:
        self._followers.pop(run, None)
        self._read.discard(run)

    def _update_folders(self, target: Path, moved: dict[Path, Path]) -> None:
        for run in self.runs:
            if run.folder is not None:
                run.folder = moved.get(run.folder, run.folder)
        self.metadata_changed.emit()
        self.scan()

    def _post_result(
        self, then: Callable[[Any], object], refused: Callable[[FileError], object] | None, future: Future[Any]
    ) -> None:
        """Runs in the thread pool."""
        if not self._is_closed and not future.cancelled():
            self._result_ready.emit(then, refused, future)


def _handle_result(
    then: Callable[[Any], object], refused: Callable[[FileError], object] | None, future: Future[Any]
) -> None:
    error = future.exception()
    if error is None:
        then(future.result())
    elif isinstance(error, FileError) and refused is not None:
        refused(error)
    else:
        raise error


def _scan(run_folder: RunFolder, to_read: list[tuple[Run, MetricsFollower]]) -> _ScanResult:
    """Runs in the reading thread."""
    found = run_folder.scan()
    updates: list[tuple[Run, MetricsFollower, MetricsUpdate]] = []
    ends = time.monotonic() + _SECONDS
    for run, follower in to_read:
        for part in _read_all(follower):
            updates.append((run, follower, part))
            if time.monotonic() > ends:
                return _ScanResult(found, updates)
    return _ScanResult(found, updates)


def _read_all(follower: MetricsFollower) -> Iterable[MetricsUpdate]:
    while True:
        updates = follower.read()
        yield updates
        if updates.is_complete:
            return


def _assign_numbers(runs: Iterable[Run]) -> None:
    """Give runs the numbers of their records. A run that starts here has a provisional number until its record
    exists."""
    used: set[int] = set()
    for run in sorted(runs, key=lambda run: not isinstance(run.metadata.get("number"), int)):
        recorded = run.metadata.get("number", run.number)
        number = recorded if isinstance(recorded, int) else run.number
        run.number = max(used) + 1 if number in used else number
        used.add(run.number)


def _order(run: Run) -> tuple[str, int]:
    return str(run.metadata.get("started", "")), run.number


__all__ = ["POLL_MS", "RunLibrary"]
