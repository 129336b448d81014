"""Requests the autograd graph of a run's last step, also of an earlier session's, while a panel is visible."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer

from studio.training.autograd.autograd_snapshot import AutogradSnapshot
from studio.ui.project.training_runner import TrainingRunner

_TICK_MS = 250
MIN_SECONDS = 2.0
"""Minimum time between two requests during a run."""
COST_SHARE = 0.05
"""Share of the time of training that requests may take."""


class SnapshotRefresher(QObject):
    """Keeps the shown step up to date: in a limited share of the time during a run, and once after it."""

    def __init__(self, runner: TrainingRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner = runner
        self._is_in_sight = False
        self.is_held = False
        """Whether the shown step stays, as while a user steps through it."""
        self.requests = 0
        """Number of requests so far."""
        self._shown: tuple[object, int] | None = None
        """The run and its step that are shown or requested."""
        self._due = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._update)
        runner.state_changed.connect(self._update)
        runner.snapshot_ready.connect(self._wait_after)
        runner.stored_runs_changed.connect(self._update)

    def set_in_sight(self, in_sight: bool) -> None:
        self._is_in_sight = in_sight
        self._update()

    def close(self) -> None:
        self._timer.stop()

    def _update(self, *_: object) -> None:
        runner, run = self._runner, self._runner.run
        if runner.session is None:
            self._request_stored()
        is_wanted = self._is_in_sight and run is not None and runner.session is not None and not self.is_held
        if is_wanted and runner.is_active:
            self._timer.start()
        else:
            self._timer.stop()
        if not is_wanted or not runner.steps or runner.has_pending_snapshot:
            return
        newest = (run, runner.steps)
        is_over = runner.state != "running"
        if newest != self._shown and (is_over or time.monotonic() >= self._due):
            self._shown = newest
            self.requests += 1
            runner.request_snapshot(of_run=True)

    def _request_stored(self) -> None:
        """Before the first run of this session, show the last step of the newest earlier run."""
        run = self._runner.newest_stored_run
        if self._is_in_sight and not self.is_held and run is not None and self._shown != (run, run.step):
            self._shown = (run, run.step)
            self.requests += 1
            self._runner.request_stored_snapshot(run)

    def _wait_after(self, snapshot: AutogradSnapshot) -> None:
        self._due = time.monotonic() + max(MIN_SECONDS, snapshot.seconds / COST_SHARE)
        if self._shown is not None and snapshot.step:
            self._shown = (self._runner.snapshot_run, snapshot.step)
