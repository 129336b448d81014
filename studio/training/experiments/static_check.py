"""What the check finds without training: problems of the graph and of the samples."""

from __future__ import annotations

from collections.abc import Iterator

from studio.training.experiments.experiment import Experiment, Outcome, Outcomes, Step
from studio.training.experiments.project_copy import ProjectCopy


def _run(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    problems = copy.report.warnings
    evidence = {"warnings": len(problems), "hints": len(copy.report.hints)}
    if not problems:
        yield Outcome("passed", "The graph, its parameters and its data have no warnings.", evidence=evidence)
        return
    count = f"{len(problems)} warning{'' if len(problems) == 1 else 's'}"
    summary = f"The check has {count}. The first one: {problems[0].message}"
    yield Outcome("problem", summary, "Apply its fix, or dismiss it if it is meant.", evidence, problems=problems)


STATIC_CHECK = Experiment("check", "Graph and data", "Does the check find a mistake in the graph or the data?", _run)

__all__ = ["STATIC_CHECK"]
