"""Build, train and stop a network in the window with the keyboard alone."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.window.main_window import MainWindow

Key = Qt.Key


class Keys:
    """Key events that the window gets from the system, and text for the focused field."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self._window, self.qtbot = window, qtbot

    def press(self, *keys: str) -> None:
        """Press keys in Qt's notation, such as "Ctrl+Return"."""
        for key in keys:
            stroke = QKeySequence(key)[0]  # pyright: ignore[reportIndexIssue] - missing in the stubs
            QTest.keyClick(self._window.windowHandle(), stroke.key(), stroke.keyboardModifiers())

    def write(self, text: str) -> None:
        for letter in text:
            QTest.sendKeyEvent(
                QTest.KeyAction.Click, self._window.windowHandle(), Key(0), letter, Qt.KeyboardModifier(0)
            )

    @property
    def canvas(self) -> CanvasView:
        assert self._window.canvas is not None
        return self._window.canvas

    @property
    def selected(self) -> str:
        [name] = self.canvas.store.selection
        return name

    def add(self, text: str, opening: str = "Tab") -> str:
        """Search and add a node. Returns its name."""
        self.press(opening)
        self.write(text)
        self.press("Return")
        return self.selected

    def go_to(self, name: str, *, extending: bool = False) -> None:
        """Find a node by its name."""
        self.press("Ctrl+F", "Ctrl+A")
        self.write(name)
        self.press("Return")
        self.qtbot.waitUntil(lambda: self.canvas.store.selection == {name})
        self.press("Escape")
        assert self.canvas.hasFocus()

    def connect(self, *searches: str) -> None:
        """Connect a port of the selected node: search the port unless there is one only, then the target."""
        self.press("C")
        palette = self.canvas.overlays.wire_chooser.palette
        for search in searches:
            assert palette.isVisible(), searches
            self.write(search)
            assert palette.current is not None and not palette.current.refusal, [each.title for each in palette.shown]
            self.press("Return")
        assert not palette.isVisible() and self.canvas.hasFocus()

    def wires(self) -> set[str]:
        return {str(wire) for wire in self.canvas.store.document.wires}


def test_build_and_train_with_the_keyboard(window: MainWindow, qtbot: QtBot) -> None:
    keys = Keys(window, qtbot)
    keys.press("Ctrl+N")
    qtbot.waitUntil(lambda: window.canvas is not None and window.canvas.hasFocus())
    for text in ("digits", "normalize", "loader", "flatten", "linear 32"):
        keys.add(text)
    keys.press("Escape")
    assert not keys.canvas.store.selection
    for text in ("relu", "linear 10", "crossentropy", "adam"):
        keys.add(text, "Space")
        keys.press("Escape")
    assert len(keys.wires()) == 4, "nodes that were added without a selection have no wires"

    keys.go_to("linear")
    keys.connect("relu input")
    keys.go_to("relu")
    keys.connect("linear_2 input")
    keys.go_to("linear_2")
    keys.connect("cross_entropy input")
    keys.go_to("loader")
    keys.connect("target", "cross_entropy target")
    keys.go_to("cross_entropy")
    keys.connect("adam loss")
    assert keys.wires() >= {
        "linear.output -> relu.input",
        "relu.output -> linear_2.input",
        "linear_2.output -> cross_entropy.input",
        "loader.target -> cross_entropy.target",
        "cross_entropy.loss -> adam.loss",
    }
    keys.press("Shift+C")
    keys.write("adam")
    keys.press("Return")
    assert "cross_entropy.loss -> adam.loss" not in keys.wires()
    keys.press("Ctrl+Z")
    assert "cross_entropy.loss -> adam.loss" in keys.wires()

    keys.go_to("linear")
    keys.press("Return")
    for _ in range(20):
        if "out_features" in _name_of_focus():
            break
        keys.press("Tab")
    keys.press("Ctrl+A")
    keys.write("48")
    keys.press("Return", "Escape")
    assert keys.canvas.hasFocus()
    assert keys.canvas.store.document.nodes["linear"].params["out_features"] == 48

    project = window.project
    assert project is not None
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert not project.store.report.errors, project.store.report.errors
    keys.press("Ctrl+Return")
    qtbot.waitUntil(lambda: project.runner.state == "running")
    keys.press("Ctrl+.")
    qtbot.waitUntil(lambda: project.runner.state == "stopped")


def _name_of_focus() -> str:
    widget = QApplication.focusWidget()
    around = widget.parentWidget() if widget else None
    return f"{widget.accessibleName() if widget else ''} {around.accessibleName() if around else ''}"
