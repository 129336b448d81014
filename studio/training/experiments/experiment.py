"""An experiment: a question about a project, its result, and the events while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from studio.lowering.problems.problem import Problem
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
class Result:
    """What an experiment found."""

    key: str
    title: str
    question: str
    verdict: Verdict
    summary: str
    """What was measured and what it means, in one or two sentences."""
    next_step: str = ""
    """Imperative sentence; empty if nothing is to be done."""
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What was measured, by name, as JSON values."""
    picture: Picture | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The part of a result that the experiment itself determines."""

    verdict: Verdict
    summary: str
    next_step: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    picture: Picture | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class ExperimentStarted:
    """The first event of an experiment. `number` counts from 1."""

    key: str
    title: str
    question: str
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class ExperimentProgress:
    """The state of a running experiment."""

    key: str
    share: float
    """Completed share, from 0 to 1."""
    picture: Picture | None = None


Results: TypeAlias = Mapping[str, Result]
"""Results of earlier experiments by key."""

Step: TypeAlias = "tuple[float, Picture | None] | Outcome"
"""Completed share with the picture so far, or the outcome, which is the last one."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """The declaration of an experiment."""

    key: str
    title: str
    question: str
    run: Callable[[ProjectCopy, Results], Iterator[Step]]

    def result(self, outcome: Outcome) -> Result:
        return Result(
            self.key,
            self.title,
            self.question,
            outcome.verdict,
            outcome.summary,
            outcome.next_step,
            outcome.evidence,
            outcome.picture,
            outcome.problems,
        )


__all__ = [
    "Bars",
    "Curves",
    "Experiment",
    "ExperimentProgress",
    "ExperimentStarted",
    "Outcome",
    "Picture",
    "Result",
    "Results",
    "Series",
    "Step",
    "Verdict",
]
