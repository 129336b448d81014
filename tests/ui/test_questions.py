"""What the window asks before something is lost: keys of other commands, and projects that are not saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QPushButton, QStyle
from pytestqt.qtbot import QtBot

from studio.document.project_templates import template
from studio.ui import dialogs
from studio.ui.window.main_window import MainWindow
from studio.ui.window.settings_dialog import SettingsDialog
from studio.ui.window.shortcut_table import ShortcutTable
from tests.ui.test_window import answer, change

CTRL, LEFT = Qt.KeyboardModifier.ControlModifier, Qt.MouseButton.LeftButton
MESSAGE = dialogs.message
SAVE_BEFORE_CLOSING, SAVE_BEFORE_QUITTING = dialogs.save_before_closing, dialogs.save_before_quitting


@pytest.fixture
def keys(window: MainWindow, qtbot: QtBot) -> ShortcutTable:
    window.open_settings()
    dialog = window.findChild(SettingsDialog)
    assert dialog is not None
    qtbot.waitExposed(dialog)
    return dialog.keys


def press(table: ShortcutTable, id: str, key: Qt.Key, qtbot: QtBot) -> None:
    """Choose a command and press its new keys, which count a second later."""
    table.choose(id)
    with qtbot.waitSignal(table.keys.editingFinished):
        QTest.keyClick(table.keys, key, CTRL)


def click(button: QPushButton) -> None:
    assert button.isVisible()
    QTest.mouseClick(button, LEFT)


def test_keys_of_another_command_are_taken_only_after_a_question(
    window: MainWindow, keys: ShortcutTable, qtbot: QtBot
) -> None:
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


def test_default_gives_keys_back_and_asks_for_those_that_it_takes(
    window: MainWindow, keys: ShortcutTable, qtbot: QtBot
) -> None:
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


@pytest.mark.parametrize(("said", "stays"), [("Save all", False), ("Discard all", False), ("Cancel", True)])
def test_quitting_asks_once_with_a_list(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, stays: bool
) -> None:
    projects = [window.open_projects.from_template(template("digits-mlp")) for _ in range(2)]
    saved = window.open_projects.new()
    for project in projects:
        change(project)
    told: list[str] = []

    def choose() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        told.append(box.informativeText())
        QTest.mouseClick(next(button for button in box.buttons() if button.text() == said), LEFT)

    shown: list[object] = []

    def path_to_save(*_: object) -> Path:
        shown.append(window.project)
        return tmp_path / f"{len(shown)}.gradwire"

    monkeypatch.setattr(dialogs, "save_before_quitting", SAVE_BEFORE_QUITTING)
    monkeypatch.setattr(dialogs, "path_to_save", path_to_save)
    QTimer.singleShot(0, choose)
    names = [project.store.name for project in projects]
    window.close()
    assert len(told) == 1 and all(name in told[0] for name in names) and saved.store.name not in told[0]
    assert window.isVisible() is stays
    assert len(window.open_projects.projects) == (3 if stays else 0)
    assert shown == (projects if said == "Save all" else [])
    assert len(list(tmp_path.glob("*.gradwire"))) == len(shown)


def test_closing_a_tab_in_the_back_shows_it_before_asking(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    back = window.open_projects.new()
    change(back)
    window.open_projects.new()
    asked = answer(monkeypatch, "save_before_closing", "cancel")
    window.files.close(back)
    assert asked and window.project is back


def test_a_message_is_wide_enough_for_a_path(window: MainWindow) -> None:
    told: list[tuple[int, bool]] = []

    def look() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        hint = QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons
        told.append((box.width(), bool(box.style().styleHint(hint, None, box.buttons()[0]))))
        QTest.keyClick(box, Qt.Key.Key_Escape)

    QTimer.singleShot(0, look)
    MESSAGE(window, "Could not open it", "/media/person/networks/a_network.gradwire, line 2: the text ends.")
    [(width, has_icons)] = told
    assert width >= 400 and not has_icons


@pytest.mark.parametrize("name", ["net", "a_network_with_a_name_that_says_all_about_it_and_more.gradwire"])
def test_no_word_of_a_question_is_cut_off(window: MainWindow, name: str) -> None:
    told: list[tuple[int, int]] = []

    def look() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        for words in box.findChildren(QLabel):
            if words.text():
                room = words.contentsRect()
                flags = Qt.TextFlag.TextWordWrap if words.wordWrap() else Qt.TextFlag.TextSingleLine
                needed = words.fontMetrics().boundingRect(room, flags, words.text())
                told.append((needed.width() - room.width(), needed.height() - room.height()))
        QTest.keyClick(box, Qt.Key.Key_Escape)

    QTimer.singleShot(0, look)
    MESSAGE(window, f"Could not open {name}", f"/data/people/networks/{name}, line 2: the text ends.")
    QTimer.singleShot(0, look)
    window.commands.run("help.about")
    assert len(told) == 4 and all(width <= 0 and height <= 0 for width, height in told)


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
