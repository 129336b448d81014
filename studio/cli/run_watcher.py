"""The ``run`` command: a session watched until it is over, with Ctrl+C ending it cleanly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from engine import fit
from studio.cli import interrupts, output_streams
from studio.cli.error_output import BAD_INPUT, BREAKPOINT, CLOSED_PIPE, FAILED, print_json
from studio.cli.interrupts import Interrupts
from studio.cli.output_streams import OutputError
from studio.cli.progress_display import ProgressDisplay
from studio.lowering.problems.dismissal import with_dismissals
from studio.lowering.problems.problem import Problem
from studio.training import BreakpointsHit, Failed, SessionEvent, TrainingSession, Warned
from studio.training.runs.event_json import event_to_json, result_metrics

_POLL_SECONDS = 0.05
_END = {"done": "Training finished", "stopped": "Training stopped"}


class RunWatcher:
    """Show a session's events as progress on standard error, or print them as JSON Lines on standard output.

    Args:
        known_warnings: warnings that are already printed; the run does not repeat them
    """

    def __init__(
        self, session: TrainingSession, *, known_warnings: Sequence[Problem] = (), as_json: bool, quiet: bool
    ) -> None:
        self._session = session
        self._known_warnings = frozenset(known_warnings)
        self._as_json = as_json
        self._display = ProgressDisplay(quiet=quiet or as_json)
        self._results: dict[str, Any] = {}
        self._failure: Failed | None = None

    def run(self) -> int:
        """Train to the end. Returns the exit code.

        The first Ctrl+C or SIGTERM stops training after the current batch and saves the weights; the second ends the
        process immediately. An error of standard output stops training like the first Ctrl+C. A breakpoint stops it
        before the step at which its condition holds.
        """
        with interrupts.record_interrupts() as signals, self._display:
            try:
                self._session.start()
                code = self._follow(signals)
            finally:
                self._session.stop()
            folder, state = self._session.folder, self._session.state
            if folder is not None and state in ("done", "stopped"):
                lost = ", ".join(self._session.unwritten)
                saved = f"Cannot write {lost}. Other results are in" if lost else "Results are in"
                self._display.print_message(f"{_END[state]}. {saved} {folder}", always=bool(lost))
                code = code or (FAILED if lost else 0)
        if self._failure is not None:
            return BAD_INPUT if self._failure.by_input else FAILED
        return code

    def _follow(self, signals: Interrupts) -> int:
        """Process events until the run ends. Returns the exit code of an interruption, else 0."""
        code = 0
        is_over = False
        while not is_over:
            # Polling: waking up for each event would compete with training for the interpreter lock.
            is_over = self._session.join(_POLL_SECONDS)
            events = self._session.events()
            for event, following in zip_longest(events, events[1:]):
                if not (isinstance(event, fit.Step) and isinstance(following, fit.Step)):
                    failed = self._try_output(event)
                    code = code or failed
            if signals.code and not code:
                code = signals.code
                self._display.print_message("Stopping after the current batch. Press Ctrl+C again to quit immediately.")
                self._session.stop()
        return code

    def _try_output(self, event: SessionEvent) -> int:
        """Output an event. If output fails, stop the run and return the exit code, else 0."""
        try:
            self._output(event)
            output_streams.check_reader()
            if isinstance(event, BreakpointsHit):
                self._session.stop()
                return BREAKPOINT
        except OutputError as error:
            self._session.stop()
            if error.code == CLOSED_PIPE:
                self._display.print_message(
                    "Stopping after the current batch: the output pipe was closed.", always=True
                )
            return output_streams.report_output_error(error)
        return 0

    def _output(self, event: SessionEvent) -> None:
        if isinstance(event, Warned) and event.problem in self._known_warnings:
            return
        if isinstance(event, Warned):
            event = Warned(*with_dismissals([event.problem], self._session.document))
        self._display.show(event)
        if isinstance(event, fit.Epoch):
            self._results = result_metrics(event)
        if isinstance(event, Failed):
            self._failure = event
        if self._as_json and not isinstance(event, fit.Step):
            content = event_to_json(event)
            if content is not None:
                print_json({**content, **self._summary(event)})

    def _summary(self, event: SessionEvent) -> dict[str, Any]:
        """Extra fields of the final "done" record: metrics of the last epoch, and the run folder."""
        if not isinstance(event, fit.Done):
            return {}
        folder = self._session.folder
        return {**self._results, "folder": None if folder is None else str(folder)}
