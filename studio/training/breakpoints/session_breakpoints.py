"""The breakpoints of a session, which other threads change while it trains."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine import fit
from studio.document.document_errors import FileError
from studio.lowering.problems.problem import Problem
from studio.training.breakpoints.breakpoint_hit import BreakpointHit, BreakpointRecord, write_hit
from studio.training.breakpoints.breakpoint_monitor import BreakpointMonitor
from studio.training.breakpoints.origin import Origin


class SessionBreakpoints:
    """Conditions at which a session pauses, and whether each is enabled.

    Args:
        conditions: at the start of the session
        warn: called with problems of conditions and files
    """

    def __init__(self, conditions: Mapping[str, bool], warn: Callable[[Problem], None]) -> None:
        self._conditions, self._is_changed = dict(conditions), False
        self._warn = warn
        self._lock = threading.Lock()
        self._monitor: BreakpointMonitor | None = None

    def replace(self, conditions: Mapping[str, bool]) -> None:
        """Replace the conditions, from any thread; they apply from the next batch on."""
        with self._lock:
            if self._conditions != dict(conditions):
                self._conditions, self._is_changed = dict(conditions), True

    # -- in the training thread

    @property
    def conditions(self) -> Mapping[str, bool]:
        return self._conditions

    @property
    def origin(self) -> Origin | None:
        """Where NaN or infinity arose first; None if that is not known."""
        return None if self._monitor is None else self._monitor.origin

    def watch_with(self, monitor: BreakpointMonitor) -> None:
        """Use a monitor, which has the conditions already."""
        self._monitor = monitor
        self._warn_of_unknown_paths()

    def check(self, event: fit.TrainingEvent) -> Sequence[BreakpointRecord]:
        """The conditions that an event meets."""
        return () if self._monitor is None else self._monitor.check(event)

    def apply_changes(self) -> None:
        """Use the conditions that another thread has set."""
        if self._is_changed and self._monitor is not None:
            with self._lock:
                conditions, self._is_changed = self._conditions, False
            self._monitor.set_breakpoints(conditions)
            self._warn_of_unknown_paths()

    def written(
        self, records: Sequence[BreakpointRecord], folder: Path | None, state: Mapping[str, Any]
    ) -> tuple[BreakpointHit, ...]:
        """Write the batch and the state before it beside the run. Without a run folder, nothing is written."""
        hits: list[BreakpointHit] = []
        for record in records:
            place = None
            if folder is not None:
                try:
                    place = write_hit(folder, record, state)
                except FileError as error:
                    self._warn(Problem("warning", "disk", str(error)))
            hits.append(BreakpointHit(record, place))
        return tuple(hits)

    def _warn_of_unknown_paths(self) -> None:
        """Warn of conditions that name a node which the graph does not have."""
        if self._monitor is None:
            return
        for text, path in self._monitor.unknown_paths(self._conditions).items():
            message = f'Breakpoint "{text}": there is no node, output or parameter {path}. Change or remove it.'
            self._warn(Problem("warning", "breakpoint", message))


__all__ = ["SessionBreakpoints"]
