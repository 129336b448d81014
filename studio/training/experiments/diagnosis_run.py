"""All experiments on a project, and the most probable cause of a loss that does not fall."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.training.data.data_inspector import DataInspector
from studio.training.experiments.controls import SHUFFLED_TARGETS, ZEROED_INPUTS
from studio.training.experiments.experiment import (
    Experiment,
    ExperimentProgress,
    ExperimentStarted,
    Outcome,
    Outcomes,
    Result,
)
from studio.training.experiments.gradient_flow import GRADIENT_FLOW
from studio.training.experiments.initial_loss import INITIAL_LOSS
from studio.training.experiments.labels import LABELS
from studio.training.experiments.overfit import OVERFIT
from studio.training.experiments.project_copy import ProjectCopy
from studio.training.experiments.rate_sweep import RATE_SWEEP
from studio.training.experiments.static_check import STATIC_CHECK
from studio.training.experiments.update_sizes import UPDATE_SIZES
from studio.training.failures import error_message, failure_event
from studio.training.session_events import Failed

EXPERIMENTS: tuple[Experiment, ...] = (
    STATIC_CHECK,
    LABELS,
    INITIAL_LOSS,
    GRADIENT_FLOW,
    OVERFIT,
    UPDATE_SIZES,
    ZEROED_INPUTS,
    SHUFFLED_TARGETS,
    RATE_SWEEP,
)
"""In the order in which they run. Later ones use results of earlier ones."""

_CAUSES = ("labels", "check", "initial-loss", "rate", "gradients", "inputs", "updates", "shuffled", "overfit")
"""Experiments from the most to the least specific: the first one with a problem names the cause."""

_RATES = ("learning-rate-too-low", "learning-rate-too-high", "learning-rate-zero", "learning-rate-high")
"""Problems of the check that the sweep measures."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The overall verdict, the last event."""

    summary: str
    cause: Problem | None
    """The most probable cause; None if nothing was found."""
    results: tuple[Result, ...]
    seconds: float


DiagnosisEvent: TypeAlias = ExperimentStarted | ExperimentProgress | Result | Conclusion | Failed


def diagnose(
    get_report: Callable[[], Report],
    *,
    name: str | None = None,
    only: Collection[str] = (),
    clock: Callable[[], float],
) -> Generator[DiagnosisEvent, None, None]:
    """Run experiments on a copy of a project. Ends with a Conclusion, or with Failed if none can run.

    Closing the generator cancels it.

    Args:
        get_report: returns the check of the project
        name: name of the project
        only: keys of the experiments to run, besides those that they continue (default: all)
        clock: seconds, for the duration
    """
    started = clock()
    chosen = with_needed(only)
    try:
        report = get_report()
        if STATIC_CHECK in chosen:
            report = DataInspector().inspect(report).joined(report)
        copy = ProjectCopy(report, name)
    except Exception as error:  # noqa: BLE001 - reported as an event
        yield failure_event(error, None)
        return
    results: list[Result] = []
    for number, experiment in enumerate(chosen, start=1):
        yield ExperimentStarted(experiment, number, len(chosen))
        for event in _events(experiment, copy, {each.experiment.key: each.outcome for each in results}):
            if isinstance(event, Result):
                results.append(event)
            yield event
    yield conclude(tuple(results), report, clock() - started)


def with_needed(only: Collection[str]) -> tuple[Experiment, ...]:
    """The experiments with these keys and those that they continue, in order; all if there are no keys."""
    needed = {key for each in EXPERIMENTS if each.key in only for key in each.needs}
    return tuple(each for each in EXPERIMENTS if not only or each.key in only or each.key in needed)


def _events(experiment: Experiment, copy: ProjectCopy, outcomes: Outcomes) -> Iterator[DiagnosisEvent]:
    """The events of one experiment. An error makes it inconclusive, so that the others still run."""
    try:
        for step in experiment.run(copy, outcomes):
            if isinstance(step, Outcome):
                yield Result(experiment, step)
                return
            yield ExperimentProgress(experiment, *step)
    except Exception as error:  # noqa: BLE001 - other experiments can still find the cause
        text = f"The experiment failed: {error_message(error, copy.program)}"
        yield Result(experiment, Outcome("inconclusive", text))


def conclude(results: tuple[Result, ...], report: Report, seconds: float) -> Conclusion:
    """The most probable cause that the results show."""
    failed = {each.experiment.key: each.outcome for each in results if each.outcome.verdict == "problem"}
    shows_failure = bool(failed.keys() - {"check"})
    if not failed and len(results) < len(EXPERIMENTS):
        return Conclusion(results[-1].outcome.summary, None, results, seconds)
    if not failed:
        passed = sum(each.outcome.verdict == "passed" for each in results)
        text = (
            f"{passed} of {len(results)} experiments passed and none found a problem. The loss falls in short trials."
        )
        return Conclusion(text, None, results, seconds)
    first = next(failed[key] for key in _CAUSES if key in failed)
    if "rate" in failed and first.problems and first.problems[0].code in _RATES:
        first = failed["rate"]  # its learning rate was tried
    cause = next(iter(first.problems), None)
    if not shows_failure:
        text = f"The loss falls in a short training, but the check has a warning: {first.problems[0].message}"
        return Conclusion(text, cause, results, seconds)
    place = f" at {cause.node}" if cause is not None and cause.node is not None else ""
    text = first.summary if cause is None else cause.message
    return Conclusion(f"Most probable cause{place}: {text}", _within(cause, report), results, seconds)


def _within(cause: Problem | None, report: Report) -> Problem | None:
    return None if cause is None else cause.within(report.document)


__all__ = ["EXPERIMENTS", "Conclusion", "DiagnosisEvent", "conclude", "diagnose", "with_needed"]
