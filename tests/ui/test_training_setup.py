"""Set up training with mouse and keyboard: schedules, two optimizers, frozen layers, and CSV export of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QFileDialog, QMenu
from pytestqt.qtbot import QtBot

from engine.io import load_file
from studio.document import edits
from studio.document.model import Document
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.panels.inspector.learning_rate_plot import LearningRatePlot
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.trained_layers import TrainedLayersList
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard
from tests.ui.test_build_and_train import add_from_palette, connect, empty_position

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def canvas(qtbot: QtBot, window: MainWindow, project: Project) -> CanvasView:
    """The focused canvas of the digits template, set to train for one epoch."""

    def train_one_epoch(document: Document) -> Document:
        return edits.set_training(document, epochs=1)

    project.store.edit("Train shortly", train_one_epoch)
    view = window.project_views[project].canvas
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    return view


@pytest.fixture
def user(canvas: CanvasView) -> MouseAndKeyboard:
    return MouseAndKeyboard(canvas)


def add_unconnected(canvas: CanvasView, user: MouseAndKeyboard, qtbot: QtBot, title: str) -> str:
    """Add an unconnected node from the palette and lay out the graph. Returns the name of the node."""
    user.click(empty_position(canvas))
    name = add_from_palette(canvas, user, title, qtbot)
    user.key(Qt.Key.Key_Escape)
    user.key(Qt.Key.Key_L)
    user.key(Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: not canvas.auto_layout.is_busy and canvas.gesture is None)
    return name


def form_widget(window: MainWindow, project: Project, kind: type[Any]) -> Any:
    """The widget of a class in the inspector's node form."""
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm)
    widget = form.findChild(kind)
    assert widget is not None
    return widget


def press(box: QCheckBox) -> None:
    QTest.mouseClick(box, LEFT, pos=QPoint(10, box.height() // 2))


def train(qtbot: QtBot, canvas: CanvasView, project: Project) -> dict[str, np.ndarray[Any, Any]]:
    """Start a run with Ctrl+Enter and wait for its end. Returns the weights."""
    canvas.window().activateWindow()
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    before = project.runner.run
    QTest.keyClick(canvas, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: project.runner.run is not before and project.runner.state in ("done", "failed"))
    run = project.runner.run
    assert project.runner.state == "done" and run is not None and run.folder is not None
    return {name: tensor.numpy() for name, tensor in load_file(run.folder / "weights.safetensors").items()}


def test_connected_schedule_shows_its_learning_rates(
    qtbot: QtBot, window: MainWindow, project: Project, canvas: CanvasView, user: MouseAndKeyboard
) -> None:
    name = add_unconnected(canvas, user, qtbot, "CosineAnnealing")
    if any(wire.target.node == name for wire in canvas.store.document.wires):
        pytest.fail("the palette connected the node")
    connect(canvas, user, "adam", "optimizer", name, "optimizer")
    user.click(user.node(name))
    view = form_widget(window, project, LearningRatePlot)
    qtbot.waitUntil(view.isVisible)
    qtbot.waitUntil(lambda: bool(view.plot.rates) and view.plot.rates[0] == (0.0, 0.005))
    user.click(user.node("adam"))
    view = form_widget(window, project, LearningRatePlot)
    qtbot.waitUntil(view.isVisible)
    qtbot.waitUntil(lambda: view.plot.rates[0] == (0.0, 0.005))
    train(qtbot, canvas, project)


def test_two_optimizers_train_their_checked_layers(
    qtbot: QtBot, window: MainWindow, project: Project, canvas: CanvasView, user: MouseAndKeyboard
) -> None:
    sgd = add_unconnected(canvas, user, qtbot, "optim.SGD")
    connect(canvas, user, "cross_entropy", "loss", sgd, "loss")
    qtbot.waitUntil(lambda: canvas.store.project.is_checked)
    assert [problem.code for problem in canvas.store.report.errors] == ["shared-layers"]
    for optimizer, other in (("adam", "logits"), (sgd, "hidden")):
        user.click(user.node(optimizer))
        layers: TrainedLayersList = form_widget(window, project, TrainedLayersList)
        qtbot.waitUntil(lambda shown=layers: shown.all_layers.isVisible() and "logits" in shown.boxes)
        press(layers.all_layers)
        press(layers.boxes[other])
    nodes = canvas.store.document.nodes
    assert (nodes["adam"].trains, nodes[sgd].trains) == (("hidden",), ("logits",))
    qtbot.waitUntil(lambda: canvas.store.project.is_checked and not canvas.store.report.errors)
    train(qtbot, canvas, project)


def test_layer_frozen_by_shortcut_keeps_its_weights(
    qtbot: QtBot, project: Project, canvas: CanvasView, user: MouseAndKeyboard
) -> None:
    user.key(Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: canvas.gesture is None)
    train_one_epoch = train(qtbot, canvas, project)
    user.click(user.node("hidden"))
    user.key(Qt.Key.Key_M, SHIFT)
    assert canvas.store.document.nodes["hidden"].frozen
    canvas.store.edit("Train longer", lambda document: edits.set_training(document, epochs=2))
    qtbot.waitUntil(lambda: canvas.store.project.is_checked)
    frozen = [train(qtbot, canvas, project)]
    canvas.store.edit("Train shortly", lambda document: edits.set_training(document, epochs=1))
    qtbot.waitUntil(lambda: canvas.store.project.is_checked)
    frozen.append(train(qtbot, canvas, project))
    for name in ("hidden.weight", "hidden.bias"):
        assert np.array_equal(frozen[0][name], frozen[1][name])
        assert not np.array_equal(frozen[0][name], train_one_epoch[name])
    assert not np.array_equal(frozen[0]["logits.weight"], frozen[1]["logits.weight"])


def test_context_menu_exports_curve_points_as_csv(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    canvas: CanvasView,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train(qtbot, canvas, project)
    path = tmp_path / "points.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(path), ""))
    window.docks["runs"].reveal()
    view = window.project_views[project].runs.list.view
    position = view.visualRect(view.model().index(0, 0)).center()
    QTest.mouseClick(view.viewport(), LEFT, pos=position)

    def choose() -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        action = next(each for each in menu.actions() if each.text().startswith("Export CSV"))
        QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())

    QTimer.singleShot(0, choose)
    reason = QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(view.viewport(), QContextMenuEvent(reason, position, view.viewport().mapToGlobal(position)))
    qtbot.waitUntil(lambda: path.exists() and str(path) in window.status._message.text())
    run = project.runner.run
    assert run is not None
    curve = run.curve("loss", "train")
    assert curve is not None
    rows = [line for line in path.read_text().splitlines() if ",loss,train," in line]
    assert len(rows) == len(curve.column.values)
