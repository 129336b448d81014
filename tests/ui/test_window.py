"""The main window: files, tabs, docks, theme, command palette, dialogs and notifications."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files import project_files
from studio.document.files.project_templates import template
from studio.document.model import Document, Endpoint, Node, Wire
from studio.ui import dialogs
from studio.ui.panels.log_panel import LogPanel
from studio.ui.preferences.declarations import THEME
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar
from tests.ui.conftest import MakeWindow

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def make_change(project: Project) -> None:
    name = edits.unique_name(project.store.document, "extra")
    project.store.edit("Add", lambda document: edits.add(document, name, Node("nn.ReLU")))


def patch_dialog(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> list[tuple[object, ...]]:
    """Make a dialog return `value` without showing it. Returns the list of its calls' arguments."""
    calls: list[tuple[object, ...]] = []

    def dialog(*arguments: object, **names: object) -> object:
        calls.append(arguments[1:])
        return value

    monkeypatch.setattr(dialogs, name, dialog)
    return calls


def notifications(window: MainWindow) -> list[NotificationBar]:
    return [notice for notice in window.findChildren(NotificationBar) if notice.isVisible()]


# -- the welcome page


def test_window_starts_with_the_welcome_page(window: MainWindow) -> None:
    assert window.welcome.isVisible()
    assert not any(dock.isVisible() for dock in window.docks)
    assert len(window.welcome.cards) >= 3


def test_enter_opens_a_template(qtbot: QtBot, window: MainWindow) -> None:
    card = window.welcome.cards[0]
    card.setFocus()
    QTest.keyClick(card, Qt.Key.Key_Return)
    assert window.project is not None
    assert window.project.store.document == card.template.document
    assert window.docks["palette"].isVisible()


def test_one_click_trains_the_first_network(qtbot: QtBot, window: MainWindow) -> None:
    QTest.mouseClick(window.welcome.first, Qt.MouseButton.LeftButton)
    assert window.project is not None
    runner = window.project.runner
    qtbot.waitUntil(lambda: bool(runner.runs) and runner.runs[0].curve("loss", "train") is not None)
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not runner.is_active)


def test_escape_and_a_link_return_from_the_welcome_page_to_the_project(window: MainWindow, project: Project) -> None:
    back = next(button for button in window.welcome.findChildren(QPushButton) if button.text() == "Back to project")
    window.commands.run("file.welcome")
    assert window.project is None
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert window.project is project
    window.commands.run("file.welcome")
    QTest.mouseClick(back, Qt.MouseButton.LeftButton)
    assert window.project is project
    window.commands.run("file.close")
    assert window.welcome.isVisible()
    assert not back.isVisible()


def test_columns_of_templates_are_aligned(window: MainWindow) -> None:
    window.resize(1440, 900)
    QTest.qWait(0)
    lefts = {card.mapTo(window, card.rect().topLeft()).x() for card in window.welcome.cards}
    assert len(lefts) == 3
    assert len({card.width() for card in window.welcome.cards}) <= 2  # by rounding


# -- files


