"""The first lesson: its offer at the first start, its steps by keys, and where the card of a step is."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.lessons.lesson_files import shipped_lesson
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.window.lessons.card_placement import place_card
from studio.ui.window.lessons.lesson_actions import FIRST
from studio.ui.window.lessons.lesson_guide import LessonGuide
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.conftest import MakeWindow
from tests.ui.test_fields import WindowUser

CTRL = Qt.KeyboardModifier.ControlModifier
STEPS = shipped_lesson(FIRST).all_steps


@pytest.fixture
def new_settings(settings: Settings) -> Settings:
    settings.answered_offer = False
    return settings


@pytest.fixture
def window(new_settings: Settings, make_window: MakeWindow) -> MainWindow:
    return make_window()


@pytest.fixture
def guide(window: MainWindow) -> LessonGuide:
    return window.lessons.guide


@pytest.fixture
def user(window: MainWindow, qtbot: QtBot) -> WindowUser:
    return WindowUser(window, qtbot)


def start(window: MainWindow, user: WindowUser, qtbot: QtBot) -> Project:
    user.click(window.welcome.start_lesson)
    project = window.project
    assert project is not None and window.lessons.session is not None
    qtbot.waitUntil(lambda: project.store.is_checked)
    return project


def wait_for_step(window: MainWindow, qtbot: QtBot, number: int) -> None:
    session = window.lessons.session
    assert session is not None
    qtbot.waitUntil(lambda: session.index == number - 1, timeout=60_000)
    assert window.lessons.guide.card.number.text().endswith(f"{number} of {len(STEPS)}")


def in_window(window: MainWindow, widget: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


# -- the offer


def test_not_now_is_remembered(window: MainWindow, user: WindowUser, make_window: MakeWindow) -> None:
    assert window.welcome.start_lesson.isVisible()
    user.click(window.welcome.decline_lesson)
    assert not window.welcome.start_lesson.isVisible() and window.lessons.session is None
    assert not make_window().welcome.start_lesson.isVisible()


def test_the_offer_stays_until_it_is_answered(window: MainWindow, make_window: MakeWindow) -> None:
    window.open_projects.new()
    assert make_window().welcome.start_lesson.isVisible()


def test_the_help_menu_opens_it_once_beside_open_projects(window: MainWindow, guide: LessonGuide) -> None:
    other = window.open_projects.new()
    before = other.store.document
    window.commands.run("help.first-lesson")
    assert window.lessons.session is not None and window.project is not other
    assert other.store.document is before and other in window.open_projects.projects
    assert window.docks["lesson"].isVisible()
    window.open_projects.make_current(other)
    assert not guide.card.isVisible() and not window.docks["lesson"].isVisible()
    window.commands.run("help.first-lesson")
    assert window.project is not other and guide.card.isVisible() and len(window.open_projects.projects) == 2
    assert window.docks["lesson"].isVisible()


# -- the card


def test_next_changes_nothing(window: MainWindow, user: WindowUser, qtbot: QtBot, guide: LessonGuide) -> None:
    window.welcome.start_lesson.setFocus()
    user.key(Qt.Key.Key_Space)
    project = window.project
    assert project is not None
    qtbot.waitUntil(lambda: project.store.is_checked)
    guide.card.setFocus()
    for number, step in enumerate(STEPS, start=1):
        wait_for_step(window, qtbot, number)
        assert guide.card.accessibleName() == f"Lesson, step {number} of {len(STEPS)}: {step.title}"
        if step.target is None:
            break
        user.key(Qt.Key.Key_Return)
    assert project.store.document == shipped_lesson(FIRST).document
    assert not guide.card.isVisible(), "the open task points at nothing"


def test_the_arrow_keys_and_tab_reach_everything(
    window: MainWindow, user: WindowUser, qtbot: QtBot, guide: LessonGuide
) -> None:
    start(window, user, qtbot)
    card = guide.card
    card.setFocus()
    user.key(Qt.Key.Key_Right)
    wait_for_step(window, qtbot, 2)
    user.key(Qt.Key.Key_Left)
    wait_for_step(window, qtbot, 1)
    assert not card.back.isEnabled()
    user.key(Qt.Key.Key_Tab)
    assert card.skip.hasFocus()
    user.key(Qt.Key.Key_Tab)
    assert card.next.hasFocus()
    user.key(Qt.Key.Key_Space)
    wait_for_step(window, qtbot, 2)
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    user.key(Qt.Key.Key_F6, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert card.hasFocus()
    user.key(Qt.Key.Key_Escape)
    assert not card.isVisible() and canvas.hasFocus() and window.docks["lesson"].isVisible()
    window.commands.run("help.step-card")
    assert card.isVisible()


def test_next_is_emphasized_once_the_step_is_done(
    window: MainWindow, user: WindowUser, qtbot: QtBot, guide: LessonGuide
) -> None:
    """As in the Lesson panel. A step that is already done says so when the learner goes back to it."""
    project, card, session = start(window, user, qtbot), guide.card, window.lessons.session
    assert session is not None and STEPS[0].conditions
    assert card.next.property("kind") != "primary" and card.number.text() == f"1 of {len(STEPS)}"
    user.click(card.next)
    user.click(card.back)
    assert card.next.property("kind") != "primary", "leaving a step does not complete it"
    assert window.canvas is not None
    canvas = MouseAndKeyboard(window.canvas)
    QTest.mouseClick(window.canvas.viewport(), Qt.MouseButton.LeftButton, pos=canvas.node("hidden"))
    assert project.store.selection == {"hidden"}
    qtbot.waitUntil(lambda: card.next.property("kind") == "primary")
    wait_for_step(window, qtbot, 2)
    assert card.next.property("kind") != "primary"
    user.click(card.back)
    assert card.next.property("kind") == "primary" and card.number.text() == f"Done · 1 of {len(STEPS)}"


def test_closing_and_opening_goes_on_where_it_was_left(
    window: MainWindow, user: WindowUser, qtbot: QtBot, guide: LessonGuide
) -> None:
    project = start(window, user, qtbot)
    store = project.store
    store.select(["hidden"])
    wait_for_step(window, qtbot, 1)
    qtbot.waitUntil(lambda: "look" in (window.lessons.session.progress.done if window.lessons.session else ()))
    wait_for_step(window, qtbot, 2)
    store.edit("Move", lambda document: document)
    window.files.close(project)  # asks nothing: lessons save themselves
    assert not guide.card.isVisible() and window.lessons.session is None
    window.commands.run("help.first-lesson")
    wait_for_step(window, qtbot, 2)
    session = window.lessons.session
    assert session is not None and session.progress.done == ("look",)


@pytest.mark.parametrize("size", [QSize(1400, 900), QSize(1024, 700), QSize(512, 350)])
def test_the_card_is_in_the_window_beside_its_target(
    window: MainWindow, user: WindowUser, qtbot: QtBot, guide: LessonGuide, size: QSize
) -> None:
    start(window, user, qtbot)
    window.resize(size)
    card = guide.card
    for step in STEPS[:-1]:
        QApplication.processEvents()
        guide.place()
        assert window.rect().contains(card.geometry())
        for part in (card.heading, card.text, card.next, card.back, card.skip):
            assert not part.isVisible() or card.rect().contains(part.geometry())
        target = {"run button": window.topbar.run_button}.get(step.target or "")
        if target is None and step.target in ("palette", "inspector", "problems", "runs"):
            target = window.docks[step.target]
        if target is not None:
            assert target.isVisible() and not target.visibleRegion().isEmpty(), step.title
            if size.width() > 1000:
                assert not card.geometry().intersects(in_window(window, target)), step.title
        if size.width() > 1000 and step.target == "run button":
            assert not card.geometry().intersects(in_window(window, window.tabs.tabBar()))
        panel = window.docks["lesson"]
        if size.width() > 1000 and step.target != "palette":
            assert not card.geometry().intersects(in_window(window, panel)), step.title
        user.click(card.next)


def test_closed_and_floating_panels_are_opened(
    window: MainWindow, user: WindowUser, qtbot: QtBot, guide: LessonGuide
) -> None:
    start(window, user, qtbot)
    window.docks["inspector"].close()
    window.docks["problems"].setFloating(True)
    window.docks["problems"].close()
    window.toggle_focus()
    user.click(guide.card.next)
    assert window.docks["inspector"].isVisible()
    user.click(guide.card.next)
    problems = window.docks["problems"]
    qtbot.waitUntil(lambda: problems.isVisible() and problems.isFloating())
    guide.place()
    assert window.rect().contains(guide.card.geometry())
    window.activateWindow()


def test_the_frame_around_a_target_takes_no_clicks(
    window: MainWindow, user: WindowUser, qtbot: QtBot, guide: LessonGuide
) -> None:
    start(window, user, qtbot)
    for _ in range(5):
        user.click(guide.card.next)
    wait_for_step(window, qtbot, 6)
    button = in_window(window, window.topbar.run_button)
    assert window.childAt(button.center()) is window.topbar.run_button


def test_a_card_is_placed_where_it_covers_nothing() -> None:
    room, size = QRect(0, 0, 1000, 700), QSize(300, 200)
    assert place_card(size, QRect(400, 10, 40, 40), room).side == "below"
    assert place_card(size, QRect(0, 100, 200, 600), room).side == "right"
    assert place_card(size, QRect(700, 100, 300, 600), room).side == "left"
    assert place_card(size, QRect(0, 500, 1000, 200), room).side == "above"
    over = place_card(size, QRect(0, 0, 1000, 700), room)
    assert over.tip is None and room.contains(over.rect)
    for target in (QRect(400, 10, 40, 40), QRect(0, 100, 200, 600), QRect(0, 500, 1000, 200)):
        placed = place_card(size, target, room)
        assert placed.tip is not None and not placed.rect.intersects(target) and room.contains(placed.rect)
    panel = QRect(0, 60, 300, 640)
    beside = place_card(size, QRect(10, 10, 40, 40), room, panel, QPoint(310, 90))
    assert beside.rect == QRect(QPoint(310, 90), size) and beside.tip is None
