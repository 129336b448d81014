"""Profiles the steps of a session while it trains."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from engine import fit
from studio.document.model import Document
from studio.lowering.program import Program
from studio.training.failures import error_message
from studio.training.profiling.profile_data import ProfileStage
from studio.training.profiling.profile_events import Profiled, ProfileEvent, ProfileFailed, ProfileProgressed
from studio.training.profiling.training_profile import STAGE_SECONDS, ProfileCollector

_TOO_LATE = "The run ended before a step was measured. Profile again, which takes a copy."


class SessionProfiler:
    """Measures steps of a run on request.

    `request` and `cancel` may be called in any thread, the others in that of the run.

    Args:
        put: takes the events
    """

    def __init__(self, put: Callable[[ProfileEvent], None]) -> None:
        self._put = put
        self._lock = threading.Lock()
        self._requested = 0
        self._is_cancelled = False
        self._is_closed = False
        self._collector: ProfileCollector | None = None
        self._count = 0
        self._before = 0.0
        self._shown = 0.0

    def request(self, steps: int) -> None:
        """Profile the next steps. After the end of the run, the profile fails."""
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                self._requested, self._is_cancelled = steps, False
        if is_closed:  # the window may not know yet that the run has ended
            self._put(ProfileFailed(_TOO_LATE))

    def cancel(self) -> None:
        """End the profile without a result."""
        with self._lock:
            self._requested, self._is_cancelled = 0, True

    def follow(
        self,
        event: fit.TrainingEvent,
        task: fit.Task,
        program: Program,
        document: Document,
        *,
        compiled: bool,
        name: str,
    ) -> None:
        """Take an event of the training, right after it arrived."""
        collector = self._collector
        if collector is not None and isinstance(event, fit.Observed) and collector.steps:
            collector.drop_last()  # its layers were measured within it
        if self._is_cancelled or (collector is not None and collector.is_complete and isinstance(event, fit.Step)):
            self._finish(program, name)  # not before it is known whether the last step was observed
        elif collector is not None and isinstance(event, fit.Step):
            collector.add(event)
            if time.monotonic() - self._shown >= STAGE_SECONDS:
                self._shown = time.monotonic()
                self._put(ProfileProgressed(ProfileStage("measuring", len(collector.steps), self._count)))
        if self._requested and isinstance(event, fit.Step):
            self._start(task, program, document, compiled=compiled)
        if isinstance(event, fit.Step):
            self._before = event.seconds

    def close(self, program: Program | None, name: str) -> None:
        """The run has ended: a profile has the steps so far."""
        with self._lock:
            was_requested, self._requested, self._is_closed = self._requested, 0, True
        if self._collector is not None and self._collector.steps and program is not None:
            self._finish(program, name)
        elif self._collector is not None or was_requested:
            self._drop()
            self._put(ProfileFailed(_TOO_LATE))

    def _start(self, task: fit.Task, program: Program, document: Document, *, compiled: bool) -> None:
        with self._lock:
            self._count, self._requested = self._requested, 0
        self._drop()
        self._collector = ProfileCollector(
            task, program, document, compiled=compiled, steps=self._count, before=self._before
        )
        self._collector.start()

    def _finish(self, program: Program, name: str) -> None:
        collector, cancelled = self._collector, self._is_cancelled
        self._drop()
        if collector is None or cancelled:
            return
        try:
            self._put(Profiled(collector.profile(name)))
        except Exception as error:  # noqa: BLE001 - must not end the run
            self._put(ProfileFailed(f"The steps could not be profiled: {error_message(error, program)}"))

    def _drop(self) -> None:
        self._is_cancelled = False
        if self._collector is not None:
            self._collector.close()
            self._collector = None


__all__ = ["SessionProfiler"]
