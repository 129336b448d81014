"""Commands, their keys, and that no two of the window's fight for one key."""

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
def holder(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def test_keys_run_a_command(holder: QWidget) -> None:
    ran: list[str] = []
    commands = CommandRegistry(holder)
    commands.add(Command("a.b", "Do it", lambda: ran.append("x"), ("Ctrl+B", "F7")))
    QTest.keyClick(holder, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(holder, Qt.Key.Key_F7)
    assert ran == ["x", "x"]


def test_a_disabled_command_does_not_run(holder: QWidget) -> None:
    ran: list[str] = []
    commands = CommandRegistry(holder)
    commands.add(Command("a.b", "Do it", lambda: ran.append("x"), ("F7",), enabled=lambda: False))
    QTest.keyClick(holder, Qt.Key.Key_F7)
    assert not ran


def test_a_command_is_asked_whether_it_can_run_when_it_is_used(holder: QWidget) -> None:
    """Nothing tells the commands of this change, as where it comes from a thread or from the disk."""
    ran: list[str] = []
    possible: list[int] = []
    commands = CommandRegistry(holder)
    commands.add(Command("a.b", "Do it", lambda: ran.append("x"), ("F7",), enabled=lambda: bool(possible)))
    possible.append(1)
    QTest.keyClick(holder, Qt.Key.Key_F7)
    assert ran == ["x"]
    possible.clear()
    QTest.keyClick(holder, Qt.Key.Key_F7)
    commands.run("a.b")
    assert ran == ["x"]
    possible.append(1)
    commands.run("a.b")
    assert ran == ["x", "x"]


def test_duplicates_are_refused(holder: QWidget) -> None:
    commands = CommandRegistry(holder)
    commands.add(Command("a.b", "One", lambda: None))
    with pytest.raises(RegistryError, match=r"a\.b"):
        commands.add(Command("a.b", "Two", lambda: None))


def test_keys_can_be_reassigned_and_reset(holder: QWidget) -> None:
    commands = CommandRegistry(holder)
    commands.add(Command("a.b", "Do it", lambda: None, ("F7",)))
    commands.bind("a.b", ("F8",))
    assert commands.action("a.b").shortcut() == QKeySequence("F8")
    assert commands.bindings == {"a.b": ("F8",)}
    commands.bind("a.b", None)
    assert commands.action("a.b").shortcut() == QKeySequence("F7")
    assert commands.bindings == {}


def test_bindings_of_an_earlier_start_hold(holder: QWidget, settings: Settings) -> None:
    settings.bindings = {"a.b": ("F8", "Ctrl+|"), "c.d": ()}
    settings.sync()
    commands = CommandRegistry(holder, settings.bindings)
    commands.add(Command("a.b", "Do it", lambda: None, ("F7",)), Command("c.d", "That", lambda: None, ("F6",)))
    assert commands.shortcuts("a.b")[0] == "F8"
    assert commands.shortcuts("c.d") == ()


def test_withdrawn_commands_lose_their_keys(holder: QWidget) -> None:
    ran: list[str] = []
    commands = CommandRegistry(holder)
    commands.add(Command("a.b", "Do it", lambda: ran.append("x"), ("F7",)))
    commands.remove("a.b")
    QTest.keyClick(holder, Qt.Key.Key_F7)
    assert not ran
    assert "a.b" not in commands


def test_no_two_commands_have_one_key_in_one_place(window: MainWindow) -> None:
    commands = window.commands
    assert not [(one.id, key) for one in commands for key in one.shortcuts if commands.conflicts(one.id, key)]
    assert commands.conflicts("file.new", "Ctrl+O") and commands.conflicts("runs.delete", "Ctrl+O")


def test_habits_are_honored(window: MainWindow) -> None:
    keys = {key: command.id for command in window.commands if command.id[:5] != "runs." for key in command.shortcuts}
    wanted = {"Ctrl+Return": "run.start", "Ctrl+.": "run.stop", "Ctrl+Shift+P": "help.commands", "Ctrl+S": "file.save"}
    wanted |= {"F2": "canvas.rename", "M": "canvas.mute", "L": "canvas.layout", "Ctrl+D": "canvas.duplicate"}
    wanted |= {"F": "canvas.fit-selection", "Home": "canvas.fit-all", "Tab": "canvas.add", "Shift+A": "canvas.add"}
    assert {key: keys.get(key) for key in wanted} == wanted


def test_every_command_has_words_and_a_menu_or_keys(window: MainWindow) -> None:
    for command in window.commands:
        assert command.title and not command.title.endswith("!")
        assert command.menu or command.shortcuts


@pytest.mark.usefixtures("project")
def test_the_reference_lists_every_key(window: MainWindow) -> None:
    text = page("reference/window.md").read_text(encoding="utf-8").partition("\n## Keys\n")[2]
    listed = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)[1:]
    commands = [
        (command.menu.replace("/", " › ") or "canvas", command.title.removesuffix("…"), ", ".join(command.shortcuts))
        for command in window.commands
        if command.shortcuts
    ]
    assert sorted(listed) == sorted(commands)
