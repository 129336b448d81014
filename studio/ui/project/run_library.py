"""The runs of a project in the window: what lies in its folder is read in a thread, and followed while it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from studio.document.autosave import move_runs
from studio.document.document_errors import FileError
from studio.training.runs.metric_points import Rewind
from studio.training.runs.run_history import MetricsFollower, MetricsUpdate, Run, RunFolder, StoredRun, run_from_stored
from studio.training.runs.run_record import is_this_process

T = TypeVar("T")

POLL_MS = 1000
_SHOWN_AT_FIRST = 10
"""Of the runs that are there already, the newest; the others are read when somebody asks for their curves."""
_SECONDS = 0.05
"""Of reading, after which the window is told what was found."""


@dataclass(frozen=True, slots=True)
class _Look:
    found: list[StoredRun]
    news: list[tuple[Run, MetricsFollower, MetricsUpdate]]


class RunLibrary(QObject):
    """All runs of a project, oldest first: those of this session, of earlier ones, of other processes."""

    runs_changed = Signal()
    """Runs came or went."""
    described = Signal()
    """What is known of runs beside their curves has changed."""
    grown = Signal()
    """Curves have changed."""
    closing = Signal()
    """The project is closed: what works with its runs comes to an end now."""
    _answered = Signal(object, object, object)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.runs: list[Run] = []
        self.has_looked = False
        """The folder was looked through at least once."""
        self._shelf = RunFolder(folder)
        self._followers: dict[Run, MetricsFollower] = {}
        self._read: set[Run] = set()
        """Runs whose metrics are read to the end."""
        self._noted: set[Run] = set()
        """Runs of which more is known here than what the present look through the folder may have read before."""
        self._is_looking = False
        self._looks_again = False
        """Asked for while a look was under way, which may have missed what is new."""
        self._is_closed = False
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="runs")
        # Queued: an answer that is there at once would come before `ask` has returned.
        self._answered.connect(_answer, Qt.ConnectionType.QueuedConnection)
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self.look)

    # -- reading

    @property
    def folder(self) -> Path:
        """Where new runs go."""
        return self._shelf.folder

    @property
    def next_number(self) -> int:
        return max((run.number for run in self.runs), default=0) + 1

    @property
    def is_reading(self) -> bool:
        """Curves that are to be shown are still to be read."""
        return any(run not in self._read for run in self._wanted())

    # -- what others do

    def follow(self, on: bool) -> None:
        """Look through the folder again and again, or no longer."""
        if on and not self._is_closed:
            self._timer.start()
            self.look()
        else:
            self._timer.stop()

    def add(self, run: Run) -> None:
        """A run that begins in this process."""
        self.runs.append(run)
        self.runs_changed.emit()

    def look(self) -> None:
        """Find out what has changed, by and by."""
        if self._is_looking or self._is_closed:
            self._looks_again = True
            return
        self._looks_again = False
        self._is_looking = True
        self._noted.clear()
        wanted = [(run, self._follower(run)) for run in self._wanted() if run not in self._read or run.is_live]
        self.ask(partial(_look, self._shelf, wanted), self._take)

    def set_folder(self, run: Run, folder: Path) -> None:
        """Where a run of this process has begun to write."""
        run.folder = folder
        self.described.emit()

    def note(self, run: Run, about: Mapping[str, Any]) -> None:
        """What a run's run.json says, as this process has just written it."""
        run.about = about
        self._noted.add(run)
        self.described.emit()

    def remove(self, runs: Iterable[Run]) -> None:
        """Runs that are no longer there."""
        gone = set(runs)
        self.runs = [run for run in self.runs if run not in gone]
        for run in gone:
            self._forget(run)
        self.runs_changed.emit()

    def ask(
        self,
        work: Callable[[], T],
        then: Callable[[T], object],
        refused: Callable[[FileError], object] | None = None,
    ) -> None:
        """Do something with files in the thread that reads, then go on with the answer in this one."""
        if not self._is_closed:
            self._pool.submit(work).add_done_callback(partial(self._tell, then, refused))

    def read_whole(self, run: Run) -> list[MetricsUpdate]:
        """In the thread that reads: all of a run's curves that are not read yet."""
        return [] if run.is_own else list(_rest(self._follower(run)))

    def move(self, target: Path) -> None:
        """Bring all runs that are written into another folder, which is that of the project from now on."""
        before, self._shelf = self._shelf.folder, RunFolder(target)
        self._followers.clear()
        if any(run.folder is not None for run in self.runs):
            self.ask(partial(move_runs, before, target), partial(self._find_again, target))

    def stay(self, target: Path) -> None:
        """Another folder is that of the project from now on; runs of this session stay where they are."""
        self._shelf = RunFolder(target)
        self.remove([run for run in self.runs if not run.is_own])
        self.look()

    def close(self) -> None:
        """End the thread."""
        self.closing.emit()
        self._is_closed = True
        self._timer.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    # -- in the window's thread

    def _take(self, look: _Look) -> None:
        self._is_looking = False
        for run, follower, news in look.news:
            if self._followers.get(run) is follower:
                run.catch_up(news)
                if news.is_all:
                    self._read.add(run)
        self._describe(look.found)
        if look.news:
            self.grown.emit()
        if self.is_reading or self._looks_again:
            self.look()

    def _describe(self, found: list[StoredRun]) -> None:
        known = {run.folder: run for run in self.runs if run.folder is not None}
        fresh: list[Run] = []
        changed = False
        for one in found:
            run = known.pop(one.folder, None) or self._own(one)
            if run is None:
                run = run_from_stored(one, [each.number for each in (*self.runs, *fresh)])
                run.is_shown = False
                fresh.append(run)
            elif run in self._noted:
                continue  # the next look tells
            elif run.about is not one.about or (run.state != one.state and not run.is_own):
                self._hand_over(run, one)
                if run.is_live:
                    self._read.discard(run)  # its last lines may have been written after they were looked for
                run.describe(one.about, one.state)
                changed = True
        gone = [run for folder, run in known.items() if self._shelf.folder == folder.parent and not run.is_live]
        self.runs = sorted((run for run in [*self.runs, *fresh] if run not in gone), key=_order)
        _settle_numbers(self.runs)
        for run in gone:
            self._forget(run)
        for run in self._to_show(fresh):
            run.is_shown = True
        self.has_looked = True
        if fresh or gone:
            self.runs_changed.emit()
        elif changed:
            self.described.emit()

    def _to_show(self, fresh: list[Run]) -> list[Run]:
        """Of runs just found: what is under way, what began while the window was open, else the newest ones."""
        if self.has_looked:
            return fresh
        newest = sorted(fresh, key=_order)[-_SHOWN_AT_FIRST:]
        return [run for run in fresh if run.is_live or run in newest]

    def _own(self, found: StoredRun) -> Run | None:
        """The run of this process that has just begun to write there."""
        if is_this_process(found.about.get("process")):
            for run in self.runs:
                if run.is_own and run.is_live and run.folder is None:
                    run.folder = found.folder
                    return run
        return None

    def _hand_over(self, run: Run, found: StoredRun) -> None:
        """A run that another process goes on with, or that went back to an earlier place, is read anew."""
        is_others = found.state == "running" and not is_this_process(found.about.get("process"))
        went_back = run.about.get("resumed") != found.about.get("resumed")
        if (run.is_own and not run.is_live and is_others) or (not run.is_own and went_back):
            run.is_own = False
            run.add([Rewind(-1)])
            self._forget(run)

    def _wanted(self) -> list[Run]:
        return [run for run in self.runs if run.is_shown and not run.is_own and run.folder is not None]

    def _follower(self, run: Run) -> MetricsFollower:
        if run not in self._followers:
            assert run.folder is not None
            self._followers[run] = MetricsFollower(run.folder)
        return self._followers[run]

    def _forget(self, run: Run) -> None:
        self._followers.pop(run, None)
        self._read.discard(run)

    def _find_again(self, target: Path, moved: dict[Path, Path]) -> None:
        for run in self.runs:
            if run.folder is not None:
                run.folder = moved.get(run.folder, run.folder)
        self.described.emit()
        self.look()

    def _tell(
        self, then: Callable[[Any], object], refused: Callable[[FileError], object] | None, future: Future[Any]
    ) -> None:
        """In the pool's thread."""
        if not self._is_closed and not future.cancelled():
            self._answered.emit(then, refused, future)


