"""Whole networks built in the window with keys and mouse alone, in few actions; each is sound and trains."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from engine import fit
from studio.document.model import Document
from studio.lowering import check, lower
from studio.nodes import catalogue
from studio.ui.palette.search_palette import SearchPalette
from studio.ui.project.project_store import ProjectStore
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import SHIFT, MouseAndKeyboard

Key = Qt.Key


class Builder:
    """A user who builds a network. Each key, typed text, click and drag is one action."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        window.resize(1600, 1000)
        window.new_project()
        assert window.canvas is not None and window.project is not None
        self.view, self.project, self.qtbot = window.canvas, window.project, qtbot
        self.user = MouseAndKeyboard(self.view)
        self.view.setFocus()
        self.actions = 0

    @property
    def store(self) -> ProjectStore:
        return self.project.store

    @property
    def palette(self) -> SearchPalette:
        return self.view.overlays.search

    def chain(self, *texts: str) -> None:
        """Open the palette with Tab and add nodes one after the other."""
        self.key(Key.Key_Tab)
        self.qtbot.waitUntil(self.palette.field.hasFocus)
        self.add(*texts)

    def branch(self, name: str, port: str, *texts: str) -> None:
        """Drag a wire onto the empty canvas and add nodes one after the other."""
        self.show()
        start = self.user.port(name, "output", port)
        self.user.drag(start, self._empty_point())
        self.actions += 1
        self.qtbot.waitUntil(self.palette.field.hasFocus)
        self.add(*texts)

    def add(self, *texts: str) -> None:
        for left, text in zip(range(len(texts) - 1, -1, -1), texts, strict=True):
            self.qtbot.waitUntil(lambda: self.store.is_checked)
            QTest.keyClicks(self.palette.field, text)
            QTest.keyClick(self.palette.field, Key.Key_Return, SHIFT if left else Qt.KeyboardModifier.NoModifier)
            self.actions += 2

    def connect(self, source: str, target: str) -> None:
        """Drag from an output to an input."""
        self.show()
        (node, _, port), (other, _, input_port) = source.partition("."), target.partition(".")
        start, end = self.user.port(node, "output", port), self.user.port(other, "input", input_port)
        self.user.drag(start, end)
        self.actions += 1

    def key(self, key: Key, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.user.key(key, keys)
        self.actions += 1

    def unselect(self) -> None:
        """Click on the empty canvas."""
        self.show()
        self.user.click(self._empty_point())
        self.actions += 1

    def show(self) -> None:
        """Lay out and show the whole graph, if it changed since."""
        self.qtbot.waitUntil(lambda: self.store.is_checked)
        self.key(Key.Key_L)
        self.qtbot.waitUntil(lambda: not self.view.auto_layout.is_busy)
        self.key(Key.Key_Home)
        self.qtbot.waitUntil(lambda: not self.view.canvas_scene.wire_router.is_busy)

    def _empty_point(self) -> QPoint:
        area = self.view.viewport().rect()
        return QPoint(area.width() // 2, area.height() - 24)


@pytest.fixture
def builder(window: MainWindow, qtbot: QtBot) -> Builder:
    return Builder(window, qtbot)


def assert_trains(document: Document, steps: int = 6) -> None:
    """Check that a document has no problems, and that its losses are finite and those of all optimizers are there."""
    report = check(document, catalogue())
    assert report.problems == ()
    task = lower(report).build(seed=0)
    losses = [event.loss for event in fit.fit(task, steps=steps, compile=False) if isinstance(event, fit.Step)]
    assert len(losses) == steps
    assert np.isfinite(np.asarray(losses, dtype=object).tolist()).all()


def test_resnet_18_from_blocks(builder: Builder) -> None:
    stages = [text for _ in range(3) for text in ("residual_down", "residual")]
    builder.chain("digits", "normalize std 16", "loader 64", "conv_bn_relu", "residual repeat 2", *stages)
    builder.chain("adaptive avg pool 2d 1", "flatten", "linear 10", "cross entropy", "adam")
    assert builder.actions < 120
    document = builder.store.document
    assert (
        sum(2 if node.params.get("repeat") == 2 else 1 for node in document.nodes.values() if "residual" in node.type)
        == 8
    )
    assert_trains(document, steps=2)


def test_causal_transformer_from_operations(builder: Builder) -> None:
    builder.chain("shakespeare", "loader 32", "embedding 62 32", "learned positions", "layer norm", "linear 32")
    builder.chain("matrix product", "multiply 0.177", "add", "softmax -1", "matrix product", "linear 32", "add")
    builder.chain("layer norm", "linear 128", "gelu", "linear 32", "add", "layer norm", "linear 62", "transpose 1 2")
    builder.chain("cross entropy", "adam")
    builder.branch("layer_norm", "output", "linear 32", "transpose 1 2")
    builder.connect("transpose_2.output", "matrix_product.y")
    builder.branch("layer_norm", "output", "linear 32")
    builder.connect("linear_7.output", "matrix_product_2.y")
    builder.branch("learned_positions", "output", "causal mask")
    builder.connect("causal_mask.output", "add.y")
    builder.connect("learned_positions.output", "add_2.y")
    builder.connect("add_2.output", "add_3.y")
    assert builder.actions < 150
    assert "TransformerEncoderLayer" not in {node.type for node in builder.store.document.nodes.values()}
    assert_trains(builder.store.document, steps=3)


def test_network_with_two_inputs_and_two_losses(builder: Builder) -> None:
    builder.chain("digits", "normalize std 16", "loader 64", "flatten", "linear 64", "relu", "cat 1")
    builder.chain("linear 32", "relu", "linear 10", "cross entropy", "combine losses", "adam")
    builder.branch("relu_2", "output", "linear 64", "mse")
    builder.connect("flatten.output", "mean_squared_error.target")
    builder.connect("mean_squared_error.loss", "combine_losses.b")
    builder.unselect()
    builder.chain("moons samples 1797", "loader 64", "linear 16", "tanh")
    builder.connect("tanh.output", "concatenate.b")
    assert builder.actions < 100
    assert_trains(builder.store.document)
