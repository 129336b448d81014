"""Colors of nodes and wires by a figure: levels, texts, legend, instances of blocks, times."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.files import project_files
from studio.document.model import Block, Document, Node
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training.statistics.color_scale import LEVELS, NO_FIGURE, Shade
from studio.ui import number_format
from studio.ui.widgets.labels import ElidedLabel
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.conftest import wire
from tests.ui.conftest import MakeWindow

WIRES = (
    "digits.samples -> scale.samples",
    "scale.samples -> batches.samples",
    "batches.input -> flatten.input",
    "flatten.output -> small.input",
    "small.output -> block.input",
    "block.output -> relu.input",
)


def document() -> Document:
    """A small layer, a block with two large layers, and a ReLU."""
    inner = {
        "input": Node(block_nodes.INPUT),
        "a": Node("nn.Linear", {"out_features": 512}, at=(200, 0)),
        "b": Node("nn.Linear", {"out_features": 64}, at=(400, 0)),
        "output": Node(block_nodes.OUTPUT, at=(600, 0)),
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
    definition = Block(inner, tuple(sorted(map(wire, inside))))
    return Document(nodes, tuple(sorted(map(wire, WIRES))), blocks={"two": definition})


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


def test_the_menu_colors_nodes_and_shows_their_figures(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    open_document(window, qtbot)
    canvas = window.canvas
    assert canvas is not None and window.project is not None
    colors, nodes = window.project_views[window.project].color_by, canvas.canvas_scene.nodes
    sizes = {name: item.box for name, item in nodes.items()}
    action = window.commands.action("view.color-parameters")
    action.trigger()
    assert action.isChecked() and colors.legend.close_button.isVisible()
    assert (nodes["block"].state.shade, nodes["relu"].state.shade) == (Shade("amount", LEVELS), NO_FIGURE)
    assert canvas.canvas_scene.wires[wire("flatten.output -> small.input")].shade is None, "wires have no parameters"
    assert colors.legend.none.isVisible()
    assert nodes["small"].content.line == "4,160 · 6%"
    assert {name: item.box for name, item in nodes.items()} == sizes
    window.commands.action("view.color-memory").trigger()
    assert not action.isChecked()
    assert nodes["relu"].state.shade != NO_FIGURE
    sizes = {text: canvas.canvas_scene.wires[wire(text)].shade for text in WIRES}
    assert sizes[WIRES[-1]] == sizes[WIRES[-2]] != NO_FIGURE, "both tensors have 64 values"
    assert window.settings.color_by_of(None) == "memory"
    canvas.setFocus()
    canvas.store.select(["small"])
    QTest.keyClick(canvas, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: window.project is not None and window.project.store.is_checked)
    assert "small" not in nodes
    window.commands.action("view.color-memory").trigger()
    assert all(item.state.shade is None for item in nodes.values())
    assert all(item.shade is None for item in canvas.canvas_scene.wires.values())
    assert legend_texts(window) == [] and colors.legend.isVisible(), "the list of figures stays"


def test_inside_a_block_its_nodes_are_compared(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    open_document(window, qtbot)
    canvas = window.canvas
    assert canvas is not None
    window.commands.action("view.color-parameters").trigger()
    canvas.store.enter("block")
    nodes = canvas.canvas_scene.nodes
    shades = [nodes[name].state.shade for name in ("a", "b", "input")]
    assert shades == [Shade("amount", LEVELS), Shade("amount", LEVELS), NO_FIGURE]


def legend_texts(window: MainWindow) -> list[str]:
    assert window.project is not None
    legend = window.project_views[window.project].color_by.legend
    texts = (*legend.findChildren(QLabel), *legend.findChildren(ElidedLabel))
    return [each.text() for each in texts if each.isVisible()]


def test_time_is_measured_in_the_background_for_nodes_blocks_and_total(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    open_document(window, qtbot)
    canvas, project = window.canvas, window.project
    assert canvas is not None and project is not None
    view = window.project_views[project]
    measurer, legend, nodes = view.time_measurer, view.color_by.legend, canvas.canvas_scene.nodes
    view.color_by.show_figure("time")
    assert (legend.chooser.text(), legend_texts(window)) == ("Time", ["Not measured yet"])
    QTest.mouseClick(legend.action, Qt.MouseButton.LeftButton)
    assert not legend.action.isEnabled() and legend_texts(window)[0].startswith("Measuring, ")
    assert legend.source.width() >= legend.source.sizeHint().width()
    qtbot.waitUntil(lambda: measurer.state == "ready")
    times = measurer.times
    assert times is not None and legend.action.isEnabled()
    inner = (times.times["block.a"], times.times["block.b"])
    assert times.times["block"].total == pytest.approx(sum(each.total for each in inner))
    assert all(each.forward > 0 and each.backward > 0 for each in inner)
    assert times.times["flatten"].backward == 0, "no parameters before it"
    assert nodes["small"].content.line.endswith("%") and nodes["block"].state.shade == Shade("amount", LEVELS)
    total = sum(times.times[name].total for name in ("flatten", "small", "block", "relu"))
    assert legend_texts(window)[-1] == f"Total {number_format.milliseconds(total)}"
    canvas.store.enter("block")
    assert nodes["a"].content.line.endswith("%")
    canvas.store.leave()
    project.store.edit("Widen", lambda d: edits.set_param(d, "small", "out_features", 65))
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert legend_texts(window)[-1].endswith(", before the last edit")
    window.commands.run("view.measure-time")
    view.color_by.show_figure("")
    assert measurer.state == "empty", "hiding the colors cancels"


def test_why_time_cannot_be_measured(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    open_document(window, qtbot)
    assert window.project is not None
    store = window.project.store
    store.edit("Break", lambda d: edits.set_param(d, "small", "in_features", 3))
    qtbot.waitUntil(lambda: store.is_checked)
    window.commands.run("view.color-time")
    qtbot.waitUntil(lambda: "small has a problem: " in legend_texts(window)[0])
    assert not legend_texts(window)[0].endswith("..")
    window.resize(1024, 700)
    legend, viewport = window.project_views[window.project].color_by.legend, window.canvas
    assert viewport is not None
    qtbot.waitUntil(lambda: legend.geometry().right() < viewport.viewport().width())
    assert legend.rect().contains(legend.action.geometry())


def test_each_project_remembers_its_figure(make_window: MakeWindow, qtbot: QtBot, tmp_path: Path) -> None:
    window = make_window()
    paths = [tmp_path / f"{name}.gradwire" for name in "ab"]
    for path in paths:
        project_files.save(document(), path)
    for path, command in zip(paths, ("view.color-macs", "view.color-parameters"), strict=True):
        project = window.files.open(path)
        assert project is not None
        qtbot.waitUntil(lambda project=project: project.store.is_checked)
        if not window.commands.action(command).isChecked():
            window.commands.action(command).trigger()
    for path, key in zip(paths, ("macs", "parameters"), strict=True):
        assert window.settings.color_by_of(path) == key
    again = window.files.open(paths[0])
    assert again is not None and window.project_views[again].color_by.key == "macs"


def test_the_legend_stays_in_its_corner_when_the_canvas_pans(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window()
    open_document(window, qtbot)
    canvas = window.canvas
    assert canvas is not None and window.project is not None
    legend = window.project_views[window.project].color_by.legend
    qtbot.waitUntil(lambda: legend.geometry().bottom() > canvas.viewport().height() - 30)
    before = legend.geometry()
    canvas.camera.pan(130, 70)
    assert legend.geometry() == before
