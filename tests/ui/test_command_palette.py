"""What the command palette finds, shows and does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from studio.document.files.project_templates import templates
from studio.ui.command_registry import NEEDS_PROJECT
from studio.ui.preferences.declarations import PREFERENCES, REDUCE_MOTION, SNAP_LINES
from studio.ui.project.project import Project
from studio.ui.widgets.choice_palette import Choice, ChoicePalette
from studio.ui.window.main_window import MainWindow
from studio.ui.window.settings_dialog import SettingsDialog

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
FIRST = {
    "gpu": "Use the GPU",
    "device": "Choose the device automatically",
    "dark": "Dark theme",
    "theme": "Theme",
    "stop": "Stop",
    "cancel": "Stop",
    "save": "Save",
    "save picture": "Export picture…",
    "screenshot": "Export picture…",
    "export onnx": "Export picture…",
    "shortcut": "Keyboard shortcuts…",
    "hotkeys": "Keyboard shortcuts…",
    "zoom": "Zoom in",
    "undo": "Undo",
    "redo": "Redo",
    "train": "Run",
    "start": "Run",
    "epochs": "Training settings",
    "batch size?": "batches",
    "learning rate": "Find a learning rate…",
    "preferences": "Settings…",
    "font size": "Interface scale",
    "animation": "Reduce motion",
    "autosave": "Backup of unsaved work",
    "curves": "Runs",
    "errors": "Problems",
    "pytorch code": "Code",
    "onboarding": "First lesson",
    "examples": "Templates…",
    "cnn": "Convolutional network",
    "exit": "Quit",
    "tidy": "Lay out",
    "ungroup": "Unpack block",
    "cross_entropy": "cross_entropy",
    "dt": "Dark theme",
    "import module": "Import module…",
    "import data": "Import data…",
}
"""What a newcomer types, and the first result."""


@pytest.fixture
def find(window: MainWindow, project: Project) -> Callable[[str], list[Choice]]:
    """Types a text into the open palette, and returns the matches."""

    def type_text(text: str) -> list[Choice]:
        if not window.command_palette.isVisible():
            QTest.keyClick(window, Qt.Key.Key_P, CTRL | SHIFT)
        window.command_palette.edit.clear()
        QTest.keyClicks(window.command_palette.edit, text)
        return window.command_palette.shown

    return type_text


def test_words_of_newcomers_find_what_they_mean(find: Callable[[str], list[Choice]]) -> None:
    found = {text: [choice.title for choice in find(text)[:3]] for text in FIRST}
    assert {text: titles for text, titles in found.items() if titles[:1] != [FIRST[text]]} == {}


def test_keys_return_to_the_canvas_after_a_command_of_the_button(window: MainWindow, project: Project) -> None:
    canvas = window.project_views[project].canvas
    canvas.setFocus()
    button = next(each for each in window.topbar.findChildren(QPushButton) if each.text() == "Search commands")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    edit = window.command_palette.edit
    QTest.keyClicks(edit, "zoom in")
    before = canvas.camera.scale
    QTest.keyClick(edit, Qt.Key.Key_Return)
    canvas.camera.finish()
    assert canvas.camera.scale > before
    assert QApplication.focusWidget() is canvas


def test_disabled_commands_say_why(window: MainWindow, project: Project, find: Callable[[str], list[Choice]]) -> None:
    palette = window.command_palette
    [stop] = [choice for choice in find("stop") if choice.title == "Stop"]
    assert stop.refusal == "No run is active" and not stop.keys
    assert palette.note.isVisible() and palette.note.text() == "No run is active"
    assert palette.edit.accessibleDescription() == "Stop, No run is active"
    QTest.keyClick(palette.edit, Qt.Key.Key_Return)
    assert palette.isVisible(), "a disabled command does not run"
    assert all(not choice.refusal for choice in find("")[:100])
    assert {choice.title: choice.refusal for choice in find("undo")}["Undo"] == "There is nothing to undo"


def test_without_a_project_the_reason_is_that(window: MainWindow) -> None:
    QTest.keyClick(window, Qt.Key.Key_P, CTRL | SHIFT)
    reasons = {choice.refusal for choice in window.command_palette.shown if choice.refusal}
    assert reasons == {NEEDS_PROJECT}


def test_every_command_that_can_be_disabled_states_a_reason(window: MainWindow, project: Project) -> None:
    window.commands.refresh()
    without = [
        command.id
        for command in window.commands
        if not window.commands.action(command.id).isEnabled() and command.reason == NEEDS_PROJECT
    ]
    assert without == [], "a project is open"
    assert all(not command.reason.endswith(".") for command in window.commands)


def test_settings_are_found(window: MainWindow, find: Callable[[str], list[Choice]], qtbot: QtBot) -> None:
    titles = {choice.title for choice in find("setting")}
    assert len(PREFERENCES) == sum(
        preference.title in titles or f"{preference.title} of new projects" in titles for preference in PREFERENCES
    )
    before = window.settings.preferences.get(SNAP_LINES)
    find("snap to neighbors")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Return)
    assert window.settings.preferences.get(SNAP_LINES) is not before
    assert "Snap to neighbors: off" in window.status._message.text()
    assert find("reduce motion")[0].category == "Settings · on" and window.settings.preferences.get(REDUCE_MOTION)
    find("interface scale")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Return)
    [dialog] = window.findChildren(SettingsDialog)
    [row] = [row for row in dialog.rows if row.preference.title == "Interface scale"]
    qtbot.waitUntil(row.field.hasFocus)
    dialog.close()


def test_the_device_is_set_as_one_undo_step(
    window: MainWindow, project: Project, find: Callable[[str], list[Choice]]
) -> None:
    find("cpu")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Return)
    assert project.store.document.training.device == "cpu" and window.topbar.device.currentData() == "cpu"
    project.store.undo()
    assert project.store.document.training.device == "auto" and window.topbar.device.currentData() == "auto"


def test_templates_and_recent_files_are_found(
    window: MainWindow, project: Project, find: Callable[[str], list[Choice]], tmp_path
) -> None:
    titles = {choice.title for choice in find("example")}
    assert titles >= {template.title for template in templates()}
    window.open_projects.save(project, tmp_path / "flowers.gradwire")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Escape)
    assert find("flowers")[0].title == "Open flowers.gradwire"


def test_training_settings_are_shown(
    window: MainWindow, project: Project, find: Callable[[str], list[Choice]], qtbot: QtBot
) -> None:
    project.store.select(["hidden"])
    window.docks["inspector"].close()
    find("epochs")
    QTest.keyClick(window.command_palette.edit, Qt.Key.Key_Return)
    assert not project.store.selection and window.docks["inspector"].isVisible()
    inspector = window.project_views[project].inspector
    qtbot.waitUntil(inspector._rows[0].field.hasFocus)
    assert inspector._rows[0].parameter.name == "epochs"


def test_a_long_hint_leaves_half_of_the_row_to_the_title(window: MainWindow) -> None:
    pictures = list[QImage]()
    for title in ("first node", "second node"):
        palette = ChoicePalette(window, "Search", "", "No match")
        palette.open([Choice(title, print, "replaces a name that is too long " * 4)])
        pictures.append(palette.grab().toImage())
        palette.dismiss()
    assert pictures[0] != pictures[1]
