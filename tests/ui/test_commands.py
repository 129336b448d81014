"""Commands, their shortcuts, and conflicts between shortcuts."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from engine.errors import RegistryError
from engine.system.assets import page
from studio.ui.command_registry import Command, CommandRegistry
from studio.ui.settings import Settings
from studio.ui.window.main_window import MainWindow


@pytest.fixture
def widget_with_focus(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def test_shortcuts_run_a_command(widget_with_focus: QWidget) -> None:
    ran: list[str] = []
    commands = CommandRegistry(widget_with_focus)
    commands.add(Command("a.b", "Do it", lambda: ran.append("x"), ("Ctrl+B", "F7")))
    QTest.keyClick(widget_with_focus, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(widget_with_focus, Qt.Key.Key_F7)
    assert ran == ["x", "x"]


def test_disabled_command_does_not_run(widget_with_focus: QWidget) -> None:
    ran: list[str] = []
    commands = CommandRegistry(widget_with_focus)
    commands.add(Command("a.b", "Do it", lambda: ran.append("x"), ("F7",), enabled=lambda: False))
    QTest.keyClick(widget_with_focus, Qt.Key.Key_F7)
    assert not ran


def test_enabled_state_is_evaluated_when_a_command_is_used(widget_with_focus: QWidget) -> None:
    """The registry gets no notification of the change, for example when it comes from a thread or from the disk."""
    ran: list[str] = []
    possible: list[int] = []
    commands = CommandRegistry(widget_with_focus)
    commands.add(Command("a.b", "Do it", lambda: ran.append("x"), ("F7",), enabled=lambda: bool(possible)))
    possible.append(1)
    QTest.keyClick(widget_with_focus, Qt.Key.Key_F7)
    assert ran == ["x"]
    possible.clear()
    QTest.keyClick(widget_with_focus, Qt.Key.Key_F7)
    commands.run("a.b")
    assert ran == ["x"]
    possible.append(1)
    commands.run("a.b")
    assert ran == ["x", "x"]


def test_duplicate_command_ids_are_refused(widget_with_focus: QWidget) -> None:
    commands = CommandRegistry(widget_with_focus)
    commands.add(Command("a.b", "One", lambda: None))
    with pytest.raises(RegistryError, match=r"a\.b"):
        commands.add(Command("a.b", "Two", lambda: None))


def test_shortcuts_can_be_rebound_and_reset(widget_with_focus: QWidget) -> None:
    commands = CommandRegistry(widget_with_focus)
    commands.add(Command("a.b", "Do it", lambda: None, ("F7",)))
    commands.bind("a.b", ("F8",))
    assert commands.action("a.b").shortcut() == QKeySequence("F8")
    assert commands.bindings == {"a.b": ("F8",)}
    commands.bind("a.b", None)
    assert commands.action("a.b").shortcut() == QKeySequence("F7")
    assert commands.bindings == {}


def test_saved_bindings_are_restored(widget_with_focus: QWidget, settings: Settings) -> None:
    settings.bindings = {"a.b": ("F8", "Ctrl+|"), "c.d": ()}
    settings.sync()
    commands = CommandRegistry(widget_with_focus, settings.bindings)
    commands.add(Command("a.b", "Do it", lambda: None, ("F7",)), Command("c.d", "That", lambda: None, ("F6",)))
    assert commands.shortcuts("a.b")[0] == "F8"
    assert commands.shortcuts("c.d") == ()


@pytest.mark.parametrize(
    ("bindings", "first", "second", "expected"),
    [
        ({"x.second": ("F7",)}, (), ("F7",), ["second"]),  # the user's shortcut is the default of another command
        ({"x.first": ("F8",)}, ("F8",), (), ["first"]),
        ({"x.first": ("F9", "F7"), "x.second": ("Shift+F7", "F9")}, ("F9", "F7"), ("Shift+F7",), ["first", "first"]),
    ],
)
def test_a_key_of_two_commands_stays_with_one(
    widget_with_focus: QWidget,
    bindings: dict[str, tuple[str, ...]],
    first: object,
    second: object,
    expected: list[str],
) -> None:
    ran: list[str] = []
    commands = CommandRegistry(widget_with_focus, bindings)
    commands.add(Command("x.first", "First", lambda: ran.append("first"), ("F7",)))
    commands.add(Command("x.second", "Second", lambda: ran.append("second"), ("F8",)))
    assert (commands.shortcuts("x.first"), commands.shortcuts("x.second")) == (first, second)
    for key in (Qt.Key.Key_F7, Qt.Key.Key_F8, Qt.Key.Key_F9):
        QTest.keyClick(widget_with_focus, key)
    assert ran == expected


def test_removed_commands_lose_their_shortcuts(widget_with_focus: QWidget) -> None:
    ran: list[str] = []
    commands = CommandRegistry(widget_with_focus)
    commands.add(Command("a.b", "Do it", lambda: ran.append("x"), ("F7",)))
    commands.remove("a.b")
    QTest.keyClick(widget_with_focus, Qt.Key.Key_F7)
    assert not ran
    assert "a.b" not in commands


def test_default_shortcuts_have_no_conflicts(window: MainWindow) -> None:
    commands = window.commands
    assert not [
        (command.id, key) for command in commands for key in command.shortcuts if commands.conflicts(command.id, key)
    ]
    assert commands.conflicts("file.new", "Ctrl+O") and commands.conflicts("runs.delete", "Ctrl+O")


def test_common_shortcuts_have_their_usual_meaning(window: MainWindow) -> None:
    keys = {key: command.id for command in window.commands if command.id[:5] != "runs." for key in command.shortcuts}
    expected = {
        "Ctrl+Return": "run.start",
        "Ctrl+.": "run.stop",
        "Ctrl+Shift+P": "help.commands",
        "Ctrl+S": "file.save",
    }
    expected |= {"F2": "canvas.rename", "M": "canvas.mute", "L": "canvas.layout", "Ctrl+D": "canvas.duplicate"}
    expected |= {"F": "canvas.fit-selection", "Home": "canvas.fit-all", "Tab": "canvas.add", "Shift+A": "canvas.add"}
    assert {key: keys.get(key) for key in expected} == expected


def test_every_command_has_a_title_and_a_menu_or_shortcut(window: MainWindow) -> None:
    for command in window.commands:
        assert command.title and not command.title.endswith("!")
        assert command.menu or command.shortcuts


@pytest.mark.usefixtures("project")
def test_reference_page_lists_every_shortcut(window: MainWindow) -> None:
    text = page("reference/window.md").read_text(encoding="utf-8").partition("\n## Keys\n")[2]
    listed = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)[1:]
    commands = [
        (command.menu.replace("/", " › ") or "canvas", command.title.removesuffix("…"), ", ".join(command.shortcuts))
        for command in window.commands
        if command.shortcuts
    ]
    assert sorted(listed) == sorted(commands)
