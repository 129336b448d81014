"""Data-loading bottlenecks are reported with measurements and a remedy."""

from __future__ import annotations

import os

import pytest

from studio.document import edits
from studio.document.files.project_templates import template
from studio.nodes import catalogue
from studio.training.diagnosis.data_bottleneck import find_data_bottleneck
from studio.training.run_progress import RunProgress

DOCUMENT = template("digits-mlp").document


def progress(waiting: float | None = 0.43, pace: float = 0.028, step: int = 100) -> RunProgress:
    return RunProgress(step=step, waiting_fraction=waiting, seconds_per_batch=pace)


def test_a_long_wait_is_a_problem_of_the_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    problem = find_data_bottleneck(DOCUMENT, catalogue(), progress())
    assert problem is not None and problem.fix is not None
    assert (problem.code, problem.severity, problem.node) == ("slow-data", "warning", "batches")
    assert problem.message == (
        "Waiting for data takes 43% of each step (12 ms of 28 ms). Raise workers of batches to 2 for the next run."
    )
    assert problem.fix.edit(DOCUMENT).nodes["batches"].params["workers"] == 2


def test_more_workers_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    some = edits.set_param(DOCUMENT, "batches", "workers", 2)
    problem = find_data_bottleneck(some, catalogue(), progress())
    assert problem is not None and "to 4" in problem.message
    all_of_them = edits.set_param(DOCUMENT, "batches", "workers", 6)
    problem = find_data_bottleneck(all_of_them, catalogue(), progress())
    assert problem is not None and problem.fix is None and "are too slow" in problem.message


@pytest.mark.parametrize(
    "quick", [progress(waiting=0.2), progress(waiting=None), progress(pace=0.003), progress(step=20)]
)
def test_accepted_settings(quick: RunProgress) -> None:
    assert find_data_bottleneck(DOCUMENT, catalogue(), quick) is None
