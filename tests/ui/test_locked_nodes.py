"""Locked nodes: every way of editing refuses them with a reason, and undo goes on working."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.ui.canvas.accessibility.accessible_node import node_text
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.panels.code.code_panel import CodePanel
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard
from tests.ui.test_code_editing import press, put_cursor, type_text

LOCKED = ("digits", "scale", "hidden", "relu")


@pytest.fixture
def canvas(window: MainWindow, project: Project) -> CanvasView:
    project.store.lock(LOCKED)
    assert window.canvas is not None
    return window.canvas


@pytest.fixture
def mouse(canvas: CanvasView, qtbot: QtBot) -> MouseAndKeyboard:
    qtbot.wait(50)
    return MouseAndKeyboard(canvas)


def test_locked_nodes_have_a_badge_and_say_so(canvas: CanvasView, project: Project) -> None:
    scene = canvas.canvas_scene
    assert {name for name, item in scene.nodes.items() if item.content.locked} == set(LOCKED)
    assert "hidden, Linear, locked" in node_text(project.scope, scene, "hidden")
    project.store.lock(())
    assert not any(item.content.locked for item in scene.nodes.values())


def test_the_form_of_a_locked_node_is_disabled(window: MainWindow, project: Project, mouse: MouseAndKeyboard) -> None:
    mouse.click(mouse.node("hidden"))
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm)
    assert form.rows and not any(row.isEnabled() for row in form.rows)
    mouse.click(mouse.node("logits"))
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm) and all(row.isEnabled() for row in form.rows)


@pytest.mark.parametrize(
    ("key", "keys"), [(Qt.Key.Key_Delete, None), (Qt.Key.Key_M, None), (Qt.Key.Key_X, CTRL), (Qt.Key.Key_M, SHIFT)]
)
def test_keys_are_refused_with_a_reason(
    canvas: CanvasView, project: Project, mouse: MouseAndKeyboard, key: Qt.Key, keys: Qt.KeyboardModifier | None
) -> None:
    reasons: list[str] = []
    project.store.refused.connect(reasons.append)
    before = project.store.document
    mouse.click(mouse.node("hidden"))
    mouse.key(key, keys or Qt.KeyboardModifier.NoModifier)
    assert project.store.document is before
    assert reasons and "hidden is locked in this lesson" in reasons[0]
    assert canvas.overlays.pointer_message.isVisible()


def test_a_wire_between_locked_nodes_cannot_be_dragged_away(
    project: Project, mouse: MouseAndKeyboard, canvas: CanvasView
) -> None:
    before = project.store.document
    mouse.drag(mouse.port("relu", "input", "input"), mouse.at(60, 500))
    assert project.store.document.wires == before.wires
    mouse.drag(mouse.port("dropout", "input", "input"), mouse.at(240, 500))
    assert len(project.store.document.wires) == len(before.wires) - 1
    mouse.key(Qt.Key.Key_Z, CTRL)
    assert project.store.document.wires == before.wires


def test_the_code_panel_refuses_and_undo_goes_on_working(
    qtbot: QtBot, window: MainWindow, project: Project, mouse: MouseAndKeyboard
) -> None:
    before = project.store.document
    reasons: list[str] = []
    project.store.refused.connect(reasons.append)
    mouse.click(mouse.node("dropout"))
    mouse.key(Qt.Key.Key_Delete)
    assert "dropout" not in project.store.document.nodes
    mouse.key(Qt.Key.Key_Z, CTRL)
    assert project.store.document is before
    window.docks["code"].reveal()
    panel = window.docks["code"].panel
    assert isinstance(panel, CodePanel)
    qtbot.waitUntil(lambda: panel.program is not None)
    put_cursor(panel, "self.hidden = nn.Linear(in_features=64, out_features=256")
    for _ in range(3):
        QTest.keyClick(panel.editor, Qt.Key.Key_Backspace)
    type_text(panel, "128")
    press(panel, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: bool(reasons), timeout=5000)
    assert "hidden is locked in this lesson" in reasons[0]
    assert project.store.document is before


def test_a_locked_node_can_be_moved(project: Project, mouse: MouseAndKeyboard) -> None:
    at = project.store.document.nodes["hidden"].at
    mouse.drag(mouse.node("hidden"), mouse.node("hidden") + QPoint(0, 120))
    assert project.store.document.nodes["hidden"].at != at
