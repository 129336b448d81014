"""Fixes are previewed on the canvas and in a tooltip, and applied with mouse and keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from studio.document.files import project_files
from studio.document.model import Document, Node
from studio.ui.panels.problem_row import ProblemRow
from studio.ui.window.main_window import MainWindow
from studio.ui.window.project_view import ProjectView
from tests.studio.lowering.graphs import digits
from tests.ui.conftest import MakeWindow

ALT = Qt.KeyboardModifier.AltModifier


def two_mistakes() -> Document:
    """A convolution without Flatten after it, and an explicit size that the wire contradicts."""
    convolution = Node("nn.Conv2d", {"out_channels": 4, "kernel_size": 3, "in_channels": 3})
    made = digits({"conv": convolution, "relu": "nn.ReLU", "logits": Node("nn.Linear", {"out_features": 10})})
    nodes = {name: replace(node, at=(240.0 * index, 0.0)) for index, (name, node) in enumerate(made.nodes.items())}
    return replace(made, nodes=nodes)


@pytest.fixture
def view(make_window: MakeWindow, qtbot: QtBot, tmp_path: Path) -> ProjectView:
    project_files.save(two_mistakes(), tmp_path / "net.gradwire")
    window: MainWindow = make_window()
    window.commands.run("view.problems")
    project = window.files.open(tmp_path / "net.gradwire")
    assert project is not None
    shown = window.project_views[project]
    qtbot.waitUntil(lambda: project.store.is_checked and len(shown.problems.rows) == 2)
    return shown


def row_of(view: ProjectView, node: str) -> ProblemRow:
    return next(row for row in view.problems.rows if row.problem.node == node)


def hover(widget: QWidget) -> None:
    """The events that a pointer which rests on a widget sends."""
    middle = QPointF(widget.rect().center())
    at = QPointF(widget.mapToGlobal(middle.toPoint()))
    QApplication.sendEvent(widget, QEnterEvent(middle, middle, at))
    QApplication.sendEvent(widget, QHelpEvent(QEvent.Type.ToolTip, middle.toPoint(), at.toPoint()))


def test_hovering_the_button_shows_the_new_value_and_the_problems_left(view: ProjectView, qtbot: QtBot) -> None:
    store, button = view.project.store, row_of(view, "conv").button
    before = store.document
    hover(button)
    assert view.fix_preview.isVisible()
    assert QToolTip.text().startswith("<b>Preview</b><br>in_channels of conv: 3 → ")
    qtbot.waitUntil(lambda: store.fix_previewer.after is not None)
    assert QToolTip.text() == "<b>Preview</b><br>in_channels of conv: 3 → 1 (inferred)<br>Leaves 1 error."
    assert store.document is before and not store.history.can_undo
    QApplication.sendEvent(button, QEvent(QEvent.Type.Leave))
    assert not view.fix_preview.isVisible()
    assert store.fix_previewer.fix is None


def test_a_fix_that_inserts_a_node_shows_its_ghost_and_wires(view: ProjectView, qtbot: QtBot) -> None:
    row = row_of(view, "logits")
    row.button.setFocus(Qt.FocusReason.TabFocusReason)
    assert list(view.fix_preview.ghosts) == ["flatten"]
    lines = view.project.store.fix_previewer.lines
    assert lines[0] == "Add flatten"
    assert "Remove the wire relu.output -> logits.input" in lines
    assert "Connect flatten.output to logits.input" in lines
    picture = view.canvas.grab()
    QTest.keyClick(row.button, Qt.Key.Key_Space)
    assert "flatten" in view.project.store.document.nodes
    assert not view.fix_preview.isVisible()
    assert picture.size() == view.canvas.size()


def test_keys_of_a_row(view: ProjectView, qtbot: QtBot) -> None:
    store, first, second = view.project.store, *view.problems.rows
    first.setFocus(Qt.FocusReason.TabFocusReason)
    assert store.fix_previewer.fix is first.problem.fix
    assert "Alt+Enter applies the fix" in QToolTip.text()
    QTest.keyClick(first, Qt.Key.Key_Down)
    assert second.hasFocus() and store.fix_previewer.fix is second.problem.fix
    QTest.keyClick(second, Qt.Key.Key_Up)
    QTest.keyClick(first, Qt.Key.Key_Return)
    assert store.selection == {first.problem.node}
    assert not store.history.can_undo
    node, fix = first.problem.node, first.problem.fix
    assert node is not None and fix is not None
    QTest.keyClick(first, Qt.Key.Key_Return, ALT)
    assert store.history.can_undo
    assert store.history.undo_title == (fix.title if node in fix.title else f"{fix.title} ({node})")
    qtbot.waitUntil(lambda: store.is_checked and len(view.problems.rows) == 1)
    store.undo()
    assert store.document == two_mistakes()


def test_the_inspector_previews_its_fix(view: ProjectView, qtbot: QtBot) -> None:
    view.project.store.select(["conv"])
    buttons = [b for b in view.inspector.findChildren(QPushButton) if b.text().startswith("Infer in_channels")]
    [button] = [each for each in buttons if each.isVisible()]
    button.setFocus(Qt.FocusReason.TabFocusReason)
    assert view.fix_preview.isVisible()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    assert "in_channels" not in view.project.store.document.nodes["conv"].params
    assert view.project.store.history.undo_title == "Infer in_channels from the wire (conv)"
