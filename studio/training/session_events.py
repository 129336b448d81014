"""Events of a session, in addition to those of the training loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine import fit
from studio.lowering.problems.problem import Problem
from studio.training.autograd.autograd_snapshot import AutogradSnapshot
from studio.training.breakpoints.breakpoint_hit import BreakpointHit
from studio.training.profiling.profile_events import ProfileEvent
from studio.training.statistics.step_statistics import StepStatistics

State: TypeAlias = Literal["idle", "running", "paused", "done", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class StateChanged:
    state: State


@dataclass(frozen=True, slots=True)
class Failed:
    """The run ended with an error. The state changes to "failed" after this event."""

    message: str
    """The problem and the next step, for the user."""
    node: str | None
    """Node in whose line of the program the error occurred."""
    detail: str
    """The traceback."""
    by_input: bool
    """The cause is the graph, a data file or the output folder, not the training."""
    refused: bool = False
    """A run could not be resumed and is unchanged."""

    @property
    def problem(self) -> Problem:
        return Problem("error", "run-failed", self.message, node=self.node)


@dataclass(frozen=True, slots=True)
class Warned:
    """A problem that does not end training."""

    problem: Problem

    @property
    def message(self) -> str:
        return self.problem.message


@dataclass(frozen=True, slots=True)
class AutogradCaptured:
    """The autograd graph requested by `TrainingSession.capture_autograd`."""

    snapshot: AutogradSnapshot


@dataclass(frozen=True, slots=True)
class Measured:
    """The statistics of all tensors in a step were measured."""

    read: Callable[[], StepStatistics]
    """Makes the statistics: most steps are never looked at."""


@dataclass(frozen=True, slots=True)
class BreakpointsHit:
    """Conditions of breakpoints hold. The session pauses in the state before the step."""

    hits: tuple[BreakpointHit, ...]

    @property
    def message(self) -> str:
        """Why training pauses, and where NaN arose."""
        first, *others = self.hits
        more = "".join(f" Also: {hit.record.reason}." for hit in others)
        return first.message + more


SessionEvent: TypeAlias = (
    fit.TrainingEvent | StateChanged | Failed | Warned | AutogradCaptured | Measured | ProfileEvent | BreakpointsHit
)
