"""Tries fixes that claim better training off the GUI thread, on copies, while no run trains."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from studio.document.graph_comparison import compare
from studio.document.model import Document
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.problems.problem_groups import grouped
from studio.lowering.report import Report
from studio.training.data.data_inspector import DataInspector
from studio.training.fixes.fix_measurement import MeasuredFixes, measure_fixes
from studio.training.fixes.fix_trials import TrialCancelledError, is_measured
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner

SETTLE_MS = 800
"""Time after a check without another one before fixes are tried."""
_REMEMBERED = 16
"""Number of documents whose results are cached."""
_REST = 0.5
"""Rest after each batch as a share of its time: the window and checks come first, and threads have no priorities."""
_LONGEST_REST = 0.05
_PROGRESS_STEP = 0.02

Key: TypeAlias = tuple[object, ...]
"""Code and node of a problem, and the titles of its fixes."""
State: TypeAlias = Literal["waiting", "trying", "done", "cancelled"]


@dataclass(frozen=True, slots=True)
class FixTrials:
    """The state of the trials of a problem's fixes."""

    state: State
    share: float = 0.0
    """While trying: the completed share."""
    measured: MeasuredFixes | None = None
    """Once done; None if they failed."""


@dataclass(slots=True)
class _Results:
    """What is known of the problems of a document."""

    document: Document
    done: dict[Key, MeasuredFixes | None] = field(default_factory=dict[Key, "MeasuredFixes | None"])
    cancelled: set[Key] = field(default_factory=set[Key])


@dataclass(eq=False, slots=True)
class _Job:
    results: _Results
    problem: Problem
    report: Report
    share: float = 0.0
    is_cancelled: threading.Event = field(default_factory=threading.Event)


