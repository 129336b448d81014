"""The ``run`` command: a session watched until it is over, with Ctrl+C ending it cleanly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from engine import fit
from studio.cli import interrupts, output_streams
from studio.cli.error_output import BAD_INPUT, CLOSED_PIPE, FAILED, print_json
from studio.cli.interrupts import Interrupts
from studio.cli.output_streams import OutputError
from studio.cli.progress_display import ProgressDisplay
from studio.lowering.problems.problem import Problem
from studio.training import Failed, Session, SessionEvent, Warned
from studio.training.runs.event_json import event_to_json, result_metrics

_POLL_SECONDS = 0.05


class RunWatcher:
    """Passes what a session tells on to people or, as lines of JSON, to programs.

    Args:
        told: warnings that were printed before the run, so that a run that finds the same does not repeat them
    """

    def __init__(self, session: Session, *, told: Sequence[Problem] = (), as_json: bool, quiet: bool) -> None:
        self._session = session
        self._told = frozenset(told)
        self._as_json = as_json
        self._screen = ProgressDisplay(quiet=quiet or as_json)
        self._results: dict[str, Any] = {}
        self._failure: Failed | None = None

    def run(self) -> int:
        """Train to the end. Returns the exit code.

        The first Ctrl+C or SIGTERM ends training after the batch under way and keeps the weights so far; a second one
        ends the process at once. Output that cannot be written ends it as the first one does.
        """
        with interrupts.record_interrupts() as signals, self._screen:
            try:
                self._session.start()
                code = self._follow(signals)
            finally:
                self._session.stop()
            folder, state = self._session.folder, self._session.state
            if folder is not None and state in ("done", "stopped"):
                lost = ", ".join(self._session.unwritten)
                left = f"these could not be written: {lost}; the rest is in" if lost else "weights and figures are in"
                self._screen.say(f"{state}; {left} {folder}", always=bool(lost))
                code = code or (FAILED if lost else 0)
        if self._failure is not None:
            return BAD_INPUT if self._failure.by_input else FAILED
        return code

    def _follow(self, signals: Interrupts) -> int:
        """Returns the exit code of what ended the run before its time; else 0."""
        code = 0
        is_over = False
        while not is_over:
            # Not woken by every event: training would share the interpreter with this thread at each batch.
            is_over = self._session.join(_POLL_SECONDS)
            events = self._session.events()
            for event, following in zip_longest(events, events[1:]):
                if not (isinstance(event, fit.Step) and isinstance(following, fit.Step)):
                    lost_output = self._lost_output(event)
                    code = code or lost_output
            if signals.code and not code:
                code = signals.code
                self._screen.say("stopping after this batch; press Ctrl+C again to give up at once")
                self._session.stop()
        return code

    def _lost_output(self, event: SessionEvent) -> int:
        """Pass an event on. If its reader is gone, end the run; returns the exit code then, else 0."""
        try:
            self._pass_on(event)
            output_streams.check_reader()
        except OutputError as error:
            self._session.stop()
            if error.code == CLOSED_PIPE:
                self._screen.say("stopping after this batch: the reader of the output has closed it", always=True)
            return output_streams.report_output_error(error)
        return 0

    def _pass_on(self, event: SessionEvent) -> None:
        if isinstance(event, Warned) and event.problem in self._told:
            return
        self._screen.show(event)
        if isinstance(event, fit.Epoch):
            self._results = result_metrics(event)
        if isinstance(event, Failed):
            self._failure = event
        if self._as_json and not isinstance(event, fit.Step):
            content = event_to_json(event)
            if content is not None:
                print_json({**content, **self._summary(event)})

    def _summary(self, event: SessionEvent) -> dict[str, Any]:
        """What the last line adds: the figures of the last epoch, and where the weights are."""
        if not isinstance(event, fit.Done):
            return {}
        folder = self._session.folder
        return {**self._results, "folder": None if folder is None else str(folder)}
