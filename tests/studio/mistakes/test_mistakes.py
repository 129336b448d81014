"""Each planted mistake is diagnosed at its node, and its fix removes it and lets the project train."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.lowering import check
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes import MISTAKES, Mistake
from studio.reference.shown_problems import recorded_problems, shown, without_folder
from tests.studio.mistakes.diagnosing import diagnose, trained_figure


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_planted_mistake_is_the_only_problem_and_its_fix_works(mistake: Mistake, tmp_path: Path) -> None:
    document = mistake.plant(tmp_path)
    problems = diagnose(document, mistake, tmp_path)
    assert [(problem.code, problem.node) for problem in problems] == [(mistake.code, mistake.node)]
    [problem] = problems
    if (recorded := recorded_problems().get(mistake.name)) is not None:
        found = shown(without_folder(problem, tmp_path), document, check(document, catalogue(), tmp_path))
        assert found.wording() == recorded.wording(), "run python -m scripts.record_problems"
    assert problem.help and problem.message.endswith((".", "?"))
    assert (problem.fix is not None) is mistake.has_fix
    if problem.fix is None:
        return
    assert problem.fix.reason or not problem.others, "say why the first fix is recommended"
    for fix in (problem.fix, *problem.others):
        left = [each.code for each in diagnose(fix.edit(document), mistake, tmp_path)]
        assert left == ([] if mistake.leaves is None else [mistake.leaves]), fix.title
    if mistake.goal is not None:
        goal = mistake.goal
        reached = trained_figure(problem.fix.edit(document), goal.figure, goal.epochs, tmp_path)
        assert reached < goal.value if goal.is_highest else reached > goal.value


def test_names_are_unique() -> None:
    names = [mistake.name for mistake in MISTAKES]
    assert sorted(set(names)) == sorted(names)