class FixTrialRunner(QObject):
    """One trial runs at a time. Edits and runs cancel it; the user cancels it for good.

    Views register while they show problems: without a view nothing is tried.
    """

    changed = Signal()
    """The state of some trials changed."""
    _advanced = Signal(object)
    _finished = Signal(object, object)

    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fix-trials")
        self._cache: deque[_Results] = deque(maxlen=_REMEMBERED)
        self._viewers: set[QObject] = set()
        self._job: _Job | None = None
        self._is_closed = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self._begin)
        # Queued: the callback of a future that is already done runs in the thread that adds it.
        self._finished.connect(self._on_finished, Qt.ConnectionType.QueuedConnection)
        self._advanced.connect(self._on_advanced, Qt.ConnectionType.QueuedConnection)
        store.report_changed.connect(self._schedule)
        store.document_changed.connect(self._drop_outdated)
        runner.state_changed.connect(self._follow_run)

    def close(self) -> None:
        """Cancel the trial and wait for its thread."""
        self._is_closed = True
        self._timer.stop()
        self._stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def watch(self, viewer: QObject, *, is_shown: bool) -> None:
        """Register a view that shows problems, or remove it."""
        (self._viewers.add if is_shown else self._viewers.discard)(viewer)
        if self._viewers:
            self._schedule()
        else:
            self._stop()

    def trials(self, problem: Problem) -> FixTrials | None:
        """The state of a problem of the current document; None if its fix is not to be tried."""
        key = _key(problem)
        if key is None or self._store.report.errors:
            return None
        results = self._results
        if key in results.done:
            return FixTrials("done", measured=results.done[key])
        if key in results.cancelled:
            return FixTrials("cancelled")
        job = self._job
        if job is not None and job.results is results and _key(job.problem) == key and not job.is_cancelled.is_set():
            return FixTrials("trying", job.share)
        return FixTrials("waiting")

    @property
    def waits_for_run(self) -> bool:
        """Whether trials begin after the current run."""
        return self._runner.is_active

    def measured_text(self, fix: Fix) -> str:
        """What was measured of a fix of the current document; empty if nothing was."""
        all_measured = (each for each in self._results.done.values() if each is not None)
        return next((text for each in all_measured if (text := text_of(each, fix))), "")

    def recommended(self, problem: Problem) -> Problem:
        """The problem with the fix that trained best as the recommended one; with none if it trains worse with each."""
        trials = self.trials(problem)
        measured = None if trials is None else trials.measured
        if measured is None or problem.fix is None:
            return problem
        fixes, best = (problem.fix, *problem.others), measured.recommended
        if best is None:
            return replace(problem, fix=None, others=fixes)
        chosen = next((each for each in fixes if each.title == best.fix.title), problem.fix)
        if chosen is problem.fix:
            return problem
        chosen = replace(chosen, reason=f"{chosen.title} trained better than {problem.fix.title}")
        return replace(problem, fix=chosen, others=tuple(each for each in fixes if each.title != chosen.title))

    def cancel(self, problem: Problem) -> None:
        """Do not try the fixes of a problem of this document."""
        if (key := _key(problem)) is not None:
            self._results.cancelled.add(key)
            if self._job is not None and _key(self._job.problem) == key:
                self._stop()
            self.changed.emit()

    def retry(self, problem: Problem) -> None:
        """Try the fixes of a problem, although it was cancelled."""
        if (key := _key(problem)) is not None:
            self._results.cancelled.discard(key)
            self.changed.emit()
            self._begin()

    @property
    def _results(self) -> _Results:
        """The results of the current document; the same ones if only positions differ."""
        document = self._store.document
        for each in self._cache:
            if each.document is document or not compare(each.document, document):
                each.document = document
                return each
        self._cache.append(_Results(document))
        return self._cache[-1]

    def _schedule(self, *_: object) -> None:
        if not self._is_closed and self._viewers and self._next() is not None:
            self._timer.start()

    def _next(self) -> Problem | None:
        """The first problem whose fixes are not tried yet."""
        report = self._store.report
        states = ((each, self.trials(each)) for each in grouped(report.problems, report.nodes))
        return next((each for each, state in states if state is not None and state.state == "waiting"), None)

    def _begin(self) -> None:
        store = self._store
        if self._job is not None or self._is_closed or self._runner.is_active or not self._viewers:
            return
        problem = self._next() if store.is_checked else None
        if problem is None:
            return
        job = self._job = _Job(self._results, problem, store.report)
        self._pool.submit(self._measure, job, is_of_data=store.origin(problem) == "data").add_done_callback(
            partial(self._finish, job)
        )
        self.changed.emit()

    def _measure(self, job: _Job, *, is_of_data: bool) -> MeasuredFixes:
        """Runs in the worker thread."""
        inspector, rested = DataInspector(), time.monotonic()

        def check(document: Document) -> Report:
            report = self._store.check_copy(document).result()
            return inspector.inspect(report).joined(report) if is_of_data else report

        def advance(share: float) -> None:
            if job.is_cancelled.is_set():
                raise TrialCancelledError
            if share >= job.share + _PROGRESS_STEP:
                job.share = share
                self._advanced.emit(job)
            nonlocal rested
            time.sleep(min(_REST * (time.monotonic() - rested), _LONGEST_REST))
            rested = time.monotonic()

        return measure_fixes(job.problem, job.report, check, advance=advance)

    def _finish(self, job: _Job, work: Future[MeasuredFixes]) -> None:
        """Runs in the worker thread. An exception must not crash the editor."""
        if not self._is_closed:
            failed = work.cancelled() or work.exception() is not None
            self._finished.emit(job, None if failed else work.result())

    def _on_advanced(self, job: _Job) -> None:
        if job is self._job and not job.is_cancelled.is_set():
            self.changed.emit()

    def _on_finished(self, job: _Job, measured: MeasuredFixes | None) -> None:
        self._job = None
        key = _key(job.problem)
        if not job.is_cancelled.is_set() and key is not None:
            job.results.done[key] = measured
        self.changed.emit()
        self._schedule()

    def _drop_outdated(self, *_: object) -> None:
        """Cancel a trial of another document."""
        if self._job is not None and self._job.results is not self._results:
            self._stop()

    def _follow_run(self, *_: object) -> None:
        if self._runner.is_active:
            self._stop()
        else:
            self._schedule()

    def _stop(self) -> None:
        if self._job is not None:
            self._job.is_cancelled.set()


def text_of(measured: MeasuredFixes, fix: Fix) -> str:
    """What was measured of a fix: "200 batches: val_loss 2.31 → 0.84". Empty if nothing was."""
    found = measured.of(fix)
    if found is None or not found.text:
        return ""
    return f"{found.text}, worse" if found.is_worse else found.text


def _key(problem: Problem) -> Key | None:
    """None if no fix of the problem claims better training."""
    titles = sorted(fix.title for fix in (problem.fix, *problem.others) if fix is not None)
    return (problem.code, problem.node, *titles) if titles and is_measured(problem) else None


__all__ = ["SETTLE_MS", "FixTrialRunner", "FixTrials", "text_of"]
