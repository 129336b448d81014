"""Shipped lessons are solved through the window with mouse and keys."""

from __future__ import annotations

import os

import pytest
from pytestqt.qtbot import QtBot

from studio.lessons.lesson_files import shipped_lesson, shipped_lessons
from studio.ui.window.main_window import MainWindow
from tests.ui.lessons.lesson_driver import LessonDriver

KEYS = tuple(lesson.key for lesson in shipped_lessons())
FEW = ("00-first-network", "08-modules-and-blocks", "10-losses-and-logits", "16-debug-a-broken-loop")
"""Lessons with all kinds of edits, predictions and runs. All others take minutes."""
ASKED = os.environ.get("GRADWIRE_LESSONS", "")
CHOSEN = KEYS if ASKED == "all" else tuple(filter(None, ASKED.split(","))) or FEW
"""The lessons that are played: GRADWIRE_LESSONS is "all", or a list of names."""


@pytest.mark.parametrize("key", CHOSEN)
def test_a_lesson_is_solved_with_mouse_and_keys(window: MainWindow, qtbot: QtBot, key: str) -> None:
    lesson = shipped_lesson(key)
    assert window.lessons.open(lesson)
    driver = LessonDriver(window, qtbot)
    driver.wait_for_check()
    driver.solve()
    session = driver.session
    assert session.is_finished, [step.title for step in session.steps if not session.is_done(step)]
    assert not window.lessons.guide.card.isVisible()
