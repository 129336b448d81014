"""Runs the diagnosis of a planted mistake, and checks it, its fixes and the fixed project."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engine import fit
from studio.document.model import Document
from studio.lowering import lower
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes import MISTAKES
from studio.reference.mistakes.mistake import Mistake, Stage
from studio.reference.shown_problems import recorded_problems, shown, without_folder
from studio.training import TrainingSession, Warned
from studio.training.data.data_inspector import DataInspector
from studio.training.experiments.diagnosis_run import Conclusion
from studio.training.experiments.diagnosis_run import diagnose as run_experiments


def of_stages(*stages: Stage) -> pytest.MarkDecorator:
    """Run a test for each mistake of some stages. Each file of tests has its own process."""
    chosen = [mistake for mistake in MISTAKES if mistake.stage in stages]
    return pytest.mark.parametrize("mistake", chosen, ids=lambda mistake: mistake.name)


def assert_only_problem_with_working_fix(mistake: Mistake, folder: Path) -> None:
    """The diagnosis names only the mistake, at its node; its fixes remove it; the fixed project trains to its goal."""
    document = mistake.plant(folder)
    problems = diagnose(document, mistake, folder)
    assert [(problem.code, problem.node) for problem in problems] == [(mistake.code, mistake.node)]
    [problem] = problems
    if (recorded := recorded_problems().get(mistake.name)) is not None:
        found = shown(without_folder(problem, folder), document, check(document, catalogue(), folder))
        assert found.wording() == recorded.wording(), "run python -m scripts.record_problems"
    assert problem.help and problem.message.endswith((".", "?"))
    assert (problem.fix is not None) is mistake.has_fix
    if problem.fix is None:
        return
    assert problem.fix.reason or not problem.others, "say why the first fix is recommended"
    for fix in (problem.fix, *problem.others):
        left = [each.code for each in diagnose(fix.edit(document), mistake, folder)]
        assert left == ([] if mistake.leaves is None else [mistake.leaves]), fix.title
    if mistake.goal is not None:
        goal = mistake.goal
        reached = trained_figure(problem.fix.edit(document), goal.figure, goal.epochs, folder)
        assert reached < goal.value if goal.is_highest else reached > goal.value


def diagnose(document: Document, mistake: Mistake, base: Path) -> list[Problem]:
    """The problems that the stage of a mistake shows."""
    if mistake.stage == "run":
        return _of_run(document, mistake, base)
    report = check(document, catalogue(), base)
    if mistake.stage == "diagnose":
        *_, conclusion = run_experiments(lambda: report, clock=time.monotonic)
        assert isinstance(conclusion, Conclusion)
        return [] if conclusion.cause is None else [conclusion.cause]
    if mistake.stage == "data":
        return list(DataInspector().inspect(report).joined(report).problems)
    return list(report.problems)


def _of_run(document: Document, mistake: Mistake, base: Path) -> list[Problem]:
    session = TrainingSession(document, catalogue(), base=base, epochs=mistake.epochs, device="cpu")
    session.start()
    assert session.join(120)
    return [event.problem for event in session.events() if isinstance(event, Warned)]


def trained_figure(document: Document, figure: str, epochs: int, base: Path) -> float:
    """The best value of a loss or metric, such as "val_loss", in a training."""
    task = lower(check(document, catalogue(), base)).build(device="cpu", seed=0)
    ended = [event for event in fit.fit(task, epochs=epochs) if isinstance(event, fit.Epoch)]
    part, _, name = figure.partition("_")
    values = [
        (each.val_loss if part == "val" else each.train_loss)
        if name == "loss"
        else (each.val_metrics if part == "val" else each.train_metrics)[name]
        for each in ended
    ]
    found = [value for value in values if value is not None]
    return min(found) if name == "loss" else max(found)
