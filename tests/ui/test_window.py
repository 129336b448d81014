"""The window: files, tabs, docks, theme, command palette, questions and messages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from studio.document import edits, project_files
from studio.document.model import Document, Endpoint, Node, Wire
from studio.ui import dialogs
from studio.ui.panels.log_panel import LogPanel
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar
from tests.ui.conftest import MakeWindow

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def change(project: Project) -> None:
    name = edits.unique_name(project.store.document, "extra")
    project.store.edit("Add", lambda document: edits.add(document, name, Node("nn.ReLU")))


def answer(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> list[tuple[object, ...]]:
    """Let a dialog answer `value`; returns the list of what it was asked."""
    asked: list[tuple[object, ...]] = []

    def dialog(*arguments: object, **names: object) -> object:
        asked.append(arguments[1:])
        return value

    monkeypatch.setattr(dialogs, name, dialog)
    return asked


def notices(window: MainWindow) -> list[NotificationBar]:
    return [notice for notice in window.findChildren(NotificationBar) if notice.isVisible()]


# -- the welcome page


def test_first_sight_is_the_welcome_page(window: MainWindow) -> None:
    assert window.welcome.isVisible()
    assert not any(dock.isVisible() for dock in window.docks)
    assert len(window.welcome.cards) >= 3


def test_a_template_opens_with_enter(qtbot: QtBot, window: MainWindow) -> None:
    card = window.welcome.cards[0]
    card.setFocus()
    QTest.keyClick(card, Qt.Key.Key_Return)
    assert window.project is not None
    assert window.project.store.document == card.template.document
    assert window.docks["palette"].isVisible()


def test_one_click_trains_a_first_network(qtbot: QtBot, window: MainWindow) -> None:
    QTest.mouseClick(window.welcome.first, Qt.MouseButton.LeftButton)
    assert window.project is not None
    runner = window.project.runner
    qtbot.waitUntil(lambda: bool(runner.runs) and runner.runs[0].curve("loss", "train") is not None)
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not runner.is_active)


# -- files


def test_save_asks_for_a_file_once(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.gradwire"
    asked = answer(monkeypatch, "path_to_save", path)
    QTest.keyClick(window, Qt.Key.Key_S, CTRL)
    change(project)
    QTest.keyClick(window, Qt.Key.Key_S, CTRL)
    assert len(asked) == 1
    assert project_files.load(path) == project.store.document
    assert project.store.is_saved
    assert path in window.open_projects.recent


def test_what_was_saved_opens_again(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.gradwire"
    answer(monkeypatch, "path_to_save", path)
    window.commands.run("file.save")
    document = project.store.document
    window.commands.run("file.close")
    assert window.project is None
    answer(monkeypatch, "paths_to_open", [path])
    window.commands.run("file.open")
    assert window.project is not None
    assert window.project.store.document == document
    window.files.open(path)
    assert len(window.open_projects.projects) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\x01", b'{"format": 999}', b"[" * 10_000])
def test_a_file_that_cannot_be_read_is_one_message(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "bad.gradwire"
    path.write_bytes(content)
    told = answer(monkeypatch, "message", None)
    assert window.files.open(path) is None
    assert len(told) == 1
    assert "bad.gradwire" in str(told[0][0])
    assert window.project is None


def test_a_folder_that_cannot_be_written_is_one_message(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = answer(monkeypatch, "message", None)
    answer(monkeypatch, "path_to_save", tmp_path / "nowhere" / "mine.gradwire")
    window.commands.run("file.save")
    assert len(told) == 1
    assert project.store.path is None


@pytest.mark.parametrize(("said", "stays"), [("save", False), ("discard", False), ("cancel", True)])
def test_closing_with_changes_asks(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, stays: bool
) -> None:
    path = tmp_path / "mine.gradwire"
    window.open_projects.save(project, path)
    saved = project.store.document
    change(project)
    asked = answer(monkeypatch, "save_before_closing", said)
    changed = project.store.document
    window.close()
    assert len(asked) == 1
    assert window.isVisible() is stays
    assert project_files.load(path) == (changed if said == "save" else saved)


def test_closing_without_changes_asks_nothing(window: MainWindow, project: Project) -> None:
    assert window.close()


def test_a_file_is_dropped_in(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "mine.gradwire"
    project_files.save(Document({"relu": Node("nn.ReLU")}), path)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)), QUrl.fromLocalFile(str(tmp_path / "picture.png"))])
    buttons, action = Qt.MouseButton.LeftButton, Qt.DropAction.CopyAction
    enter = QDragEnterEvent(QPoint(9, 9), action, data, buttons, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    drop = QDropEvent(QPointF(9, 9), action, data, buttons, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(window, drop)
    assert window.project is not None and window.project.store.path == path


def test_a_change_on_disk_is_noticed(qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path) -> None:
    path = tmp_path / "mine.gradwire"
    window.open_projects.save(project, path)
    other = Document({"relu": Node("nn.ReLU")})
    project_files.save(other, path)
    qtbot.waitUntil(lambda: len(notices(window)) == 1)
    notice = notices(window)[0]
    assert "mine.gradwire" in notice.text.text()
    QTest.mouseClick(notice.choices[0], Qt.MouseButton.LeftButton)
    assert project.store.document == other
    project.store.undo()
    assert len(project.store.document.nodes) > 1
    assert not notices(window)


def test_saving_over_a_foreign_change_asks(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.gradwire"
    window.open_projects.save(project, path)
    project_files.save(Document(), path)
    change(project)
    asked = answer(monkeypatch, "confirm_overwrite", False)
    window.commands.run("file.save")
    assert len(asked) == 1
    assert project_files.load(path) == Document()


def test_work_of_a_killed_app_is_offered(qtbot: QtBot, make_window: MakeWindow, tmp_path: Path) -> None:
    first = make_window()
    project = first.open_projects.new()
    change(project)
    project.write_journal()
    document = project.store.document
    [journal] = (tmp_path / "state" / "autosave").glob("*.json")
    dead = journal.rename(journal.with_name(f"999999999-1.00-{'ab' * 4}.json"))
    project.close()
    second = make_window()
    second.files.offer_recovery()
    qtbot.waitUntil(lambda: len(notices(second)) == 1)
    [notice] = notices(second)
    QTest.mouseClick(notice.choices[0], Qt.MouseButton.LeftButton)
    assert second.project is not None
    assert second.project.store.document == document
    assert not second.project.store.is_saved
    assert not dead.exists()


def test_unsaved_work_is_kept_without_being_asked(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    project = window.open_projects.new()
    change(project)
    folder = tmp_path / "state" / "autosave"
    qtbot.waitUntil(lambda: len(list(folder.glob("*.json"))) == 1)
    window.open_projects.close(project)
    assert not list(folder.glob("*.json"))


# -- tabs and docks


def test_tabs_follow_the_project(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    other = window.open_projects.new()
    assert window.project is other
    assert window.tabs.count() == 2
    window.tabs.setCurrentIndex(0)
    assert window.project is project
    assert window.docks["inspector"].panel is window.project_views[project].inspector
    change(project)
    assert window.tabs.tabText(0).endswith("•")
    assert not window.tabs.tabText(1).endswith("•")


def test_focus_mode_hides_all_but_the_canvas_and_brings_it_back(window: MainWindow, project: Project) -> None:
    window.docks["log"].close()
    open_before = {dock.objectName() for dock in window.docks if not dock.isHidden()}
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert window.is_focused
    assert not any(dock.isVisible() for dock in window.docks)
    assert not window.topbar.isVisible()
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert {dock.objectName() for dock in window.docks if not dock.isHidden()} == open_before
    assert window.topbar.isVisible()


def test_the_layout_is_remembered_and_can_be_restored(qtbot: QtBot, make_window: MakeWindow) -> None:
    first = make_window()
    first.open_projects.new()
    first.docks["palette"].close()
    first.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, first.docks["inspector"])
    first.close()
    second = make_window()
    second.open_projects.new()
    assert second.docks["palette"].isHidden()
    assert second.dockWidgetArea(second.docks["inspector"]) == Qt.DockWidgetArea.LeftDockWidgetArea
    second.commands.run("view.layout")
    assert not second.docks["palette"].isHidden()
    assert second.dockWidgetArea(second.docks["inspector"]) == Qt.DockWidgetArea.RightDockWidgetArea


def test_an_unreadable_layout_is_ignored(make_window: MakeWindow, settings: Settings) -> None:
    settings.layout = QByteArray(b"nonsense")
    settings.geometry = QByteArray(b"nonsense")
    window = make_window()
    window.open_projects.new()
    assert not window.docks["palette"].isHidden()


def test_tabbed_docks_have_no_second_title(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    qtbot.wait(10)
    assert window.docks["runs"].titleBarWidget().sizeHint().height() <= 0
    window.docks["runs"].setFloating(True)
    qtbot.waitUntil(lambda: window.docks["runs"].titleBarWidget().sizeHint().height() > 0)


def test_a_floating_panel_has_a_frame(window: MainWindow, project: Project) -> None:
    dock = window.docks["inspector"]
    QTest.mouseDClick(dock.titleBarWidget(), Qt.MouseButton.LeftButton)
    assert dock.isFloating()
    picture, frame = dock.grab().toImage(), theme.current().color("border-strong")
    width, height = picture.width(), picture.height()
    edges = [(0, height // 2), (width - 1, height // 2), (width // 2, 0), (width // 2, height - 1)]
    assert [picture.pixelColor(*edge) for edge in edges] == [frame] * 4


def test_the_log_keeps_to_its_end_when_it_gets_smaller(qtbot: QtBot) -> None:
    log = LogPanel()
    qtbot.addWidget(log)
    log.resize(600, 400)
    log.show()
    for number in range(40):
        log.add(f"line {number}")
    log.resize(600, 200)
    bar = log.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.value() == bar.maximum() > 20)
    QTest.keyClick(log, Qt.Key.Key_PageUp)
    above = bar.value()
    log.add("another line")
    assert bar.value() == above < bar.maximum() - 1
    QTest.keyClick(log, Qt.Key.Key_PageDown)
    QTest.keyClick(log, Qt.Key.Key_PageDown)
    log.add("the last line")
    assert bar.value() == bar.maximum()


def test_recent_files_follow_open_in_the_menu(window: MainWindow) -> None:
    [menu] = [each.menu() for each in window.menuBar().actions() if each.text() == "&File"]
    titles = [each.text().partition("\t")[0] for each in menu.actions()]
    assert titles[titles.index("Open…") + 1] == "Open recent"


def test_menus_offer_nothing_for_a_canvas_that_is_not_there(window: MainWindow) -> None:
    [menu] = [each.menu() for each in window.menuBar().actions() if each.text() == "&View"]

    def offered() -> dict[str, bool]:
        menu.aboutToShow.emit()
        return {each.text().partition("\t")[0]: each.isEnabled() for each in menu.actions() if not each.menu()}

    assert not any(offered()[title] for title in ("Fit all", "Zoom in", "Zoom to 100%"))
    window.open_projects.new()
    assert all(offered()[title] for title in ("Fit all", "Zoom in", "Zoom to 100%"))


def test_a_menu_of_colors_opens_only_with_a_selected_run(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    [run] = [each.menu() for each in window.menuBar().actions() if each.text() == "&Run"]
    assert isinstance(run, QMenu)
    [selected] = [each.menu() for each in run.actions() if each.text() == "Selected runs"]
    assert isinstance(selected, QMenu)
    [color] = [each for each in selected.actions() if each.text() == "Color"]
    run.aboutToShow.emit()
    assert not color.isEnabled()
    project.runner.step()
    runs = window.project_views[project].runs
    qtbot.waitUntil(lambda: project.runner.state == "paused" and runs.run_actions.has_any_folder())
    run.aboutToShow.emit()
    assert color.isEnabled()
    project.runner.stop()
    qtbot.waitUntil(lambda: not project.runner.is_active)


def test_the_status_line_counts_and_leads_to_the_problems(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    assert window.status.check.text() == "No problems"
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: window.status.check.text() == "1 error")
    assert window.docks["problems"].windowTitle() == "Problems (1)"
    window.docks["problems"].hide()
    QTest.mouseClick(window.status.check, Qt.MouseButton.LeftButton)
    assert window.docks["problems"].isVisible()


def test_an_empty_graph_is_not_an_error(qtbot: QtBot, window: MainWindow) -> None:
    project = window.open_projects.new()
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert window.status.check.text() == "Empty graph"
    assert window.docks["problems"].windowTitle() == "Problems"


def test_a_click_on_a_problem_selects_its_node(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    problems = window.project_views[project].problems
    qtbot.waitUntil(lambda: len(problems.rows) == 1)
    window.docks["problems"].reveal()
    QTest.mouseClick(problems.rows[0], Qt.MouseButton.LeftButton, pos=QPoint(12, 12))
    assert project.store.selection == {"logits"}


# -- finding, looks, keys


def test_the_command_palette_runs_what_is_typed(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    QTest.keyClick(window, Qt.Key.Key_P, CTRL | SHIFT)
    palette = window.command_palette
    assert palette.isVisible()
    QTest.keyClicks(palette.edit, "dark theme")
    QTest.keyClick(palette.edit, Qt.Key.Key_Return)
    assert not palette.isVisible()
    assert theme.manager().is_dark
    assert window.settings.theme == "dark"


def test_the_command_palette_is_as_high_as_what_it_found(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.commands.run("help.commands")
    palette = window.command_palette
    qtbot.waitUntil(palette.isVisible)
    QApplication.processEvents()
    whole = palette.height()
    QTest.keyClicks(palette.edit, "cross_entropy")
    QApplication.processEvents()
    bottom = palette.list.visualItemRect(palette.list.item(palette.list.count() - 1)).bottom()
    assert palette.height() < whole and 0 <= palette.list.viewport().height() - bottom < 16
    QTest.keyClicks(palette.edit, "????")
    QApplication.processEvents()
    assert palette.note.isVisible() and not palette.list.isVisible() and palette.height() < 100
    palette.edit.clear()
    QApplication.processEvents()
    assert palette.height() == whole and palette.list.currentRow() == 0


def test_the_command_palette_finds_nodes(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.commands.run("help.commands")
    QTest.keyClicks(window.command_palette.edit, "cross_entropy")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Return)
    assert project.store.selection == {"cross_entropy"}


def test_the_command_palette_says_when_nothing_matches(window: MainWindow, project: Project) -> None:
    window.commands.run("help.commands")
    palette = window.command_palette
    assert not palette.note.isVisible()
    QTest.keyClicks(palette.edit, "xyzzy")
    assert palette.note.isVisible() and palette.list.count() == 0
    QTest.keyClick(palette.edit, Qt.Key.Key_Return)
    QTest.keyClick(palette.edit, Qt.Key.Key_Backspace, CTRL)
    assert not palette.note.isVisible() and palette.list.count() > 10


def test_escape_leaves_the_command_palette(window: MainWindow, project: Project) -> None:
    window.commands.run("help.commands")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Escape)
    assert not window.command_palette.isVisible()


def test_the_theme_changes_everything_at_once(window: MainWindow, project: Project) -> None:
    window.commands.run("view.theme-light")
    light = window.grab().toImage().pixelColor(3, 3)
    window.commands.run("view.theme-dark")
    assert window.grab().toImage().pixelColor(3, 3) != light


def test_undo_and_redo_with_keys(window: MainWindow, project: Project) -> None:
    change(project)
    full = project.store.document
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert len(project.store.document.nodes) == len(full.nodes) - 1
    QTest.keyClick(window, Qt.Key.Key_Y, CTRL)
    assert project.store.document is full


def test_state_goes_only_where_the_test_says(window: MainWindow, tmp_path: Path) -> None:
    assert os.path.commonpath([window.settings._store.fileName(), str(tmp_path)]) == str(tmp_path)


def test_a_long_remark_does_not_widen_the_window(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.resize(1200, 800)
    qtbot.waitUntil(lambda: window.width() == 1200)
    remark = "Training diverges, and much is said about what to do now. " * 10
    window.status.show_status(remark)
    QApplication.processEvents()
    assert window.minimumSizeHint().width() < 1200 and window.width() == 1200
    assert window.status._message.text() == window.status._message.toolTip() == remark


@pytest.mark.timeout(120)
def test_a_file_with_a_loop_is_opened_checked_and_closed(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linear = Node("nn.Linear", {"out_features": 3})
    nodes = {"a": Node("nn.Dropout"), "b": Node("nn.Dropout", at=(300.0, 0.0)), "linear": linear}
    links = (("a", "b"), ("b", "a"), ("a", "linear"))
    wires = tuple(sorted(Wire(Endpoint(source, "output"), Endpoint(target, "input")) for source, target in links))
    project_files.save(Document(nodes, wires), tmp_path / "loop.gradwire")
    project = window.open_projects.open(tmp_path / "loop.gradwire")
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert "cycle" in [problem.code for problem in project.store.report.problems]
    answer(monkeypatch, "save_before_closing", "discard")
    window.open_projects.close(project)
