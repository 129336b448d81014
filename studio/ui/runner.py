"""Training as the window sees it: one Session at a time, its events handed out by a timer."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from engine import fit
from studio.lowering.report import Problem
from studio.training.session import Failed, Session, StateChanged
from studio.ui.runs import Run
from studio.ui.store import Store

POLL_MS = 50
STOP_SECONDS = 5.0

Device = Literal["auto", "cpu", "cuda"]


class Runner(QObject):
    """Starts, pauses and stops the training of a project and keeps the runs of this session."""

    state_changed = Signal(str)
    """"idle", "running", "paused", "done", "stopped" or "failed"."""
    run_added = Signal(object)
    """The Run."""
    events = Signal(object)
    """A list of the events that came since the last time, already put down in the Run."""
    refused = Signal(str)
    """Why no run could be started."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._session: Session | None = None
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
    def session(self) -> Session | None:
        """The session of the present or last run."""
        return self._session

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
        if self._session is None:
            return
        events = self._session.events()
        run = self.runs[-1]
        for event in events:
            match event:
                case StateChanged():
                    self._enter(event.state)
                case Failed():
                    self._store.set_run_problems([Problem("error", "run-failed", event.message, node=event.node)])
                case _:
                    run.take(event)
        if events:
            self.events.emit(events)

    def _begin(self) -> bool:
        errors = len(self._store.report.errors)
        if errors:
            self.refused.emit(f"Fix the {'error' if errors == 1 else f'{errors} errors'} in the graph, then run.")
            return False
        self._store.set_run_problems(())
        document = self._store.document
        self._session = Session(document, self._store.catalogue, base=self._store.base, out=None)
        self.runs.append(Run(len(self.runs) + 1, document, datetime.now().astimezone()))
        self.run_added.emit(self.runs[-1])
        self._timer.start()
        return True

    def _live(self) -> Session:
        assert self._session is not None
        return self._session

    def _enter(self, state: str) -> None:
        if state == self._state:
            return
        self._state = state
        self.runs[-1].state = state
        if not self.is_active:
            self._timer.stop()
        self.state_changed.emit(state)


def is_training_event(event: object) -> bool:
    """Whether an event is one of the training loop's, not the session's."""
    return isinstance(event, (fit.Started, fit.Step, fit.Epoch, fit.Done))
