"""An experiment: a question about a project, its result, and the events while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from studio.lowering.problems.problem import Fix, Problem
from studio.training.experiments.project_copy import ProjectCopy

Verdict: TypeAlias = Literal["passed", "problem", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Series:
    """A curve. Values may be NaN or infinite."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves over a common axis."""

    x_title: str
    y_title: str
    series: tuple[Series, ...]
    log_x: bool = False
    marks: tuple[tuple[float, str], ...] = ()
    """Labeled positions on the horizontal axis."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar for each named value. On a logarithmic axis, values of 0 have none."""

    title: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    is_log: bool = False


Picture: TypeAlias = Curves | Bars


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment found."""

    verdict: Verdict
    summary: str
    """What was measured and what it means, in one or two sentences."""
    next_step: str = ""
    """Imperative sentence; empty if nothing is to be done."""
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What was measured, by name, as JSON values."""
    picture: Picture | None = None
    problems: tuple[Problem, ...] = ()
    suggestion: Fix | None = None
    """A change that trained better, although there is no problem."""


Outcomes: TypeAlias = Mapping[str, Outcome]
"""Outcomes of earlier experiments by key."""

Step: TypeAlias = "tuple[float, Picture | None] | Outcome"
"""Completed share with the picture so far, or the outcome, which is the last one."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """The declaration of an experiment."""

    key: str
    title: str
    question: str
    run: Callable[[ProjectCopy, Outcomes], Iterator[Step]]
    needs: tuple[str, ...] = ()
    """Keys of experiments that it continues, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class ExperimentStarted:
    """The first event of an experiment. `number` counts from 1."""

    experiment: Experiment
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class ExperimentProgress:
    """The state of a running experiment."""

    experiment: Experiment
    share: float
    """Completed share, from 0 to 1."""
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The last event of an experiment."""

    experiment: Experiment
    outcome: Outcome


__all__ = [
    "Bars",
    "Curves",
    "Experiment",
    "ExperimentProgress",
    "ExperimentStarted",
    "Outcome",
    "Outcomes",
    "Picture",
    "Result",
    "Series",
    "Step",
    "Verdict",
]
