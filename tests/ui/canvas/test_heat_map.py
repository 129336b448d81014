"""Colors of nodes by a figure: levels, texts, legend, instances of blocks, undo of the coloring."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import blocks
from studio.document.model import Block, Document, Node
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.canvas_style import HEAT_LEVELS
from studio.ui.canvas.heat_map import heat_levels
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.conftest import wire
from tests.ui.conftest import MakeWindow


def document() -> Document:
    """A small layer, a block with two large layers, and a ReLU."""
    inner = {
        "input": Node(blocks.INPUT),
        "a": Node("nn.Linear", {"out_features": 512}, at=(200, 0)),
        "b": Node("nn.Linear", {"out_features": 64}, at=(400, 0)),
        "output": Node(blocks.OUTPUT, at=(600, 0)),
    }
    inside = ("input.output -> a.input", "a.output -> b.input", "b.output -> output.input")
    nodes = {
        "digits": Node("data.Digits"),
        "scale": Node("transforms.Normalize", {"std": 16.0}, at=(200, 0)),
        "batches": Node("data.Batches", at=(400, 0)),
        "flatten": Node("nn.Flatten", at=(600, 0)),
        "small": Node("nn.Linear", {"out_features": 64}, at=(800, 0)),
        "block": Node("block.two", at=(1000, 0)),
        "relu": Node("nn.ReLU", at=(1200, 0)),
    }
    wires = (
        "digits.samples -> scale.samples",
        "scale.samples -> batches.samples",
        "batches.input -> flatten.input",
        "flatten.output -> small.input",
        "small.output -> block.input",
        "block.output -> relu.input",
    )
    definition = Block(inner, tuple(sorted(map(wire, inside))))
    return Document(nodes, tuple(sorted(map(wire, wires))), blocks={"two": definition})


def open_document(window: MainWindow, qtbot: QtBot) -> None:
    window.new_project()
    assert window.project is not None
    window.project.store.edit("Replace", lambda _: document())
    qtbot.waitUntil(lambda: window.project is not None and window.project.store.is_checked)


def test_memory_is_the_size_of_the_outputs() -> None:
    report = check(document(), catalogue())
    assert report.nodes["small"].memory == 64 * 4
    assert report.nodes["relu"].memory == 64 * 4
    assert report.nodes["block.a"].memory == 512 * 4
    assert report.nodes["block"].memory == (512 + 64) * 4
    assert report.memory == sum(info.memory for name, info in report.nodes.items() if "." not in name)


def test_levels_are_by_share_of_the_largest() -> None:
    assert heat_levels({"a": 100, "b": 1, "c": 0, "d": 25}) == {"a": HEAT_LEVELS, "b": 1, "d": round(HEAT_LEVELS / 2)}
    assert heat_levels({}) == {}


def test_the_menu_colors_nodes_and_shows_their_figures(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    open_document(window, qtbot)
    canvas = window.canvas
    assert canvas is not None and window.project is not None
    heat_map, nodes = window.project_views[window.project].heat_map, canvas.canvas_scene.nodes
    sizes = {name: item.box for name, item in nodes.items()}
    action = window.commands.action("view.color-parameters")
    action.trigger()
    assert action.isChecked() and heat_map.legend.isVisible()
    assert (nodes["block"].state.heat, nodes["relu"].state.heat) == (HEAT_LEVELS, 0)
    assert nodes["small"].content.line == "4,160 · 6%"
    assert {name: item.box for name, item in nodes.items()} == sizes
    window.commands.action("view.color-memory").trigger()
    assert not action.isChecked()
    assert nodes["relu"].state.heat != 0
    assert window.settings.heat_map == "memory"
    canvas.setFocus()
    canvas.store.select(["small"])
    QTest.keyClick(canvas, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: window.project is not None and window.project.store.is_checked)
    assert "small" not in nodes
    window.commands.action("view.color-memory").trigger()
    assert all(item.state.heat is None for item in nodes.values())
    assert not heat_map.legend.isVisible()


def test_inside_a_block_its_nodes_are_compared(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    open_document(window, qtbot)
    canvas = window.canvas
    assert canvas is not None
    window.commands.action("view.color-parameters").trigger()
    canvas.store.enter("block")
    nodes = canvas.canvas_scene.nodes
    assert {name: nodes[name].state.heat for name in ("a", "b", "input")} == {
        "a": HEAT_LEVELS,
        "b": HEAT_LEVELS,
        "input": 0,
    }
