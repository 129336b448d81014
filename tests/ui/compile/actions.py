"""What a person does with the Compile panel."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.ui.panels.compile.compile_panel import CompilePanel
from studio.ui.panels.compile.step_outline import RowKey
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT

LEFT = Qt.MouseButton.LeftButton


def click(widget: object) -> None:
    QTest.mouseClick(widget, LEFT)  # pyright: ignore[reportArgumentType, reportCallIssue]


def explain(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    """By the key."""
    QTest.keyClick(window, Qt.Key.Key_E, CTRL | SHIFT)
    qtbot.waitUntil(lambda: project.explainer.state in ("ready", "failed"))


def click_row(panel: CompilePanel, key: RowKey) -> None:
    outline = panel.outline
    item = next(item for found, item in outline._items() if found == key)
    outline.scrollToItem(item)
    QTest.mouseClick(outline.viewport(), LEFT, pos=outline.visualItemRect(item).center())


def marked(window: MainWindow) -> set[str]:
    assert window.canvas is not None
    return {name for name, item in window.canvas.canvas_scene.nodes.items() if item.state.highlighted}
