"""Training as the window sees it: one Session at a time, its events handed out by a timer."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QObject, QTimer, Signal

from engine.compiler import Explanation
from studio.lowering.report import Problem
from studio.training.events import Failed, Looked, SessionEvent, StateChanged, Warned
from studio.training.session import Session
from studio.ui.runs import Run
from studio.ui.store import Store

POLL_MS = 50
STOP_SECONDS = 5.0


class Runner(QObject):
    """Starts, pauses and stops the training of a project and keeps the runs of this session."""

    state_changed = Signal(str)
    """"idle", "running", "paused", "done", "stopped" or "failed"."""
    run_added = Signal(object)
    """The Run."""
    events = Signal(object)
    """A list of the events that came since the last time, already put down in the Run."""
    looked = Signal(object)
    """The Snapshot of one step."""
    refused = Signal(str)
    """Why no run could be started."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._session: Session | None = None
        self._viewer: Session | None = None
        """Takes steps only to be looked at."""
        self._looks = 0
        self._state = "idle"
        self.runs: list[Run] = []
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self.drain)

    # -- reading

    @property
    def state(self) -> str:
        return self._state

    @property
    def is_active(self) -> bool:
        """Whether a run is under way, paused or not."""
        return self._state in ("running", "paused")

    @property
    def run(self) -> Run | None:
        """The present or last run."""
        return self.runs[-1] if self.runs else None

    # -- changing

    def start(self) -> None:
        """Run the graph, or go on with what is paused."""
        if self._state == "paused":
            self._live().resume()
        elif self._state != "running" and self._begin():
            self._live().start()
        self.drain()

    def pause(self) -> None:
        if self._state == "running":
            self._live().pause()
            self.drain()

    def step(self) -> None:
        """One batch, then pause. Starts a run if there is none."""
        if self.is_active or self._begin():
            self._live().step()
            self.drain()

    def stop(self) -> None:
        if self.is_active:
            self._live().stop()
            self.drain()

    def close(self) -> None:
        """End the run under way and wait until its thread is gone."""
        if self._session is not None and self.is_active:
            self._session.stop()
            self._session.join(STOP_SECONDS)
        self._timer.stop()

    def drain(self) -> None:
        """Hand out what happened since the last time."""
        events = [event for session in self._sessions() for event in session.events()]
        for event in events:
            self._take(event)
        if events:
            self.events.emit(events)
        if not self.is_active and not self._looks:
            self._timer.stop()

    def look(self) -> None:
        """Ask for the autograd graph of one step: of the run under way or just done, else with fresh weights."""
        session = self._session
        if session is None or not (self.is_active or session.document is self._store.document):
            if not self._can_begin():
                return
            session = self._viewer = self._make_session(is_recorded=False)
        self._looks += 1
        session.look()
        self._timer.start()

    def step_seconds(self) -> float | None:
        """That the last compiled step of the run took."""
        return None if self._session is None else self._session.step_seconds()

    def explanation(self) -> Explanation | None:
        """What became of the compiled step of the present or last run. May be asked from any thread."""
        return None if self._session is None else self._session.explanation()

    def _take(self, event: SessionEvent) -> None:
        match event:
            case StateChanged():
                self._enter(event.state)
            case Failed():
                self._looks = 0
                self._store.set_run_problems([Problem("error", "run-failed", event.message, node=event.node)])
            case Looked():
                self._looks = 0
                self.looked.emit(event.snapshot)
            case Warned():
                self._looks = 0
            case _:
                self.runs[-1].take(event)

    def _begin(self) -> bool:
        if not self._can_begin():
            return False
        self._session = self._make_session(is_recorded=True)
        run = Run(len(self.runs) + 1, self._session.document, datetime.now().astimezone())
        run.device = self._session.settings.device
        self.runs.append(run)
        self.run_added.emit(run)
        self._timer.start()
        return True

    def _can_begin(self) -> bool:
        errors = self._store.check_report.errors
        if not errors:
            self._store.set_run_problems(())
            return True
        self.refused.emit(errors[0].message if len(errors) == 1 else f"Fix the {len(errors)} errors, then run.")
        return False

    def _make_session(self, *, is_recorded: bool) -> Session:
        store = self._store
        runs = store.path.with_suffix(".runs") if store.path is not None and is_recorded else None
        return Session(store.document, store.catalogue, base=store.base, runs=runs, name=store.name)

    def _sessions(self) -> list[Session]:
        return [session for session in (self._session, self._viewer) if session is not None]

    def _live(self) -> Session:
        assert self._session is not None
        return self._session

    def _enter(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self.runs[-1].state = state
            self.state_changed.emit(state)
