"""Every shipped lesson is solved through the window with mouse and keys."""

from __future__ import annotations

import os

import pytest
from pytestqt.qtbot import QtBot

from studio.lessons.lesson_files import shipped_lesson, shipped_lessons
from studio.ui.window.main_window import MainWindow
from tests.ui.lessons.lesson_driver import LessonDriver

KEYS = tuple(lesson.key for lesson in shipped_lessons())
CHOSEN = tuple(filter(None, os.environ.get("GRADWIRE_LESSONS", "").split(","))) or KEYS
"""The lessons that are played; all by default."""


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
