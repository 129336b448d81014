"""Confirmations before a shortcut is reassigned or unsaved work is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPushButton, QStyle
from pytestqt.qtbot import QtBot

from studio.document.files.project_templates import template
from studio.ui import dialogs
from studio.ui.window.main_window import MainWindow
from studio.ui.window.settings_dialog import SettingsDialog
from studio.ui.window.shortcut_table import ShortcutTable
from tests.ui.test_window import make_change, patch_dialog

CTRL, LEFT = Qt.KeyboardModifier.ControlModifier, Qt.MouseButton.LeftButton
MESSAGE = dialogs.message
SAVE_BEFORE_CLOSING, SAVE_BEFORE_QUITTING = dialogs.save_before_closing, dialogs.save_before_quitting


@pytest.fixture
def keys(window: MainWindow, qtbot: QtBot) -> ShortcutTable:
    window.open_shortcuts()
    dialog = window.findChild(SettingsDialog)
    assert dialog is not None
    qtbot.waitExposed(dialog)
    return dialog.keys


def press(table: ShortcutTable, id: str, key: Qt.Key, qtbot: QtBot) -> None:
    """Select a command and press its new shortcut, which Qt accepts after a second."""
    table.choose(id)
    with qtbot.waitSignal(table.keys.editingFinished):
        QTest.keyClick(table.keys, key, CTRL)


def click(button: QPushButton) -> None:
    assert button.isVisible()
    QTest.mouseClick(button, LEFT)


def test_shortcut_of_another_command_needs_confirmation(window: MainWindow, keys: ShortcutTable, qtbot: QtBot) -> None:
    press(keys, "view.focus", Qt.Key.Key_S, qtbot)
    assert window.commands.shortcuts("file.save") == ("Ctrl+S",)
    assert "Ctrl+S is assigned to Save" in keys._message.text()
    click(keys.keep)
    assert window.commands.shortcuts("view.focus") == ("F11",) and not window.settings.bindings
    assert keys.keys.keySequence().toString() == "F11"
    press(keys, "view.focus", Qt.Key.Key_S, qtbot)
    click(keys.reassign)
    assert window.commands.shortcuts("view.focus") == ("Ctrl+S",)
    assert window.commands.shortcuts("file.save") == ()
    assert window.settings.bindings == {"view.focus": ("Ctrl+S",), "file.save": ()}
    assert not keys.reassign.isVisible()


def test_reset_frees_shortcuts_and_confirms_conflicts(window: MainWindow, keys: ShortcutTable, qtbot: QtBot) -> None:
    press(keys, "view.focus", Qt.Key.Key_S, qtbot)
    click(keys.reassign)
    click(keys._reset_button)
    assert window.commands.shortcuts("view.focus") == ("F11",)
    assert window.commands.shortcuts("file.save") == ("Ctrl+S",)
    assert "Save was reset to its default shortcut" in keys._message.text()
    assert window.settings.bindings == {}
    press(keys, "view.focus", Qt.Key.Key_S, qtbot)
    click(keys.reassign)
    keys.choose("file.save")
    click(keys._reset_button)
    assert window.commands.shortcuts("view.focus") == ("Ctrl+S",)  # not before the answer
    click(keys.reassign)
    assert window.commands.shortcuts("file.save") == ("Ctrl+S",)
    assert window.commands.shortcuts("view.focus") == ("F11",)


@pytest.mark.parametrize("with_mouse", [False, True])
def test_activated_command_takes_the_next_shortcut(
    window: MainWindow, keys: ShortcutTable, qtbot: QtBot, with_mouse: bool
) -> None:
    QTest.keyClicks(keys.search, "focus mode")
    if with_mouse:
        item = keys.tree.currentItem()
        assert item is not None
        place = keys.tree.visualItemRect(item).center()
        QTest.mouseClick(keys.tree.viewport(), LEFT, pos=place)
        QTest.mouseDClick(keys.tree.viewport(), LEFT, pos=place)
    else:
        keys.tree.setFocus()
        QTest.keyClick(keys.tree, Qt.Key.Key_Return)
    focused = QApplication.focusWidget()
    assert focused is not None and (focused is keys.keys or keys.keys.isAncestorOf(focused))
    with qtbot.waitSignal(keys.keys.editingFinished):
        QTest.keyClick(focused, Qt.Key.Key_S, CTRL)
    assert keys.reassign.hasFocus()
    QTest.keyClick(keys.reassign, Qt.Key.Key_Space)
    assert window.commands.shortcuts("view.focus") == ("Ctrl+S",)
    assert keys.tree.hasFocus()


@pytest.mark.parametrize(("choice", "is_open"), [("Save all", False), ("Discard all", False), ("Cancel", True)])
def test_quitting_asks_once_about_all_unsaved_projects(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str, is_open: bool
) -> None:
    projects = [window.open_projects.from_template(template("digits-mlp")) for _ in range(2)]
    saved = window.open_projects.new()
    for project in projects:
        make_change(project)
    measured: list[str] = []

    def choose() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        measured.append(box.informativeText())
        QTest.mouseClick(next(button for button in box.buttons() if button.text() == choice), LEFT)

    shown: list[object] = []

    def path_to_save(*_: object) -> Path:
        shown.append(window.project)
        return tmp_path / f"{len(shown)}.gradwire"

    monkeypatch.setattr(dialogs, "save_before_quitting", SAVE_BEFORE_QUITTING)
    monkeypatch.setattr(dialogs, "path_to_save", path_to_save)
    QTimer.singleShot(0, choose)
    names = [project.store.name for project in projects]
    window.close()
    assert len(measured) == 1 and all(name in measured[0] for name in names) and saved.store.name not in measured[0]
    assert window.isVisible() is is_open
    assert len(window.open_projects.projects) == (3 if is_open else 0)
    assert shown == (projects if choice == "Save all" else [])
    assert len(list(tmp_path.glob("*.gradwire"))) == len(shown)


def test_closing_a_background_tab_shows_it_before_asking(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    back = window.open_projects.new()
    make_change(back)
    window.open_projects.new()
    calls = patch_dialog(monkeypatch, "save_before_closing", "cancel")
    window.files.close(back)
    assert calls and window.project is back


def test_message_is_wide_enough_for_a_path(window: MainWindow) -> None:
    measured: list[tuple[int, bool]] = []

    def inspect_box() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        hint = QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons
        measured.append((box.width(), bool(box.style().styleHint(hint, None, box.buttons()[0]))))
        QTest.keyClick(box, Qt.Key.Key_Escape)

    QTimer.singleShot(0, inspect_box)
    MESSAGE(window, "Could not open it", "/media/person/networks/a_network.gradwire, line 2: the text ends.")
    [(width, has_icons)] = measured
    assert width >= 400 and not has_icons


@pytest.mark.parametrize("name", ["net", "a_network_with_a_name_that_says_all_about_it_and_more.gradwire"])
def test_dialog_text_is_not_cut_off(window: MainWindow, name: str) -> None:
    measured: list[tuple[int, int]] = []

    def inspect_box() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        for text in box.findChildren(QLabel):
            if text.text():
                room = text.contentsRect()
                flags = Qt.TextFlag.TextWordWrap if text.wordWrap() else Qt.TextFlag.TextSingleLine
                needed = text.fontMetrics().boundingRect(room, flags, text.text())
                measured.append((needed.width() - room.width(), needed.height() - room.height()))
        QTest.keyClick(box, Qt.Key.Key_Escape)

    QTimer.singleShot(0, inspect_box)
    MESSAGE(window, f"Could not open {name}", f"/data/people/networks/{name}, line 2: the text ends.")
    QTimer.singleShot(0, inspect_box)
    window.commands.run("help.about")
    assert len(measured) == 4 and all(width <= 0 and height <= 0 for width, height in measured)


@pytest.mark.parametrize(("runs", "lost"), [(0, "changes will"), (1, "changes and 1 run will"), (3, "and 3 runs will")])
def test_save_dialogs_name_the_runs_that_would_be_lost(window: MainWindow, runs: int, lost: str) -> None:
    texts: list[str] = []

    def read_text() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        texts.append(box.informativeText())
        QTest.keyClick(box, Qt.Key.Key_Escape)

    QTimer.singleShot(0, read_text)
    SAVE_BEFORE_CLOSING(window, "net", is_running=True, runs=runs)
    QTimer.singleShot(0, read_text)
    SAVE_BEFORE_QUITTING(window, ["a", "b"], is_running=True, runs=runs)
    for text in texts:
        assert lost in text and text.endswith("if you don't save. The current run will be stopped.")
    assert len(texts) == 2
