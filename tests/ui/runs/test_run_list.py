"""The list of runs: its display, and its state after reopening a project."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files import project_files
from studio.document.files.project_templates import template
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.ui.panels.runs.curve_plot import run_color
from studio.ui.panels.runs.runs_panel import RunsPanel
from studio.ui.project.project import Project
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow
from tests.ui.runs.hand import choose_from_menu, names

Opened = Callable[[MainWindow], tuple[Project, RunsPanel]]


@pytest.fixture
def opened(qtbot: QtBot, tmp_path: Path) -> Opened:
    """A saved project with a run, that is opened in a window."""
    path = tmp_path / "work" / "digits.gradwire"
    path.parent.mkdir()
    document = edits.set_training(template("digits-mlp").document, epochs=1)
    project_files.save(document, path)
    run = TrainingSession(document, catalogue(), base=path.parent, runs=path.with_suffix(".runs"), name="digits")
    run.start()
    assert run.join(600)

    def opened(window: MainWindow) -> tuple[Project, RunsPanel]:
        project = window.files.open(path)
        assert project is not None
        window.docks["runs"].reveal()
        qtbot.waitUntil(lambda: project.library.has_scanned and not project.library.is_reading)
        return project, window.project_views[project].runs

    return opened


def copies(project_folder: Path, count: int) -> None:
    """As many runs as that in all."""
    [folder] = (path.parent for path in project_folder.rglob("run.json"))
    for number in range(2, count + 1):
        other = shutil.copytree(folder, folder.with_name(f"copy-{number:02}"))
        about = json.loads((other / "run.json").read_text())
        (other / "run.json").write_text(json.dumps({**about, "number": number, "started": f"2099-01-{number:02}"}))


def tick(panel: RunsPanel, name: str) -> None:
    view = panel.list.view
    model = view.model()
    [index] = [found for row in range(model.rowCount()) if (found := model.index(row, 0)).data() == name]
    view.scrollTo(index)
    rect = view.visualRect(index)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(16, rect.center().y()))


def test_check_boxes_are_restored(
    qtbot: QtBot, make_window: Callable[[], MainWindow], opened: Opened, tmp_path: Path
) -> None:
    copies(tmp_path, 12)
    window = make_window()
    project, panel = opened(window)
    assert [run.number for run in project.library.runs if run.is_shown] == list(range(3, 13))
    tick(panel, "Run 12")
    tick(panel, "Run 2")
    shown = [2, *range(3, 12)]
    assert [run.number for run in project.library.runs if run.is_shown] == shown
    window.open_projects.close(project)
    project, _ = opened(make_window())
    assert [run.number for run in project.library.runs if run.is_shown] == shown


def test_run_added_while_closed_is_shown(
    qtbot: QtBot, make_window: Callable[[], MainWindow], opened: Opened, tmp_path: Path
) -> None:
    window = make_window()
    project, panel = opened(window)
    tick(panel, "Run 1")
    window.open_projects.close(project)
    copies(tmp_path, 2)
    project, _ = opened(make_window())
    assert [run.is_shown for run in project.library.runs] == [False, True]


def test_hidden_columns_are_restored(qtbot: QtBot, make_window: Callable[[], MainWindow], opened: Opened) -> None:
    window = make_window()
    project, panel = opened(window)

    def choose() -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        [found] = [action for action in menu.actions() if action.text() == "State"]
        QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(found).center())

    QTimer.singleShot(0, choose)
    panel.list.view.header().customContextMenuRequested.emit(QPoint(5, 5))
    column = [field.key for field in panel.list.table.fields].index("state")
    assert panel.list.view.isColumnHidden(column)
    window.open_projects.close(project)
    _, panel = opened(make_window())
    assert panel.list.view.isColumnHidden(column) and not panel.list.view.isColumnHidden(column + 1)


def test_resized_column_keeps_its_width(window: MainWindow, opened: Opened) -> None:
    _, panel = opened(window)
    header = panel.list.view.header()
    before = header.sectionSize(0)
    edge = QPoint(header.sectionViewportPosition(0) + before - 2, header.height() // 2)
    QTest.mousePress(header.viewport(), Qt.MouseButton.LeftButton, pos=edge)
    QTest.mouseMove(header.viewport(), edge + QPoint(20, 0))
    QTest.mouseMove(header.viewport(), edge + QPoint(40, 0))
    QTest.mouseRelease(header.viewport(), Qt.MouseButton.LeftButton, pos=edge + QPoint(40, 0))
    wider = header.sectionSize(0)
    assert wider > before
    panel.list.table.modelReset.emit()  # as when another metric comes
    assert header.sectionSize(0) == wider


def test_state_column_fits_every_state(window: MainWindow, opened: Opened) -> None:
    _, panel = opened(window)
    view = panel.list.view
    column = [field.key for field in panel.list.table.fields].index("state")
    for words in ("Running, 100%", "Paused, 34%", "Interrupted"):
        assert view.fontMetrics().horizontalAdvance(words) + 8 < view.columnWidth(column)
    assert view.columnViewportPosition(column) + view.columnWidth(column) <= view.viewport().width()


def test_sixteen_runs_have_distinct_colors(window: MainWindow, opened: Opened, tmp_path: Path) -> None:
    copies(tmp_path, 18)
    project, panel = opened(window)
    for number in range(3, 9):
        tick(panel, f"Run {number}")
    panel.draw()
    shown = [run for run in project.library.runs if run.is_shown]
    assert len(shown) == 16
    for mode in ("light", "dark"):
        theme.manager().set_mode(mode)
        assert len({run_color(run).name() for run in shown}) == 16
        for run in shown:
            assert theme.contrast(run_color(run), theme.current().color("surface")) >= 3


@pytest.mark.parametrize("size", [(1024, 700), (1280, 800), (1440, 900)])
def test_comparison_fits_a_small_window(
    qtbot: QtBot, window: MainWindow, opened: Opened, tmp_path: Path, size: tuple[int, int]
) -> None:
    window.resize(*size)
    copies(tmp_path, 2)
    _, panel = opened(window)
    panel.list.view.selectAll()
    QTest.mouseClick(panel.bar.details, Qt.MouseButton.LeftButton)
    facts = panel.details.facts
    qtbot.waitUntil(facts.isVisible)
    box = panel.details.only_differences
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    QApplication.processEvents()
    items = facts.findItems("Train accuracy", Qt.MatchFlag.MatchRecursive)
    assert items
    rect = facts.visualItemRect(items[0])
    room = facts.columnWidth(0) - rect.left()
    assert size[0] < 1280 or facts.fontMetrics().horizontalAdvance("Best train accuracy") < room
    assert facts.fontMetrics().horizontalAdvance("Train accuracy") < room
    right = facts.columnViewportPosition(2) + facts.columnWidth(2)
    assert right <= facts.viewport().width(), [facts.columnWidth(column) for column in range(3)]
    assert facts.viewport().height() >= 6 * rect.height(), "more than three rows at once"
    assert not facts.horizontalScrollBar().isVisible()
    assert panel.list.isVisible() and names(panel) == ["Run 2", "Run 1"], "other runs can be chosen beside it"
    assert [facts.headerItem().toolTip(column) for column in (1, 2)] == ["Run 2", "Run 1"]
    closer = next(each for each in panel.details.findChildren(QToolButton) if "Close" in each.toolTip())
    QTest.mouseClick(closer, Qt.MouseButton.LeftButton)
    assert panel.bar.details.isVisible() and not panel.bar.details.isChecked() and not facts.isVisible()


def test_axis_choice_fits_a_small_window(window: MainWindow, opened: Opened) -> None:
    window.resize(1280, 800)
    _, panel = opened(window)
    QApplication.processEvents()
    assert panel.bar.axis.width() >= panel.bar.axis.sizeHint().width()
    assert panel.bar.slider.isVisible()
    assert panel.bar.details.geometry().right() < panel.bar.width()


# -- colors


def choose_color(panel: RunsPanel, name: str, title: str) -> None:
    choose_from_menu(panel, name, "Color", title)


def swatch(panel: RunsPanel, name: str) -> str:
    """The color beside a name in the list, as it is seen."""
    view = panel.list.view
    model = view.model()
    [index] = [found for row in range(model.rowCount()) if (found := model.index(row, 0)).data() == name]
    row = view.visualRect(index)
    picture = view.viewport().grab(QRect(row.left() + 26, row.top(), 20, row.height())).toImage()
    return picture.pixelColor(picture.width() // 2, picture.height() // 2).name()


def test_choose_and_reset_the_color_of_a_run(
    qtbot: QtBot, make_window: Callable[[], MainWindow], opened: Opened, tmp_path: Path
) -> None:
    copies(tmp_path, 3)
    window = make_window()
    project, panel = opened(window)
    series = [QColor(color).name() for color in theme.current().series]
    names = ["Run 1", "Run 2", "Run 3"]
    choose_color(panel, "Run 1", "Orange")
    qtbot.waitUntil(lambda: [swatch(panel, name) for name in names] == [series[1], series[0], series[2]])
    assert window.commands.action("runs.color-2").isEnabled()
    window.commands.refresh()
    assert window.commands.action("runs.color-2").isChecked()
    window.open_projects.close(project)
    _, panel = opened(make_window())
    qtbot.waitUntil(lambda: swatch(panel, "Run 1") == series[1])
    choose_color(panel, "Run 2", "Orange")
    qtbot.waitUntil(lambda: swatch(panel, "Run 2") == series[1])
    choose_color(panel, "Run 1", "Automatic")
    choose_color(panel, "Run 2", "Automatic")
    qtbot.waitUntil(lambda: [swatch(panel, name) for name in names] == series[:3])


def test_curves_use_the_chosen_color(qtbot: QtBot, window: MainWindow, opened: Opened) -> None:
    _, panel = opened(window)

    def is_drawn(color: int) -> bool:
        if "loss" not in panel.plots:
            return False
        picture = panel.plots["loss"].grab().toImage()
        wanted = QColor(theme.current().series[color])
        pixels = ((x, y) for x in range(picture.width()) for y in range(picture.height()))
        return any(picture.pixelColor(x, y) == wanted for x, y in pixels)

    qtbot.waitUntil(lambda: is_drawn(0))
    assert not is_drawn(3)
    choose_color(panel, "Run 1", "Rose")
    qtbot.waitUntil(lambda: is_drawn(3) and not is_drawn(0))


def test_command_colors_all_selected_runs(qtbot: QtBot, window: MainWindow, opened: Opened, tmp_path: Path) -> None:
    copies(tmp_path, 3)
    project, panel = opened(window)
    assert not window.commands.action("runs.color-5").isEnabled() or not panel.list.selected
    panel.list.view.selectAll()
    window.commands.refresh()
    window.commands.run("runs.color-5")
    amber = QColor(theme.current().series[4]).name()
    qtbot.waitUntil(lambda: {swatch(panel, run.name) for run in project.library.runs} == {amber})
    assert {run.chosen_color for run in project.library.runs} == {4}
    assert {json.loads(path.read_text())["color"] for path in tmp_path.rglob("run.json")} == {4}


def test_every_color_of_curves_has_a_name() -> None:
    for mode in ("light", "dark"):
        theme.manager().set_mode(mode)
        assert len(theme.SERIES_NAMES) == len(theme.current().series)


# -- what is shown


def test_new_run_stays_selected_after_its_first_metrics(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Shorter", lambda document: edits.set_training(document, epochs=1, compile=False))
    window.docks["runs"].reveal()
    panel = window.project_views[project].runs
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done" and len(panel.list.table.fields) > 9)
    assert [field.title for field in panel.list.table.fields].count("Accuracy") == 1
    assert panel.list.selected == project.library.runs


def test_filter_without_matches_shows_a_message(qtbot: QtBot, window: MainWindow, opened: Opened) -> None:
    _, panel = opened(window)
    panel.list.search.setFocus()
    QTest.keyClicks(panel.list.search, "no such run")
    assert not panel.list.view.isVisible()
    assert any(text.isVisible() and text.text() == "No matching runs" for text in panel.list.findChildren(QLabel))
    QTest.keyClick(panel.list.search, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(panel.list.search, "run 1")
    assert panel.list.view.isVisible() and panel.list.view.model().rowCount() == 1
