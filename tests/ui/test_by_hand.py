"""Training set up with mouse and keys alone: schedules, two optimizers, frozen layers; runs written out."""

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
from tests.ui.test_journey import add_from_palette, connect, empty_place

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def canvas(qtbot: QtBot, window: MainWindow, project: Project) -> CanvasView:
    """That of the digits template, trained for one epoch, with room around it."""

    def short(document: Document) -> Document:
        return edits.set_training(document, epochs=1)

    project.store.edit("Train shortly", short)
    view = window.project_views[project].canvas
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    return view


@pytest.fixture
def user(canvas: CanvasView) -> MouseAndKeyboard:
    return MouseAndKeyboard(canvas)


def added(canvas: CanvasView, user: MouseAndKeyboard, qtbot: QtBot, title: str) -> str:
    """A node from the palette that nothing is wired to, and a canvas on which all can be reached."""
    user.click(empty_place(canvas))
    name = add_from_palette(canvas, user, title, qtbot)
    user.key(Qt.Key.Key_Escape)
    user.key(Qt.Key.Key_L)
    user.key(Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: not canvas.auto_layout.is_busy and canvas.gesture is None)
    return name


def shown(window: MainWindow, project: Project, kind: type[Any]) -> Any:
    """A part of the inspector's form."""
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm)
    found = form.findChild(kind)
    assert found is not None
    return found


def press(box: QCheckBox) -> None:
    QTest.mouseClick(box, LEFT, pos=QPoint(10, box.height() // 2))


def train(qtbot: QtBot, canvas: CanvasView, project: Project) -> dict[str, np.ndarray[Any, Any]]:
    """By Ctrl+Enter to the end. Returns the weights."""
    canvas.window().activateWindow()
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    before = project.runner.run
    QTest.keyClick(canvas, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: project.runner.run is not before and project.runner.state in ("done", "failed"))
    run = project.runner.run
    assert project.runner.state == "done" and run is not None and run.folder is not None
    return {name: tensor.numpy() for name, tensor in load_file(run.folder / "weights.safetensors").items()}


def test_a_schedule_is_wired_behind_an_optimizer_and_shows_what_it_plans(
    qtbot: QtBot, window: MainWindow, project: Project, canvas: CanvasView, user: MouseAndKeyboard
) -> None:
    name = added(canvas, user, qtbot, "CosineAnnealing")
    if any(wire.target.node == name for wire in canvas.store.document.wires):
        pytest.fail("the palette has wired it up by itself")
    connect(canvas, user, "adam", "optimizer", name, "optimizer")
    user.click(user.node(name))
    view = shown(window, project, LearningRatePlot)
    qtbot.waitUntil(view.isVisible)
    qtbot.waitUntil(lambda: bool(view.plot.rates) and view.plot.rates[0] == (0.0, 0.005))
    user.click(user.node("adam"))
    view = shown(window, project, LearningRatePlot)
    qtbot.waitUntil(view.isVisible)
    qtbot.waitUntil(lambda: view.plot.rates[0] == (0.0, 0.005))
    train(qtbot, canvas, project)


def test_two_optimizers_train_the_layers_that_are_checked_for_them(
    qtbot: QtBot, window: MainWindow, project: Project, canvas: CanvasView, user: MouseAndKeyboard
) -> None:
    sgd = added(canvas, user, qtbot, "optim.SGD")
    connect(canvas, user, "cross_entropy", "loss", sgd, "loss")
    qtbot.waitUntil(lambda: canvas.store.is_checked)
    assert [problem.code for problem in canvas.store.report.errors] == ["shared-layers"]
    for optimizer, other in (("adam", "logits"), (sgd, "hidden")):
        user.click(user.node(optimizer))
        layers: TrainedLayersList = shown(window, project, TrainedLayersList)
        qtbot.waitUntil(lambda: layers.all_layers.isVisible() and "logits" in layers.boxes)  # noqa: B023
        press(layers.all_layers)
        press(layers.boxes[other])
    nodes = canvas.store.document.nodes
    assert (nodes["adam"].trains, nodes[sgd].trains) == (("hidden",), ("logits",))
    qtbot.waitUntil(lambda: canvas.store.is_checked and not canvas.store.report.errors)
    train(qtbot, canvas, project)


def test_a_layer_that_is_frozen_by_a_key_keeps_its_weights(
    qtbot: QtBot, project: Project, canvas: CanvasView, user: MouseAndKeyboard
) -> None:
    user.key(Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: canvas.gesture is None)
    short = train(qtbot, canvas, project)
    user.click(user.node("hidden"))
    user.key(Qt.Key.Key_M, SHIFT)
    assert canvas.store.document.nodes["hidden"].frozen
    canvas.store.edit("Train longer", lambda document: edits.set_training(document, epochs=2))
    qtbot.waitUntil(lambda: canvas.store.is_checked)
    frozen = [train(qtbot, canvas, project)]
    canvas.store.edit("Train shortly", lambda document: edits.set_training(document, epochs=1))
    qtbot.waitUntil(lambda: canvas.store.is_checked)
    frozen.append(train(qtbot, canvas, project))
    for name in ("hidden.weight", "hidden.bias"):
        assert np.array_equal(frozen[0][name], frozen[1][name])
        assert not np.array_equal(frozen[0][name], short[name])
    assert not np.array_equal(frozen[0]["logits.weight"], frozen[1]["logits.weight"])


def test_points_of_runs_are_written_from_their_menu(
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
    place = view.visualRect(view.model().index(0, 0)).center()
    QTest.mouseClick(view.viewport(), LEFT, pos=place)

    def choose() -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        action = next(each for each in menu.actions() if each.text().startswith("Export CSV"))
        QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())

    QTimer.singleShot(0, choose)
    reason = QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(view.viewport(), QContextMenuEvent(reason, place, view.viewport().mapToGlobal(place)))
    qtbot.waitUntil(lambda: path.exists() and str(path) in window.status._message.text())
    run = project.runner.run
    assert run is not None
    curve = run.curve("loss", "train")
    assert curve is not None
    rows = [line for line in path.read_text().splitlines() if ",loss,train," in line]
    assert len(rows) == len(curve.column.values)
