"""Planted mistakes that the check of the graph finds."""

from __future__ import annotations

from pathlib import Path

from studio.reference.mistakes import MISTAKES, Mistake
from tests.studio.mistakes.diagnosing import assert_only_problem_with_working_fix, of_stages


@of_stages("check")
def test_check_names_the_mistake_and_its_fix_works(mistake: Mistake, tmp_path: Path) -> None:
    assert_only_problem_with_working_fix(mistake, tmp_path)


def test_names_are_unique() -> None:
    names = [mistake.name for mistake in MISTAKES]
    assert sorted(set(names)) == sorted(names)
