"""Each shipped lesson: its start fails the steps, its solution passes them, and each edit of the solution is needed."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from studio.lessons.glossary import meanings
from studio.lessons.lesson import Lesson, Step
from studio.lessons.lesson_check import check_step, lesson_problems
from studio.lessons.lesson_files import shipped_lessons
from studio.lessons.solution_edits import kind_of
from studio.lessons.solution_player import PlayedStep, Player

LESSONS = shipped_lessons()
_TRAINING = ("run", "resume")
"""Entries of a solution that train."""


def copied(player: Player) -> Player:
    """A player at the same position, which can go another way."""
    other = copy(player)
    other.runs, other.answers = list(player.runs), dict(player.answers)
    return other


def without(step: Step, index: int) -> Step:
    return replace(step, solution=(*step.solution[:index], *step.solution[index + 1 :]))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_the_solution_completes_each_step_and_each_edit_is_needed(lesson: Lesson, tmp_path: Path) -> None:
    """Edits before a run are left out without repeating the run, whose condition fails then."""
    assert lesson_problems(lesson) == ()
    player = Player(lesson.document, tmp_path, lesson.locked, trusts_code=True)
    for step in lesson.all_steps:
        for index, edit in enumerate(step.solution):
            if index and kind_of(edit) == "training":
                continue
            if kind_of(edit) == "select" and len(step.solution) > 1:
                continue  # it leads the way only
            tried = without(step, index)
            if kind_of(edit) not in _TRAINING:
                tried = replace(
                    tried, solution=tuple(each for each in tried.solution if kind_of(each) not in _TRAINING)
                )
            assert not completes(copied(player).play(tried)), (step.id, edit)
            if not any(kind_of(each) in _TRAINING for each in step.solution) and (wrong := mistaken(edit)) is not None:
                tried = replace(step, solution=(*step.solution[:index], wrong, *step.solution[index + 1 :]))
                assert not completes(copied(player).play(tried)), (step.id, wrong)
        assert check_step(step, player).problems == (), step.id


def mistaken(edit: dict[str, Any]) -> dict[str, Any] | None:
    """The edit with another value, as of a learner who misunderstood; None if it has no value to change."""
    match edit:
        case {"set": _, "value": bool() as value}:
            return {**edit, "value": not value}
        case {"set": _, "value": int() | float() as value}:
            return {**edit, "value": 2 * value + 1}
        case {"set": _, "value": list() as value}:
            return {**edit, "value": [*value, 1]}
        case _:
            return None


def completes(played: PlayedStep) -> bool:
    return not played.error and played.is_done


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_texts_are_complete(lesson: Lesson) -> None:
    assert 10 <= lesson.minutes <= 20 and lesson.task is not None
    assert meanings(lesson).keys() == lesson.terms.keys()
    for step in lesson.all_steps:
        assert step.explanation or step.prediction is None, step.id
        assert len(step.hints) == 3 or step.is_read_only, step.id
        assert len(step.text) < 1200, step.id
        for word in ("simply", "just ", "obviously", "of course"):
            assert word not in f"{step.text} {step.explanation}".lower(), step.id
