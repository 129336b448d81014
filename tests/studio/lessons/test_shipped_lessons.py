"""Each shipped lesson: its start fails the steps, its solution passes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.lessons.lesson import Lesson
from studio.lessons.lesson_files import shipped_lessons
from studio.lessons.solution_player import play

LESSONS = shipped_lessons()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_the_solution_completes_each_step(lesson: Lesson, tmp_path: Path) -> None:
    for played in play(lesson, tmp_path):
        assert not played.error, played.step.id
        assert played.is_done, (played.step.id, [each.text for each in played.after])
        assert played.was_open, played.step.id
