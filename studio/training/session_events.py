"""What a session tells beside the training loop's own events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine import fit
from studio.lowering.problems.problem import Problem
from studio.training.autograd import Snapshot

State: TypeAlias = Literal["idle", "running", "paused", "done", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class StateChanged:
    state: State


@dataclass(frozen=True, slots=True)
class Failed:
    """The run ended by an error. The state changes to "failed" after it."""

    message: str
    """For the user: what happened and what to do."""
    node: str | None
    """Whose line of the program it happened in."""
    detail: str
    """The traceback, for a log."""
    by_input: bool
    """The graph, a data file or the output folder is to blame, not the training itself."""
    refused: bool = False
    """A run was to go on and could not; it stays what it was."""

    @property
    def problem(self) -> Problem:
        return Problem("error", "run-failed", self.message, node=self.node)


@dataclass(frozen=True, slots=True)
class Warned:
    """Something went wrong that the training survives."""

    problem: Problem

    @property
    def message(self) -> str:
        return self.problem.message


@dataclass(frozen=True, slots=True)
class AutogradCaptured:
    """The answer to `Session.look`."""

    snapshot: Snapshot


SessionEvent: TypeAlias = fit.Event | StateChanged | Failed | Warned | AutogradCaptured
