"""A tabular model from a dropped CSV file, with mouse and keys only, in fewer than 25 actions."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from engine.system.assets import asset
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL, NO_KEY, SHIFT, MouseAndKeyboard
from tests.ui.data.test_import_page import drop_files

MAX_ACTIONS = 24


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


class CountedUser:
    """Counts actions: a drop, a key press, a typed word, a click or a drag is one each."""

    def __init__(self, view: CanvasView) -> None:
        self.user = MouseAndKeyboard(view)
        self.actions = 0

    def drop(self, path: Path) -> None:
        self.actions += 1
        drop_files(self.user.target, path)

    def key(self, key: Qt.Key, keys: Qt.KeyboardModifier = NO_KEY) -> None:
        self.actions += 1
        QTest.keyClick(focused(), key, keys)

    def click(self, widget: QWidget) -> None:
        self.actions += 1
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=QPoint(8, widget.height() // 2))

    def type(self, text: str) -> None:
        self.actions += 1
        QTest.keyClicks(focused(), text)

    def drag(self, start: QPoint, end: QPoint) -> None:
        self.actions += 1
        self.user.drag(start, end)


def test_dropped_table_is_trained_in_few_actions(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "penguins.csv"
    path.write_bytes(asset("data/penguins/penguins.csv").read_bytes())
    window.open_projects.new()
    view = window.canvas
    assert view is not None and window.project is not None
    user, store = CountedUser(view), view.store

    user.drop(path)
    dialog = window.imports.dialog
    assert dialog is not None
    qtbot.waitUntil(lambda: "10 float32 → 3 classes" in dialog.preview.summary.text(), timeout=20_000)
    user.click(dialog.network)  # the layers are built by hand
    user.key(Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "batches" in store.document.nodes and window.imports.dialog is None)
    window.activateWindow()
    qtbot.waitUntil(view.hasFocus)

    user.key(Qt.Key.Key_Tab)
    texts = ["linear 32", "relu", "linear 3", "CrossEntropyLoss", "Adam"]
    for number, text in enumerate(texts, 1):
        nodes = len(store.document.nodes)
        qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit))
        user.type(text)
        user.key(Qt.Key.Key_Return, SHIFT if number < len(texts) else NO_KEY)
        qtbot.waitUntil(lambda before=nodes: len(store.document.nodes) == before + 1)
    qtbot.waitUntil(view.hasFocus)
    user.key(Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: store.project.is_checked)
    loss = next(name for name, node in store.document.nodes.items() if node.type == "nn.CrossEntropyLoss")
    user.drag(user.user.port("batches", "output", "target"), user.user.port(loss, "input", "target"))
    qtbot.waitUntil(lambda: store.project.is_checked)
    assert [problem.message for problem in store.report.errors] == []

    user.key(Qt.Key.Key_Return, CTRL)
    runner = window.project.runner
    qtbot.waitUntil(lambda: runner.state == "done", timeout=60_000)
    assert runner.run is not None
    losses = runner.run.curve("loss", "validation")
    assert losses is not None and losses.column.values[-1] < 0.6 * losses.column.values[0]
    assert user.actions <= MAX_ACTIONS, user.actions
    assert user.actions == 17


def test_dropped_table_with_the_offered_network_is_trained(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "penguins.csv"
    path.write_bytes(asset("data/penguins/penguins.csv").read_bytes())
    window.open_projects.new()
    assert window.canvas is not None and window.project is not None
    user, store, runner = CountedUser(window.canvas), window.canvas.store, window.project.runner
    user.drop(path)
    dialog = window.imports.dialog
    assert dialog is not None
    qtbot.waitUntil(lambda: "10 float32 → 3 classes" in dialog.preview.summary.text(), timeout=20_000)
    user.key(Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "adam" in store.document.nodes and window.imports.dialog is None)
    window.activateWindow()
    qtbot.waitUntil(lambda: store.project.is_checked and window.canvas is not None and window.canvas.hasFocus())
    assert store.report.errors == ()
    user.key(Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: runner.state == "done", timeout=60_000)
    assert runner.run is not None
    accuracy = runner.run.curve("accuracy", "validation")
    assert accuracy is not None and accuracy.column.values[-1] > 0.9
    assert user.actions == 3
