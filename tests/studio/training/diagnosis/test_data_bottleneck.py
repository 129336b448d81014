"""Data-loading bottlenecks are reported with measurements and a remedy."""

from __future__ import annotations

import os

import pytest

from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Document
from studio.lowering.problems.problem import Problem
from studio.nodes import catalogue
from studio.training.diagnosis.data_bottleneck import find_slow_data
from studio.training.diagnosis.step_times import StepTimes

DOCUMENT = template("digits-mlp").document


def problem_of(
    share: float = 0.43, pace: float = 0.028, steps: int = 400, document: Document = DOCUMENT
) -> Problem | None:
    """The problem of a run whose steps take `pace` seconds, of which they wait a share."""
    times = StepTimes()
    for _ in range(steps):
        times.add(share * pace, pace)
    return find_slow_data(times, document, catalogue())


def test_a_long_wait_is_a_problem_of_the_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    problem = problem_of()
    assert problem is not None and problem.fix is not None
    assert (problem.code, problem.severity, problem.node) == ("slow-data", "warning", "batches")
    assert problem.message == (
        "Waiting for data takes 43% of each step (12 ms of 28 ms). Raise workers of batches to 2 for the next run."
    )
    assert problem.fix.edit(DOCUMENT).nodes["batches"].params["workers"] == 2


def test_more_workers_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    some = edits.set_param(DOCUMENT, "batches", "workers", 2)
    problem = problem_of(document=some)
    assert problem is not None and "to 4" in problem.message
    all_of_them = edits.set_param(DOCUMENT, "batches", "workers", 6)
    problem = problem_of(document=all_of_them)
    assert problem is not None and problem.fix is None and "are too slow" in problem.message


@pytest.mark.parametrize(
    "quick",
    [
        problem_of(share=0.2),
        problem_of(share=0),
        problem_of(pace=0),
        problem_of(pace=0.003),
        problem_of(pace=5, steps=19),
        problem_of(steps=100),
    ],
)
def test_accepted_settings(quick: Problem | None) -> None:
    assert quick is None


def test_batches_that_other_work_delays_do_not_count() -> None:
    times = StepTimes()
    for number in range(400):
        times.add(0.5 if number % 3 == 0 else 0.0005, 0.51 if number % 3 == 0 else 0.01)
    assert find_slow_data(times, DOCUMENT, catalogue()) is None


def test_a_machine_under_load_slows_all_parts_of_a_step() -> None:
    assert problem_of(share=0.1, pace=0.2, steps=1000) is None
    short = problem_of(share=0.7, pace=0.02, steps=200)
    assert short is not None and short.code == "slow-data"


def test_long_waits_are_reported_in_short_runs() -> None:
    short = problem_of(share=0.8, pace=0.03, steps=30)
    assert short is not None and short.code == "slow-data"
    assert problem_of(share=0.8, pace=0.005, steps=100) is None


def test_uneven_waits_of_short_runs_are_the_load_of_the_machine() -> None:
    times = StepTimes()
    for number in range(20):
        times.add(0.08 if number % 3 else 0.002, 0.1)
    assert find_slow_data(times, DOCUMENT, catalogue()) is None