def _answer(then: Callable[[Any], object], refused: Callable[[FileError], object] | None, future: Future[Any]) -> None:
    error = future.exception()
    if error is None:
        then(future.result())
    elif isinstance(error, FileError) and refused is not None:
        refused(error)
    else:
        raise error


def _look(shelf: RunFolder, wanted: list[tuple[Run, MetricsFollower]]) -> _Look:
    """In the thread that reads."""
    found = shelf.look()
    news: list[tuple[Run, MetricsFollower, MetricsUpdate]] = []
    ends = time.monotonic() + _SECONDS
    for run, follower in wanted:
        for part in _rest(follower):
            news.append((run, follower, part))
            if time.monotonic() > ends:
                return _Look(found, news)
    return _Look(found, news)


def _rest(follower: MetricsFollower) -> Iterable[MetricsUpdate]:
    while True:
        news = follower.read()
        yield news
        if news.is_all:
            return


def _settle_numbers(runs: Iterable[Run]) -> None:
    """Give runs the numbers that their records have: one that begins here has a guess until its record is there."""
    taken: set[int] = set()
    for run in sorted(runs, key=lambda run: not isinstance(run.about.get("number"), int)):
        known = run.about.get("number", run.number)
        number = known if isinstance(known, int) else run.number
        run.number = max(taken) + 1 if number in taken else number
        taken.add(run.number)


def _order(run: Run) -> tuple[str, int]:
    return str(run.about.get("started", "")), run.number


__all__ = ["POLL_MS", "RunLibrary"]