def test_first_save_asks_for_a_file(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.gradwire"
    calls = patch_dialog(monkeypatch, "path_to_save", path)
    QTest.keyClick(window, Qt.Key.Key_S, CTRL)
    make_change(project)
    QTest.keyClick(window, Qt.Key.Key_S, CTRL)
    assert len(calls) == 1
    assert project_files.load(path) == project.store.document
    assert project.store.is_saved
    assert path in window.open_projects.recent


def test_saved_project_can_be_opened(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.gradwire"
    patch_dialog(monkeypatch, "path_to_save", path)
    window.commands.run("file.save")
    document = project.store.document
    window.commands.run("file.close")
    assert window.project is None
    patch_dialog(monkeypatch, "paths_to_open", [path])
    window.commands.run("file.open")
    assert window.project is not None
    assert window.project.store.document == document
    window.files.open(path)
    assert len(window.open_projects.projects) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\x01", b'{"format": 999}', b"[" * 10_000])
def test_unreadable_file_shows_one_message(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "bad.gradwire"
    path.write_bytes(content)
    messages = patch_dialog(monkeypatch, "message", None)
    assert window.files.open(path) is None
    assert len(messages) == 1
    assert "bad.gradwire" in str(messages[0][0])
    assert window.project is None


def test_unwritable_folder_shows_one_message(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = patch_dialog(monkeypatch, "message", None)
    patch_dialog(monkeypatch, "path_to_save", tmp_path / "nowhere" / "mine.gradwire")
    window.commands.run("file.save")
    assert len(messages) == 1
    assert project.store.path is None


@pytest.mark.parametrize(("choice", "is_open"), [("save", False), ("discard", False), ("cancel", True)])
def test_closing_with_changes_asks(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str, is_open: bool
) -> None:
    path = tmp_path / "mine.gradwire"
    window.open_projects.save(project, path)
    saved = project.store.document
    make_change(project)
    calls = patch_dialog(monkeypatch, "save_before_closing", choice)
    changed = project.store.document
    window.close()
    assert len(calls) == 1
    assert window.isVisible() is is_open
    assert project_files.load(path) == (changed if choice == "save" else saved)


def test_closing_without_changes_asks_nothing(window: MainWindow, project: Project) -> None:
    assert window.close()


def test_dropped_project_file_is_opened(window: MainWindow, tmp_path: Path) -> None:
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


def test_change_on_disk_shows_a_notification(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path
) -> None:
    path = tmp_path / "mine.gradwire"
    window.open_projects.save(project, path)
    other = Document({"relu": Node("nn.ReLU")})
    project_files.save(other, path)
    qtbot.waitUntil(lambda: len(notifications(window)) == 1)
    notice = notifications(window)[0]
    assert "mine.gradwire" in notice.text.text()
    QTest.mouseClick(notice.choices[0], Qt.MouseButton.LeftButton)
    assert project.store.document == other
    project.store.undo()
    assert len(project.store.document.nodes) > 1
    assert not notifications(window)


def test_saving_over_an_external_change_asks(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.gradwire"
    window.open_projects.save(project, path)
    project_files.save(Document(), path)
    make_change(project)
    calls = patch_dialog(monkeypatch, "confirm_overwrite", False)
    window.commands.run("file.save")
    assert len(calls) == 1
    assert project_files.load(path) == Document()


def test_work_of_a_killed_process_is_offered(qtbot: QtBot, make_window: MakeWindow, tmp_path: Path) -> None:
    first = make_window()
    project = first.open_projects.new()
    make_change(project)
    project.write_journal()
    document = project.store.document
    [journal] = (tmp_path / "state" / "autosave").glob("*.json")
    dead = journal.rename(journal.with_name(f"999999999-1.00-{'ab' * 4}.json"))
    project.close()
    second = make_window()
    second.files.offer_recovery()
    qtbot.waitUntil(lambda: len(notifications(second)) == 1)
    [notice] = notifications(second)
    QTest.mouseClick(notice.choices[0], Qt.MouseButton.LeftButton)
    assert second.project is not None
    assert second.project.store.document == document
    assert not second.project.store.is_saved
    assert not dead.exists()


def test_work_of_several_projects_is_offered_at_once(qtbot: QtBot, make_window: MakeWindow, tmp_path: Path) -> None:
    first = make_window()
    folder = tmp_path / "state" / "autosave"
    for number in range(3):
        project = first.open_projects.new()
        make_change(project)
        project.write_journal()
        [journal] = (path for path in folder.glob("*.json") if not path.name.startswith("999999999"))
        journal.rename(folder / f"999999999-1.00-{f'a{number}' * 4}.json")
        project.close()
    second = make_window()
    second.files.offer_recovery()
    qtbot.waitUntil(lambda: len(notifications(second)) == 1)
    [notice] = notifications(second)
    assert "3 projects were saved" in notice.text.text()
    before = len(second.open_projects.projects)
    QTest.mouseClick(notice.choices[0], Qt.MouseButton.LeftButton)
    assert len(second.open_projects.projects) == before + 3
    assert not list(folder.glob("999999999*.json"))


def test_unsaved_work_is_autosaved(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    project = window.open_projects.new()
    make_change(project)
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
    make_change(project)
    assert window.tabs.tabText(0).endswith("•")
    assert not window.tabs.tabText(1).endswith("•")


def test_focus_mode_shows_only_the_canvas(window: MainWindow, project: Project) -> None:
    window.docks["log"].close()
    open_before = {dock.objectName() for dock in window.docks if not dock.isHidden()}
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert window.is_focused
    assert not any(dock.isVisible() for dock in window.docks)
    assert not window.topbar.isVisible()
    QTest.keyClick(window, Qt.Key.Key_F11)
    assert {dock.objectName() for dock in window.docks if not dock.isHidden()} == open_before
    assert window.topbar.isVisible()


def test_dock_layout_is_saved_and_can_be_restored(qtbot: QtBot, make_window: MakeWindow) -> None:
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


def test_unreadable_layout_is_ignored(make_window: MakeWindow, settings: Settings) -> None:
    settings.layout = QByteArray(b"nonsense")
    settings.geometry = QByteArray(b"nonsense")
    window = make_window()
    window.open_projects.new()
    assert not window.docks["palette"].isHidden()


def test_tabbed_docks_have_no_title_bar(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    qtbot.wait(10)
    assert window.docks["runs"].titleBarWidget().sizeHint().height() <= 0
    window.docks["runs"].setFloating(True)
    qtbot.waitUntil(lambda: window.docks["runs"].titleBarWidget().sizeHint().height() > 0)


def test_only_panels_of_the_current_project_are_visible(qtbot: QtBot, window: MainWindow) -> None:
    """Tab must not reach fields of the other project, in docks that were behind a tab when it was opened."""
    first, second = (window.open_projects.from_template(template("digits-mlp")) for _ in range(2))
    for title in ("history", "problems", "code"):
        window.docks[title].reveal()
        assert window.docks[title]._panels[second].isVisible()
        assert not window.docks[title]._panels[first].isVisible(), title
    window.open_projects.make_current(first)
    qtbot.waitUntil(lambda: window.project is first)
    assert window.docks["code"]._panels[first].isVisible()
    assert not window.docks["code"]._panels[second].isVisible()


def test_floating_panel_has_a_frame(window: MainWindow, project: Project) -> None:
    dock = window.docks["inspector"]
    QTest.mouseDClick(dock.titleBarWidget(), Qt.MouseButton.LeftButton)
    assert dock.isFloating()
    picture, frame = dock.grab().toImage(), theme.current().color("border-strong")
    width, height = picture.width(), picture.height()
    edges = [(0, height // 2), (width - 1, height // 2), (width // 2, 0), (width // 2, height - 1)]
    assert [picture.pixelColor(*edge) for edge in edges] == [frame] * 4


def test_log_stays_scrolled_to_its_end(qtbot: QtBot) -> None:
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


def menu_of(window: MainWindow, title: str) -> QMenu:
    [action] = [each for each in window.menuBar().actions() if each.text() == title]
    menu = action.menu()
    assert isinstance(menu, QMenu)
    return menu


def test_recent_files_follow_open_in_the_menu(window: MainWindow) -> None:
    menu = menu_of(window, "&File")
    titles = [each.text().partition("\t")[0] for each in menu.actions()]
    assert titles[titles.index("Open…") + 1] == "Open recent"


def test_canvas_menus_are_disabled_without_a_project(window: MainWindow) -> None:
    menu = menu_of(window, "&View")

    def offered() -> dict[str, bool]:
        menu.aboutToShow.emit()
        return {each.text().partition("\t")[0]: each.isEnabled() for each in menu.actions() if not each.menu()}

    assert not any(offered()[title] for title in ("Fit all", "Zoom in", "Zoom to 100%"))
    window.open_projects.new()
    assert all(offered()[title] for title in ("Fit all", "Zoom in", "Zoom to 100%"))


def test_color_menu_needs_a_selected_run(qtbot: QtBot, window: MainWindow, project: Project) -> None:
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


def test_status_bar_counts_problems_and_opens_them(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    assert window.status.check.text() == "No problems"
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: window.status.check.text() == "1 error")
    assert window.docks["problems"].windowTitle() == "Problems (1)"
    window.docks["problems"].hide()
    QTest.mouseClick(window.status.check, Qt.MouseButton.LeftButton)
    assert window.docks["problems"].isVisible()


def test_empty_graph_is_not_an_error(qtbot: QtBot, window: MainWindow) -> None:
    project = window.open_projects.new()
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert window.status.check.text() == "Empty graph"
    assert window.docks["problems"].windowTitle() == "Problems"


def test_click_on_a_problem_selects_its_node(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    problems = window.project_views[project].problems
    qtbot.waitUntil(lambda: len(problems.rows) == 1)
    window.docks["problems"].reveal()
    QTest.mouseClick(problems.rows[0], Qt.MouseButton.LeftButton, pos=QPoint(12, 12))
    assert project.store.selection == {"logits"}


# -- finding, looks, keys


def test_command_palette_runs_the_typed_command(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    QTest.keyClick(window, Qt.Key.Key_P, CTRL | SHIFT)
    palette = window.command_palette
    assert palette.isVisible()
    QTest.keyClicks(palette.edit, "dark theme")
    QTest.keyClick(palette.edit, Qt.Key.Key_Return)
    assert not palette.isVisible()
    assert theme.manager().is_dark
    assert window.settings.preferences.get(THEME) == "dark"


def test_command_palette_height_fits_the_results(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.commands.run("help.commands")
    palette = window.command_palette
    qtbot.waitUntil(palette.isVisible)
    QApplication.processEvents()
    whole = palette.height()
    QTest.keyClicks(palette.edit, "cross_entropy")
    QApplication.processEvents()
    bottom = palette.list.visualItemRect(palette.list.item(palette.list.count() - 1)).bottom()
    assert palette.height() < whole and 0 <= palette.list.viewport().height() - bottom < 16
    palette.edit.clear()
    QTest.keyClicks(palette.edit, "qqqq")
    QApplication.processEvents()
    assert palette.note.isVisible() and not palette.list.isVisible() and palette.height() < 100
    palette.edit.clear()
    QApplication.processEvents()
    assert palette.height() == whole and palette.list.currentRow() == 0


def test_command_palette_finds_nodes(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.commands.run("help.commands")
    QTest.keyClicks(window.command_palette.edit, "cross_entropy")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Return)
    assert project.store.selection == {"cross_entropy"}


def test_command_palette_shows_a_message_without_matches(window: MainWindow, project: Project) -> None:
    window.commands.run("help.commands")
    palette = window.command_palette
    assert not palette.note.isVisible()
    QTest.keyClicks(palette.edit, "xyzzy")
    assert palette.note.isVisible() and palette.list.count() == 0
    QTest.keyClick(palette.edit, Qt.Key.Key_Return)
    QTest.keyClick(palette.edit, Qt.Key.Key_Backspace, CTRL)
    assert not palette.note.isVisible() and palette.list.count() > 10


def test_escape_closes_the_command_palette(window: MainWindow, project: Project) -> None:
    window.commands.run("help.commands")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Escape)
    assert not window.command_palette.isVisible()


def test_theme_change_updates_all_widgets(window: MainWindow, project: Project) -> None:
    window.commands.run("view.theme-light")
    light = window.grab().toImage().pixelColor(3, 3)
    window.commands.run("view.theme-dark")
    assert window.grab().toImage().pixelColor(3, 3) != light


def test_undo_and_redo_by_shortcut(window: MainWindow, project: Project) -> None:
    make_change(project)
    full = project.store.document
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert len(project.store.document.nodes) == len(full.nodes) - 1
    QTest.keyClick(window, Qt.Key.Key_Y, CTRL)
    assert project.store.document is full


def test_state_is_written_only_to_the_given_folder(window: MainWindow, tmp_path: Path) -> None:
    assert os.path.commonpath([window.settings._store.fileName(), str(tmp_path)]) == str(tmp_path)


def test_long_status_message_does_not_widen_the_window(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.resize(1200, 800)
    qtbot.waitUntil(lambda: window.width() == 1200)
    message = "Training diverges, and much is said about what to do now. " * 10
    window.status.show_status(message)
    QApplication.processEvents()
    assert window.minimumSizeHint().width() < 1200 and window.width() == 1200
    assert window.status._message.text() == window.status._message.toolTip() == message


@pytest.mark.timeout(120)
def test_file_with_a_cycle_is_opened_checked_and_closed(
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
    patch_dialog(monkeypatch, "save_before_closing", "discard")
    window.open_projects.close(project)
