"""Build, train, save and reopen a network in the real window, with mouse and keyboard only."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document
from studio.ui import dialogs
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard

CHAIN = ("Digits", "Normalize", "Loader", "Flatten", "Linear", "ReLU", "Dropout", "Linear", "CrossEntropyLoss", "Adam")


@pytest.fixture
def canvas(window: MainWindow, qtbot: QtBot) -> CanvasView:
    """The empty canvas that Ctrl+N opens."""
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_N, CTRL)
    qtbot.waitUntil(lambda: window.canvas is not None)
    view = window.canvas
    assert view is not None
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    return view


def project_of(window: MainWindow) -> Project:
    project = window.project
    assert project is not None
    return project


def add_from_palette(view: CanvasView, user: MouseAndKeyboard, text: str, qtbot: QtBot) -> str:
    """Tab, a few letters, Enter. Returns the name of the new node, which is selected."""
    before = set(view.store.document.nodes)
    user.key(Qt.Key.Key_Tab)
    field = QApplication.focusWidget()
    assert isinstance(field, QLineEdit), field
    user.type(text, field)
    user.key(Qt.Key.Key_Return, target=field)
    qtbot.waitUntil(lambda: len(view.store.document.nodes) == len(before) + 1)
    [name] = set(view.store.document.nodes) - before
    assert view.store.selection == {name}
    return name


def build_digits_network(view: CanvasView, qtbot: QtBot) -> dict[str, str]:
    """Build the digits network; each node is added after the previous one. Returns names by title."""
    user = MouseAndKeyboard(view)
    names: dict[str, str] = {}
    for title in CHAIN:
        key = title if title not in names else "Output"
        names[key] = add_from_palette(view, user, title, qtbot)
    user.click(empty_position(view))
    names["Accuracy"] = add_from_palette(view, user, "Accuracy", qtbot)
    user.key(Qt.Key.Key_L)
    user.key(Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: view.gesture is None)
    for source, port in ((names["Loader"], "target"), (names["Output"], "output")):
        target = "target" if port == "target" else "input"
        connect(view, user, source, port, names["Accuracy"], target)
    connect(view, user, names["Loader"], "target", names["CrossEntropyLoss"], "target")
    return names


def empty_position(view: CanvasView) -> QPoint:
    """A viewport point without an item."""
    for y in range(40, view.viewport().height(), 40):
        position = QPoint(60, y)
        if view.scene().itemAt(view.mapToScene(position), view.transform()) is None:
            return position
    raise AssertionError("the canvas is full")


def connect(view: CanvasView, user: MouseAndKeyboard, source: str, output: str, target: str, input_port: str) -> None:
    user.drag(user.port(source, "output", output), user.port(target, "input", input_port))
    assert f"{source}.{output} -> {target}.{input_port}" in {str(wire) for wire in view.store.document.wires}


def set_number(
    window: MainWindow, user: MouseAndKeyboard, view: CanvasView, node: str, field: str, text: str, qtbot: QtBot
) -> None:
    """Select a node by a click and type into its form."""
    user.click(user.node(node))
    qtbot.waitUntil(lambda: view.store.selection == {node})
    editor = next(
        widget
        for widget in window.findChildren(QLineEdit)
        if widget.isVisible() and field in (widget.accessibleName(), widget.parentWidget().accessibleName())
    )
    editor.setFocus()
    editor.selectAll()
    QTest.keyClicks(editor, text)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    view.setFocus()


def digits_network(window: MainWindow, canvas: CanvasView, qtbot: QtBot) -> dict[str, str]:
    names = build_digits_network(canvas, qtbot)
    user = MouseAndKeyboard(canvas)
    set_number(window, user, canvas, names["Linear"], "out_features", "64", qtbot)
    set_number(window, user, canvas, names["Output"], "out_features", "10", qtbot)
    set_number(window, user, canvas, names["Normalize"], "std", "16", qtbot)
    qtbot.waitUntil(lambda: canvas.store.project.is_checked)
    assert canvas.store.report.problems == ()
    return names


def test_build_train_save_and_reopen(
    window: MainWindow, canvas: CanvasView, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = digits_network(window, canvas, qtbot)
    report = canvas.store.report
    assert report.nodes[names["Linear"]].arguments["in_features"] == 64
    assert "N×64 float32" in report.wires.values()

    canvas.store.edit("Long", lambda document: edits.set_training(document, epochs=100_000))
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_Return, CTRL)
    runner = project_of(window).runner
    qtbot.waitUntil(lambda: runner.run is not None and len(runner.run.curve("loss", "train") or ()) > 5)
    run = runner.run
    assert run is not None
    points = len(run.curve("loss", "train") or ())
    qtbot.waitUntil(lambda: len(run.curve("loss", "train") or ()) > points + 20)
    qtbot.waitUntil(lambda: run.curve("loss", "validation") is not None)
    QTest.keyClick(canvas, Qt.Key.Key_Period, CTRL)
    qtbot.waitUntil(lambda: runner.state == "stopped")

    path = tmp_path / "first.gradwire"
    monkeypatch.setattr(dialogs, "path_to_save", lambda *_: path)
    QTest.keyClick(canvas, Qt.Key.Key_S, CTRL)
    qtbot.waitUntil(path.exists)
    built = canvas.store.document
    QTest.keyClick(canvas, Qt.Key.Key_W, CTRL)
    qtbot.waitUntil(lambda: window.project is None)
    monkeypatch.setattr(dialogs, "paths_to_open", lambda *_: [path])
    QTest.keyClick(window, Qt.Key.Key_O, CTRL)
    qtbot.waitUntil(lambda: window.project is not None)
    assert project_of(window).store.document == built


def test_undo_and_redo_all_edits(window: MainWindow, canvas: CanvasView, qtbot: QtBot) -> None:
    digits_network(window, canvas, qtbot)
    store, built, empty = canvas.store.project, canvas.store.document, Document()
    canvas.setFocus()
    for _ in range(200):
        if not store.history.can_undo:
            break
        QTest.keyClick(canvas, Qt.Key.Key_Z, CTRL)
    assert (store.document.nodes, store.document.wires) == (empty.nodes, empty.wires)
    assert not canvas.canvas_scene.nodes
    assert not canvas.canvas_scene.wires
    for _ in range(200):
        if not store.history.can_redo:
            break
        QTest.keyClick(canvas, Qt.Key.Key_Z, CTRL | SHIFT)
    assert store.document == built
    assert set(canvas.canvas_scene.nodes) == set(built.nodes)
    assert set(canvas.canvas_scene.wires) == set(built.wires)
