"""Planted mistakes that the samples show."""

from __future__ import annotations

from pathlib import Path

from studio.reference.mistakes import Mistake
from tests.studio.mistakes.diagnosing import assert_only_problem_with_working_fix, of_stages


@of_stages("data")
def test_data_shows_the_mistake_and_its_fix_works(mistake: Mistake, tmp_path: Path) -> None:
    assert_only_problem_with_working_fix(mistake, tmp_path)
