"""Each shipped lesson: its solution passes the steps, wrong answers do not, and its words are explained."""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path

import pytest
from msgspec.structs import replace

from studio.document.model import Document, Json
from studio.lessons import solution_player
from studio.lessons.conditions import FigureIs, ValueIs
from studio.lessons.glossary import GLOSSARY, meanings
from studio.lessons.lesson import Choice, Lesson, Prediction, Step
from studio.lessons.lesson_check import check_step, lesson_problems
from studio.lessons.lesson_files import shipped_lessons
from studio.lessons.predictions import compare
from studio.lessons.situation import MeasuredRun, Situation
from studio.lessons.solution_edits import kind_of
from studio.lessons.solution_player import PlayedStep, Player
from tests.studio.lessons.wrong_answers import right_answer, wrong_answers, wrong_steps

LESSONS = shipped_lessons()
_COMMON = {"prediction", "normalization", "label", "block", "step", "mean"}
"""Terms that are common words too, as in "label of a wire"."""


def copied(player: Player) -> Player:
    """A player at the same position, which can go another way."""
    other = copy(player)
    other.runs, other.answers = list(player.runs), dict(player.answers)
    return other


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_the_solution_completes_each_step_and_wrong_answers_do_not(
    lesson: Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lesson_problems(lesson) == ()
    player = Player(lesson.document, tmp_path, lesson.locked, trusts_code=True)
    for step in lesson.all_steps:
        with monkeypatch.context() as patch:
            if not any(isinstance(each, ValueIs) for each in step.conditions):
                patch.setattr(solution_player, "train", untrained)
            for description, wrong in wrong_steps(step, player.document):
                assert not completes(copied(player).play(without_figures(wrong))), (step.id, description)
        checked = check_step(step, player)
        assert checked.problems == (), step.id
        if step.prediction is not None:
            check_prediction(step.prediction, player.answers[step.id], player.situation())


def untrained(document: Document, folder: Path) -> MeasuredRun:
    """A finished run without weights: conditions on runs need no more, and real ones take long."""
    return MeasuredRun(document, 1, {"train_loss": (1.0,) * (document.training.epochs or 1)})


def without_figures(step: Step) -> Step:
    """Without runs where a condition needs their figures: other values may well train to the same figure."""
    left_out = ("run", "resume") if any(isinstance(each, FigureIs) for each in step.conditions) else ("resume",)
    return replace(step, solution=tuple(each for each in step.solution if kind_of(each) not in left_out))


def check_prediction(prediction: Prediction, answer: Json, now: Situation) -> None:
    """Only the right answer agrees with the measurement."""
    found = compare(prediction, answer, now)
    if isinstance(prediction, Choice) and prediction.right is None:
        return
    assert compare(prediction, right_answer(prediction, found), now).agrees is True, prediction
    for wrong in wrong_answers(prediction, found):
        compared = compare(prediction, wrong, now)
        assert compared.agrees is False and compared.text.startswith("Not as you predicted."), (prediction, wrong)


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


def test_terms_are_explained_in_their_lesson_or_an_earlier_one() -> None:
    explained: set[str] = set()
    for lesson in LESSONS:
        explained |= set(lesson.terms)
        texts = "\n".join(f"{step.text}\n{step.explanation}" for step in lesson.all_steps)
        texts = re.sub(r"`[^`]*`|(?<!\*)\*[^*\n]+\*(?!\*)", "", texts)  # names of nodes and of fields
        used = {term for term in GLOSSARY if re.search(rf"(?<![\w/]){re.escape(term)}s?(?!\w)", texts)}
        assert used - explained <= _COMMON, lesson.key


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_no_sentence_begins_with_a_number(lesson: Lesson) -> None:
    """Markdown would take "22. In each epoch" for a numbered list."""
    for step in lesson.all_steps:
        assert not re.search(r"^\d+\. ", f"{step.text}\n\n{step.explanation}", re.MULTILINE), step.id
