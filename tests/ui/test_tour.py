"""The tour: its offer at the first start, its steps by mouse and keys, and where its card is."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.ui.palette import PalettePanel
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.problems_panel import ProblemsPanel
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.window.main_window import MainWindow
from studio.ui.window.tour.card_placement import place_card
from studio.ui.window.tour.tour_steps import STEPS, tour_document
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.conftest import MakeWindow
from tests.ui.test_fields import WindowUser

CTRL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier


@pytest.fixture
def new_settings(settings: Settings) -> Settings:
    settings.answered_tour = False
    return settings


@pytest.fixture
def window(new_settings: Settings, make_window: MakeWindow) -> MainWindow:
    return make_window()


@pytest.fixture
def user(window: MainWindow, qtbot: QtBot) -> WindowUser:
    return WindowUser(window, qtbot)


def start(window: MainWindow, user: WindowUser, qtbot: QtBot) -> Project:
    user.click(window.welcome.start_tour)
    project = window.project
    assert project is not None and window.tour.is_active
    qtbot.waitUntil(lambda: project.store.is_checked)
    return project


def wait_for_step(window: MainWindow, qtbot: QtBot, number: int) -> None:
    qtbot.waitUntil(lambda: window.tour.index == number - 1, timeout=60_000)
    assert window.tour.card.number.text().endswith(f"{number} of {len(STEPS)}")


def in_window(window: MainWindow, widget: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


# -- the offer


def test_not_now_is_remembered(window: MainWindow, user: WindowUser, make_window: MakeWindow) -> None:
    assert window.welcome.start_tour.isVisible()
    user.click(window.welcome.decline_tour)
    assert not window.welcome.start_tour.isVisible() and not window.tour.is_active
    assert not make_window().welcome.start_tour.isVisible()


def test_the_offer_stays_until_it_is_answered(window: MainWindow, make_window: MakeWindow) -> None:
    window.open_projects.new()
    assert make_window().welcome.start_tour.isVisible()


def test_the_help_menu_starts_the_tour_beside_open_projects(window: MainWindow, qtbot: QtBot) -> None:
    other = window.open_projects.new()
    before = other.store.document
    window.commands.run("help.tour")
    assert window.tour.is_active and window.project is not other
    assert other.store.document is before and other in window.open_projects.projects
    window.open_projects.make_current(other)
    assert not window.tour.card.isVisible()
    window.commands.run("help.tour")
    assert window.project is not other and window.tour.card.isVisible() and len(window.open_projects.projects) == 2


# -- the steps


def test_all_steps_by_mouse(window: MainWindow, user: WindowUser, qtbot: QtBot) -> None:
    project = start(window, user, qtbot)
    canvas, docks, store = window.canvas, window.docks, project.store
    assert canvas is not None
    mouse = MouseAndKeyboard(canvas)
    wait_for_step(window, qtbot, 1)
    mouse.click(mouse.node("hidden"))
    wait_for_step(window, qtbot, 2)
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm)
    [row] = [row for row in form.rows if row.parameter.name == "out_features"]
    user.enter(row.field)
    user.type("128")
    user.key(Qt.Key.Key_Return)
    wait_for_step(window, qtbot, 3)
    assert store.document.nodes["hidden"].params["out_features"] == 128
    problems = docks["problems"].panel
    assert isinstance(problems, ProblemsPanel)
    qtbot.waitUntil(lambda: len(problems.rows) == 2)
    user.click(problems.rows[0])
    wait_for_step(window, qtbot, 4)
    assert store.selection == {"hidden"}, "the next node is added after it"
    palette = docks["palette"].panel
    assert isinstance(palette, PalettePanel)
    user.enter(palette.field)
    user.type("relu")
    rect = palette.tree.visualRect(palette.tree.currentIndex())
    QTest.mouseClick(palette.tree.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    QTest.mouseDClick(palette.tree.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    wait_for_step(window, qtbot, 5)
    assert [str(wire) for wire in store.document.wires if wire.target.node == "relu"] == ["hidden.output -> relu.input"]
    mouse.drag(mouse.port("relu", "output", "output"), mouse.port("dropout", "input", "input"))
    wait_for_step(window, qtbot, 6)
    assert not store.report.errors
    user.click(window.topbar.run_button)
    wait_for_step(window, qtbot, 7)
    assert docks["runs"].isVisible()
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert project.runner.run is not None
    user.click(window.tour.card.next)
    wait_for_step(window, qtbot, 8)
    user.click(window.tour.card.next)
    assert not window.tour.is_active and not window.tour.card.isVisible()
    window.activateWindow()  # the platform of tests deactivates it when a tooltip closes
    qtbot.waitUntil(window.isActiveWindow)
    for _ in range(store.history.position):
        user.key(Qt.Key.Key_Z, CTRL)
    assert store.document == tour_document()


def test_all_steps_by_keys(window: MainWindow, user: WindowUser, qtbot: QtBot) -> None:
    window.welcome.start_tour.setFocus()
    user.key(Qt.Key.Key_Space)
    project = window.project
    assert project is not None
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert window.tour.card.has_focus
    for number in range(1, len(STEPS) + 1):
        wait_for_step(window, qtbot, number)
        assert window.tour.card.accessibleName() == f"Tour, {number} of {len(STEPS)}: {STEPS[number - 1].title}"
        user.key(Qt.Key.Key_Return)
    assert not window.tour.is_active
    assert project.store.document == tour_document(), "Next changes nothing"
    assert window.canvas is not None and window.canvas.hasFocus()


def test_the_arrow_keys_and_tab_reach_everything(window: MainWindow, user: WindowUser, qtbot: QtBot) -> None:
    start(window, user, qtbot)
    card = window.tour.card
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
    assert not window.tour.is_active and canvas.hasFocus()


def test_a_step_that_was_done_before_waits_for_next(window: MainWindow, user: WindowUser, qtbot: QtBot) -> None:
    project = start(window, user, qtbot)
    project.store.apply_fix(project.store.report.errors[0].fix)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert not project.store.report.errors
    for _ in range(4):
        user.click(window.tour.card.next)
    wait_for_step(window, qtbot, 5)
    project.store.select(["logits"])
    qtbot.wait(300)
    wait_for_step(window, qtbot, 5)


def test_closing_the_project_ends_the_tour(window: MainWindow, user: WindowUser, qtbot: QtBot) -> None:
    project = start(window, user, qtbot)
    window.open_projects.close(project)
    assert not window.tour.is_active and not window.tour.card.isVisible()
    window.commands.run("help.tour")
    assert window.tour.is_active and window.tour.index == 0


def test_the_document_lacks_one_node() -> None:
    report = check(tour_document(), catalogue())
    assert {problem.node for problem in report.errors} == {"dropout"}
    selected = {step.select for step in STEPS if step.select}
    assert selected <= tour_document().nodes.keys()
    assert edits.unique_name(tour_document(), "ReLU") == "relu"


# -- the card


@pytest.mark.parametrize("size", [QSize(1400, 900), QSize(1024, 700), QSize(512, 350)])
def test_the_card_is_in_the_window_beside_its_target(
    window: MainWindow, user: WindowUser, qtbot: QtBot, size: QSize
) -> None:
    start(window, user, qtbot)
    window.resize(size)
    card = window.tour.card
    for step in STEPS:
        QApplication.processEvents()
        window.tour.place()
        assert window.rect().contains(card.geometry())
        for part in (card.heading, card.text, card.next, card.back, card.skip):
            assert not part.isVisible() or card.rect().contains(part.geometry())
        target = {"run button": window.topbar.run_button}.get(step.target)
        if target is None and step.target in ("palette", "inspector", "problems", "runs"):
            target = window.docks[step.target]
        if target is not None:
            assert target.isVisible() and not target.visibleRegion().isEmpty(), step.title
            if size.width() > 1000:
                assert not card.geometry().intersects(in_window(window, target)), step.title
        user.click(card.next)


def test_closed_and_floating_panels_are_opened(window: MainWindow, user: WindowUser, qtbot: QtBot) -> None:
    start(window, user, qtbot)
    window.docks["inspector"].close()
    window.docks["problems"].setFloating(True)
    window.docks["problems"].close()
    window.toggle_focus()
    user.click(window.tour.card.next)
    assert window.docks["inspector"].isVisible()
    user.click(window.tour.card.next)
    problems = window.docks["problems"]
    qtbot.waitUntil(lambda: problems.isVisible() and problems.isFloating())
    window.tour.place()
    assert window.rect().contains(window.tour.card.geometry())
    window.activateWindow()


def test_the_frame_around_a_target_takes_no_clicks(window: MainWindow, user: WindowUser, qtbot: QtBot) -> None:
    start(window, user, qtbot)
    for _ in range(5):
        user.click(window.tour.card.next)
    wait_for_step(window, qtbot, 6)
    button = in_window(window, window.topbar.run_button)
    hit = window.childAt(button.center())
    assert hit is window.topbar.run_button


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
