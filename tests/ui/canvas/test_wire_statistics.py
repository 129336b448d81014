"""Statistics of tensors in the tooltips of wires, with a real pointer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Node
from studio.training.probing import tensor_statistics
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Side
from studio.ui.canvas.wires import wire_statistics_tooltip
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.conftest import wire
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.canvas.test_color_by import document
from tests.ui.conftest import MakeWindow


@pytest.fixture
def window(make_window: MakeWindow, qtbot: QtBot) -> MainWindow:
    window = make_window()
    window.new_project()
    assert window.project is not None
    window.project.store.edit("Replace", lambda _: document())
    qtbot.waitUntil(lambda: window.project is not None and window.project.store.is_checked)
    return window


def rest_on(window: MainWindow, text: str) -> None:
    """Rest the pointer on a wire until its tooltip is due."""
    canvas = window.canvas
    assert canvas is not None
    QToolTip.hideText()
    while canvas.canvas_scene.wire_router.is_busy:  # wires may still move
        QApplication.processEvents()
    item = canvas.canvas_scene.wires[wire(text)]
    canvas.camera.zoom_to(2.0, animated=False)
    canvas.camera.center_on(QPointF(*item.curve.at(0.5)), animated=False)
    at = canvas.camera.to_view(QPointF(*item.curve.at(0.5))).toPoint()
    QTest.mouseMove(canvas.viewport(), at + QPoint(0, 120))
    QTest.mouseMove(canvas.viewport(), at)


def leave(canvas: CanvasView) -> None:
    QTest.mouseMove(canvas.viewport(), QPoint(3, 3))


def test_resting_on_a_wire_shows_the_statistics_of_a_batch(window: MainWindow, qtbot: QtBot) -> None:
    rest_on(window, "flatten.output -> small.input")
    qtbot.waitUntil(lambda: "Initial weights, one training batch" in QToolTip.text())
    text = QToolTip.text()
    assert "64×64 float32" in text and "<td>mean" in text and "<td>zeros" in text and "█" in text
    rest_on(window, "small.output -> block.input")
    qtbot.waitUntil(lambda: "small.output -&gt; block.input" in QToolTip.text() and "<td>std" in QToolTip.text())
    rest_on(window, "digits.samples -> scale.samples")
    qtbot.waitUntil(lambda: "digits.samples -&gt; scale.samples" in QToolTip.text())
    assert "tatistics" not in QToolTip.text(), "samples are in the Data panel"


def test_a_key_shows_and_speaks_the_statistics_of_the_selected_wire(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken: list[str] = []
    monkeypatch.setattr(wire_statistics_tooltip, "announce", lambda _, text: spoken.append(text))
    canvas = window.canvas
    assert canvas is not None
    canvas.camera.center_on(QPointF(*canvas.canvas_scene.wires[wire("small.output -> block.input")].curve.at(0.5)))
    canvas.camera.finish()
    canvas.canvas_scene.selection.select([wire("small.output -> block.input")])
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_W, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: bool(spoken) and "<td>mean" in QToolTip.text())
    assert "64×64 float32" in spoken[0] and "std" in spoken[0] and "<" not in spoken[0]
    QTest.keyClick(canvas, Qt.Key.Key_W, Qt.KeyboardModifier.ShiftModifier)
    assert len(spoken) == 2, "known values are spoken at once"


def test_wires_inside_a_block_have_statistics(window: MainWindow, qtbot: QtBot) -> None:
    assert window.canvas is not None
    window.canvas.store.enter("block")
    rest_on(window, "a.output -> b.input")
    qtbot.waitUntil(lambda: "64×512 float32" in QToolTip.text())


def test_it_is_computed_in_the_background_and_cancelled_when_the_pointer_leaves(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert window.canvas is not None and window.project is not None
    source = window.project_views[window.project].wire_statistics
    begun, may_go_on, computed = threading.Event(), threading.Event(), []
    original = tensor_statistics.tensor_statistics

    def slow(tensor: object) -> object:
        computed.append(tensor)
        begun.set()
        assert may_go_on.wait(60)
        return original(tensor)

    monkeypatch.setattr(tensor_statistics, "tensor_statistics", slow)
    rest_on(window, "small.output -> block.input")
    qtbot.waitUntil(begun.is_set)
    qtbot.waitUntil(lambda: "Computing statistics…" in QToolTip.text())
    leave(window.canvas)
    may_go_on.set()
    qtbot.waitUntil(lambda: not source.is_busy)
    assert len(computed) == 2, "the outputs of the loader, and no node after it"
    rest_on(window, "small.output -> block.input")
    qtbot.waitUntil(lambda: "<td>mean" in QToolTip.text())
    count = len(computed)
    rest_on(window, "flatten.output -> small.input")
    qtbot.waitUntil(lambda: "64×64 float32" in QToolTip.text())
    assert len(computed) == count, "known from the wire before"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda d: edits.set_param(d, "small", "in_features", 3), "small has a problem: "),
        (
            lambda d: edits.disconnect(d, [wire("flatten.output -> small.input")]),
            "small.input is not connected to data.",
        ),
        (lambda d: edits.add(edits.remove(d, ["digits"]), "digits", Node("data.NPY", {"path": "x.npz"})), "not con"),
    ],
    ids=["problem", "wire", "data"],
)
def test_why_there_are_no_statistics(window: MainWindow, qtbot: QtBot, change, text: str) -> None:
    assert window.project is not None
    window.project.store.edit("Change", change)
    qtbot.waitUntil(lambda: window.project is not None and window.project.store.is_checked)
    rest_on(window, "small.output -> block.input")
    qtbot.waitUntil(lambda: "No statistics: " in QToolTip.text())
    assert text in QToolTip.text()


def test_after_a_run_the_values_are_those_of_its_last_step(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    project = window.project
    assert project is not None

    def finish(d):
        d = edits.add(d, "loss", Node("nn.CrossEntropyLoss", at=(1400, 0)))
        d = edits.add(d, "sgd", Node("optim.SGD", {"lr": 0.5}, at=(1600, 0)))
        for each in ("relu.output -> loss.input", "batches.target -> loss.target", "loss.loss -> sgd.loss"):
            d = edits.connect(d, wire(each))
        return edits.set_training(d, epochs=1)

    project.store.edit("Finish", finish)
    qtbot.waitUntil(lambda: project.store.is_checked)
    rest_on(window, "loss.loss -> sgd.loss")
    qtbot.waitUntil(lambda: "<code>4." in QToolTip.text() and "Initial weights" in QToolTip.text())
    project.runner.start()
    qtbot.waitUntil(lambda: project.runner.state == "done")
    for _ in range(20):  # a notification of the run can move the canvas under the pointer
        rest_on(window, "loss.loss -> sgd.loss")
        QTest.qWait(2000)
        if "Run 1, step " in QToolTip.text():
            break
    assert f"Run 1, step {project.runner.steps}" in QToolTip.text()
    assert "<code>4." not in QToolTip.text()


def rest_at_port(window: MainWindow, node: str, side: Side, port: str) -> None:
    """Rest the pointer on a port until its tooltip is due."""
    canvas = window.canvas
    assert canvas is not None
    QToolTip.hideText()
    canvas.camera.zoom_to(2.0, animated=False)
    canvas.camera.center_on(QPointF(*canvas.canvas_scene.nodes[node].port(side, port)), animated=False)
    at = MouseAndKeyboard(canvas).port(node, side, port)
    QTest.mouseMove(canvas.viewport(), at + QPoint(0, 120))
    QTest.mouseMove(canvas.viewport(), at)


def test_ports_show_their_last_values_or_why_there_are_none(window: MainWindow, qtbot: QtBot) -> None:
    rest_at_port(window, "small", "output", "output")
    qtbot.waitUntil(lambda: "64×64 float32" in QToolTip.text() and "<td>mean" in QToolTip.text())
    rest_at_port(window, "relu", "input", "input")
    qtbot.waitUntil(lambda: "<b>input</b>" in QToolTip.text() and "<td>mean" in QToolTip.text())
    rest_at_port(window, "scale", "input", "samples")
    qtbot.waitUntil(lambda: "The Data panel shows samples." in QToolTip.text())
    assert window.project is not None
    cut = wire("small.output -> block.input")
    window.project.store.edit("Disconnect", lambda document: edits.disconnect(document, [cut]))
    qtbot.waitUntil(lambda: window.project is not None and window.project.store.is_checked)
    rest_at_port(window, "block", "input", "input")
    qtbot.waitUntil(lambda: "No values: nothing is connected." in QToolTip.text())
    rest_at_port(window, "relu", "output", "output")
    qtbot.waitUntil(lambda: "No statistics: " in QToolTip.text())
