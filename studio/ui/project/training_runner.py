"""Trains a project: one TrainingSession at a time, whose events a timer delivers to the GUI thread."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import psutil
from PySide6.QtCore import QObject, QTimer, Signal

from engine import cuda, fit
from engine.compiler import Explanation
from engine.compiler.kernels import kernel_cache
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.lowering.problems.problem import Problem
from studio.training.diagnosis.divergence import LOSS_PROBLEMS
from studio.training.diagnosis.run_diagnosis import RUN_CODES
from studio.training.runs.run_branching import branch_run
from studio.training.runs.run_history import MetricsUpdate, Run, StoredRun, run_from_stored
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import RUN_FILE
from studio.training.runs.run_resuming import ResumedRun, load_run, with_difference_warning
from studio.training.session_events import AutogradCaptured, BreakpointsHit, Failed, SessionEvent, StateChanged, Warned
from studio.training.training_session import TrainingSession
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.refresh_interval import MIN_MS, RefreshInterval
from studio.ui.project.run_library import RunLibrary

STOP_SECONDS = 5.0
_MEMORY_SECONDS = 1.0
"""Seconds between two readings of the memory in use."""


class TrainingRunner(QObject):
    """Starts, pauses, stops and resumes the training of a project."""

    state_changed = Signal(str)
    """"idle", "running", "paused", "done", "stopped" or "failed"."""
    run_begun = Signal(object)
    """A Run, new or resumed."""
    events = Signal(object)
    """List of new events, already recorded in the Run."""
    snapshot_ready = Signal(object)
    """The Snapshot of one step."""
    hit_changed = Signal()
    """The run has paused at a breakpoint, or continues."""
    refused = Signal(str)
    """Why a run could not start."""
    stored_runs_changed = Signal()
    """Runs of earlier sessions were read."""

    def __init__(self, store: ProjectStore, library: RunLibrary, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._library = library
        self._session: TrainingSession | None = None
        self._snapshot_session: TrainingSession | None = None
        """Session that only runs single steps for the Autograd panel."""
        self._stored_capture: tuple[TrainingSession, Run] | None = None
        """A session with the last weights of a run of an earlier session, and this run."""
        self._pending_snapshots = 0
        self._state_before_resume = ("", False)
        """State and ownership of a run before resuming it, to restore them if resuming fails."""
        self._refusal: str | None = None
        """Why resuming failed."""
        self._state = "idle"
        self.run: Run | None = None
        """The current or last run of this session."""
        self.snapshot_run: Run | None = None
        """The run of the last requested autograd graph; None for initial weights."""
        self.hit: BreakpointsHit | None = None
        """The hit of breakpoints at which the run is paused."""
        self._memory = (0.0, 0)
        store.document_changed.connect(self._pass_breakpoints)
        for changed in (library.runs_changed, library.metadata_changed, library.curves_changed):
            changed.connect(self.stored_runs_changed)
        self._timer = QTimer(self)
        self._timer.setInterval(MIN_MS)
        self._timer.timeout.connect(self._drain_and_reschedule)
        self._refresh_interval = RefreshInterval()

    # -- reading

    @property
    def state(self) -> str:
        return self._state

    @property
    def is_active(self) -> bool:
        """Whether a run is in progress, paused or not."""
        return self._state in ("running", "paused")

    @property
    def awaited_kernel(self) -> str:
        """The kernel whose compilation the first step waits for; empty if it does not wait."""
        return kernel_cache.kernel_compiled_now() if self._state == "running" else ""

    @property
    def steps(self) -> int:
        """Training steps of the current or last run, including those whose events are not delivered yet."""
        return 0 if self._session is None else self._session.steps

    @property
    def runs(self) -> list[Run]:
        """Runs of this session, in the order they started."""
        return [run for run in self._library.runs if run.is_own]

    @property
    def memory(self) -> int:
        """Bytes in use by this process, or on the GPU if the run is there. Read at most once a second."""
        now = time.monotonic()
        if now - self._memory[0] > _MEMORY_SECONDS:
            on_gpu = self.run is not None and self.run.device == "cuda"
            self._memory = now, cuda.memory_allocated() if on_gpu else psutil.Process().memory_info().rss
        return self._memory[1]

    # -- changing

    def start(self, *, weights: Path | None = None) -> None:
        """Start a run, or continue a paused one. `weights` is a checkpoint from which matching weights are loaded."""
        if self._state == "paused" and weights is None:
            self._active_session().resume()
        elif self.is_active:
            if weights is not None:
                self._refuse_second_run()
        elif self._begin(weights):
            self._active_session().start()
        self._drain_quickly()

    def pause(self) -> None:
        if self._state == "running":
            self._active_session().pause()
            self._drain_quickly()

    def step(self) -> None:
        """Run one batch, then pause. Starts a run if there is none."""
        if self.is_active or self._begin():
            self._active_session().step()
            self._drain_quickly()

    def stop(self) -> None:
        """Stop the run after the current batch; it can be resumed later."""
        if self.is_active:
            self._active_session().stop()
            self._drain_quickly()

    def resume(self, run: Run, *, epochs: int | None = None) -> None:
        """Resume a run from its last checkpoint with the graph it was started with. `epochs` overrides its total."""
        if self.is_active:
            self._refuse_second_run()
        elif run.folder is None:
            self.refused.emit(f"{run.name} was not saved to disk and cannot be resumed.")
        else:
            work = partial(_load_resumable, self._library, run, run.folder)
            self._library.run_in_reader(work, partial(self._resume_loaded, run, epochs), self._refuse)

    def branch(self, run: Run, step: int) -> None:
        """Resume from a checkpoint of a run as a new run; the old one stays as it is."""
        if self.is_active:
            self._refuse_second_run()
        elif run.folder is not None:
            self._library.run_in_reader(partial(_branched, run.folder, step), self._resume_branch, self._refuse)

    def close(self) -> None:
        """Stop the run and wait for its thread."""
        if self._session is not None and self.is_active:
            self._session.stop()
            self._session.join(STOP_SECONDS)
        self._timer.stop()

    def drain(self) -> None:
        """Deliver new events."""
        events: list[SessionEvent] = []
        for session in self._sessions():
            events += self._new_events(session)
        if self.run is not None and self._session is not None:
            if self.run.folder is None and self._session.folder is not None:
                self._library.set_folder(self.run, self._session.folder)
            self.run.take(event for event in events if isinstance(event, fit.TrainingEvent))
        for event in events:
            if not isinstance(event, fit.Step):
                self._handle_event(event)
        if events:
            self.events.emit(events)
        if self._refusal is not None and not self.is_active:
            refusal, self._refusal = self._refusal, None
            self.refused.emit(refusal)
        if not self.is_active and not self._pending_snapshots:
            self._timer.stop()

    def _new_events(self, session: TrainingSession) -> list[SessionEvent]:
        """New events of a session. Of an earlier run, only the autograd graph: problems of it are not those of now."""
        found = session.events()
        if self._stored_capture is None or session is not self._stored_capture[0]:
            return found
        run = self._stored_capture[1]
        if any(isinstance(event, (Failed, Warned)) for event in found):
            self._pending_snapshots = 0
        graphs = [event.snapshot for event in found if isinstance(event, AutogradCaptured)]
        return [AutogradCaptured(replace(snapshot, step=run.step)) for snapshot in graphs]

    @property
    def shows_run(self) -> bool:
        """Whether `request_snapshot` shows a step of the current or last run, not one with initial weights."""
        session = self._session
        return session is not None and (self.is_active or session.document is self._store.document)

    @property
    def has_pending_snapshot(self) -> bool:
        """Whether a requested autograd graph has not arrived yet."""
        return bool(self._pending_snapshots)

    def request_snapshot(self, *, of_run: bool = False) -> None:
        """Request the autograd graph of one step: of the current or last run, or with freshly initialized weights.

        Args:
            of_run: of the run even if the project was edited after it
        """
        session = self._session
        if session is None or not (of_run or self.shows_run):
            if not self._can_begin():
                return
            session = self._snapshot_session = self._make_session(runs=None)
            self.snapshot_run = None
        else:
            self.snapshot_run = self.run
        self._capture(session)

    def request_stored_snapshot(self, run: Run) -> None:
        """Request the autograd graph of the first batch with the last weights of a run of an earlier session.

        Nothing happens if its files are damaged, or if its graph has errors here.
        """
        self._library.run_in_reader(run.read_document, partial(self._capture_stored, run), lambda _: None)

    @property
    def newest_stored_run(self) -> Run | None:
        """The last run of an earlier session or another process with a completed batch."""
        ended = [run for run in self._library.runs if not run.is_own and not run.is_live and run.step and run.folder]
        return ended[-1] if ended else None

    def _capture_stored(self, run: Run, document: Document) -> None:
        if self._session is None and not self._pending_snapshots:
            store = self._store
            session = TrainingSession(
                document, store.catalogue, base=store.base, name=store.name, start_from=run.folder
            )
            self._snapshot_session, self.snapshot_run = session, run
            self._stored_capture = session, run
            self._capture(session)

    def _capture(self, session: TrainingSession) -> None:
        self._pending_snapshots += 1
        session.capture_autograd()
        self._timer.start()

    @property
    def session(self) -> TrainingSession | None:
        """The session of the current or last run."""
        return self._session

    def step_seconds(self) -> float | None:
        """Duration of the last compiled step of the run, in seconds."""
        return None if self._session is None else self._session.step_seconds()

    def explanation(self) -> Explanation | None:
        """Explanation of the compiled step of the current or last run. Thread-safe."""
        return None if self._session is None else self._session.explanation()

    def _drain_and_reschedule(self) -> None:
        self._timer.setInterval(
            self._refresh_interval.next_ms(None if self.run is None else self.run.progress.seconds_per_batch)
        )
        self.drain()

    def _drain_quickly(self) -> None:
        """Drain now, and again as soon as the requested change can have happened."""
        self.drain()
        self._timer.setInterval(MIN_MS)

    def _handle_event(self, event: SessionEvent) -> None:
        match event:
            case BreakpointsHit():
                self._set_hit(event)
            case StateChanged():
                if event.state != "paused":
                    self._set_hit(None)
                if event.state == "failed" and self._refusal is not None:
                    self._restore_state()
                else:
                    self._set_state(event.state)
            case Failed():
                self._pending_snapshots = 0
                if event.refused:  # a failing snapshot does not end the run
                    self._refusal = event.message
                node = event.node if event.node in self._store.document.nodes else None
                self._store.set_run_problems([Problem("error", "run-failed", event.message, node=node)])
            case AutogradCaptured():
                self._pending_snapshots = 0
                self.snapshot_ready.emit(event.snapshot)
            case Warned():
                self._pending_snapshots = 0
                if event.problem.code in RUN_CODES and self.run is not None:
                    found = [*self.run.metadata.get("problems", ()), event.problem.as_dict()]
                    self.run.metadata = {**self.run.metadata, "problems": found}
                if event.problem.code in LOSS_PROBLEMS and self.run is not None:
                    found = {"loss_problem": event.problem.code, "message": event.message}
                    self.run.metadata = {**self.run.metadata, **found}
                if event.problem.node is not None and self._active_session().document is self._store.document:
                    self._store.add_run_problem(event.problem)
            case _:
                pass

    def _pass_breakpoints(self, old: Document, new: Document) -> None:
        """Let the run that is in progress use changed breakpoints."""
        if self._session is not None and self.is_active and old.breakpoints != new.breakpoints:
            self._session.set_breakpoints(new.breakpoints)

    def _set_hit(self, hit: BreakpointsHit | None) -> None:
        if hit is not self.hit:
            self.hit = hit
            self.hit_changed.emit()

    def _begin(self, weights: Path | None = None) -> bool:
        if not self._can_begin():
            return False
        self._session = self._make_session(runs=self._library.folder, start_from=weights)
        settings = self._session.settings
        about = {
            "started": datetime.now().astimezone().isoformat(timespec="seconds"),
            "settings": {name: getattr(settings, name) for name in type(settings).__slots__},
        }
        run = Run(self._library.next_number, metadata=about, document=self._session.document, is_own=True)
        self._library.add(run)
        self._follow(run)
        return True

    def _resume_loaded(self, run: Run, epochs: int | None, loaded: tuple[ResumedRun, list[MetricsUpdate]]) -> None:
        """Resume a run whose files have been read."""
        resumed, updates = loaded
        if self.is_active:
            self._refuse_second_run()
            return
        for part in updates:
            run.apply_update(part)
        self._store.set_run_problems(())
        store = self._store
        resumed = with_difference_warning(resumed, "The canvas", store.document, store.catalogue, epochs=epochs)
        self._state_before_resume = (run.state, run.is_own)
        run.document, run.is_own, run.is_shown = resumed.document, True, True
        self._session = TrainingSession(
            resumed.document,
            store.catalogue,
            base=store.base,
            name=store.name,
            resume=resumed,
            epochs=epochs,
            breakpoints=store.document.breakpoints,
        )
        self._follow(run)
        self._session.start()
        self.drain()

    def _resume_branch(self, stored: StoredRun) -> None:
        """Resume a run that was made of another one. A complete one trains for as many epochs again."""
        run = run_from_stored(stored, [other.number for other in self._library.runs])
        self._library.add(run)
        epochs = run.settings.get("epochs")
        is_complete = isinstance(epochs, int) and int(run.last.get("epoch") or 0) >= epochs
        self.resume(run, epochs=2 * epochs if isinstance(epochs, int) and is_complete else None)

    def _follow(self, run: Run) -> None:
        self.run = run
        run.state = "running"
        self.run_begun.emit(run)
        self._refresh_interval = RefreshInterval()  # work done before the run does not count as refresh cost
        self._timer.start()

    def _can_begin(self) -> bool:
        if refusal := self._store.prepare_run():
            self.refused.emit(refusal)
            return False
        self._store.set_run_problems(())
        return True

    def _make_session(self, *, runs: Path | None, start_from: Path | None = None) -> TrainingSession:
        store = self._store
        return TrainingSession(
            store.document,
            store.catalogue,
            base=store.base,
            runs=runs,
            name=store.name,
            start_from=start_from,
            get_report=store.request_report(),
        )

    def _sessions(self) -> list[TrainingSession]:
        return [session for session in (self._session, self._snapshot_session) if session is not None]

    def _active_session(self) -> TrainingSession:
        assert self._session is not None
        return self._session

    def _refuse_second_run(self) -> None:
        self.refused.emit("A run is in progress. Stop it before starting another.")

    def _refuse(self, error: FileError) -> None:
        self.refused.emit(str(error))

    def _restore_state(self) -> None:
        """Restore the state of a run that could not be resumed."""
        if self.run is not None:
            self.run.state, self.run.is_own = self._state_before_resume
        self.run = self._session = None
        self._set_state("idle")

    def _set_state(self, state: str) -> None:
        if self.run is not None:
            self.run.state = state
        if state != self._state:
            self._state = state
            self.state_changed.emit(state)


def _branched(folder: Path, step: int) -> StoredRun:
    """A new run that continues from a checkpoint. Runs in the reading thread."""
    made = branch_run(folder, step)
    metadata = read_metadata(made / RUN_FILE)
    return StoredRun(made, metadata, str(metadata.get("state", "")))


def _load_resumable(library: RunLibrary, run: Run, folder: Path) -> tuple[ResumedRun, list[MetricsUpdate]]:
    """A run's checkpoint and its unread curve points. Runs in the reading thread."""
    return load_run(folder), library.read_all(run)
