"""Comparison on the canvas: marks, ghosts, the list, blocks, keys, and its end."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_edits import edit_block
from studio.document.files import project_files
from studio.document.model import Node
from studio.ui import dialogs
from studio.ui.canvas.comparison.canvas_comparison import CanvasComparison
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.test_color_by import document
from tests.ui.conftest import MakeWindow


@pytest.fixture
def window(make_window: MakeWindow, qtbot: QtBot, tmp_path: Path) -> MainWindow:
    path = tmp_path / "one.gradwire"
    project_files.save(document(), path)
    window = make_window()
    project = window.files.open(path)
    assert project is not None
    qtbot.waitUntil(lambda: project.store.is_checked)
    return window


def comparison_of(window: MainWindow) -> CanvasComparison:
    assert window.project is not None
    return window.project_views[window.project].comparison


def edit(window: MainWindow) -> None:
    """Change one node, remove one, add one, and change a node inside the block."""
    assert window.project is not None
    store = window.project.store
    store.edit("Change", lambda d: edits.set_param(d, "small", "out_features", 65))
    store.edit("Remove", lambda d: edits.remove(d, ["relu"]))
    store.edit("Add", lambda d: edits.add(d, "tanh", Node("nn.Tanh", at=(1400, 0))))
    store.edit("Block", lambda d: edit_block(d, "two", lambda g: edits.set_param(g, "a", "out_features", 100)))


def texts(comparison: CanvasComparison) -> list[str]:
    rows = [comparison.list.list.item(row).text() for row in range(comparison.list.list.count())]
    return [text.partition("\n")[0].replace("\N{NO-BREAK SPACE}", " ") for text in rows]


def test_differences_from_the_saved_version_are_listed_and_marked(window: MainWindow) -> None:
    comparison = comparison_of(window)
    edit(window)
    window.commands.run("file.compare-saved")
    assert comparison.is_active and comparison.list.isVisible() and comparison.layer.isVisible()
    assert texts(comparison) == [
        "~ small: changed",
        "− relu: removed",
        "+ tanh: added",
        "~ block: block changed",
        "~ two/a: changed",
    ]
    boxes = {change.node: comparison.layer.box(change) for change in comparison.comparison.within("")}
    assert boxes["relu"] is not None and (boxes["relu"].left, boxes["relu"].top) == (1200, 0)
    assert window.canvas is not None and not window.canvas.viewport().grab().isNull()
    window.project.store.undo() if window.project else None
    assert "~ two/a: changed" not in texts(comparison)


def test_all_rows_of_few_differences_are_visible(window: MainWindow, qtbot: QtBot) -> None:
    comparison = comparison_of(window)
    assert window.project is not None
    store = window.project.store
    for name in ("out_features", "in_features"):
        store.edit("Change", partial(edits.set_param, name="small", param=name, value=65))
    store.edit("Remove", lambda d: edits.remove(d, ["relu"]))
    window.commands.run("file.compare-saved")
    rows = comparison.list.list
    assert rows.count() > 1
    qtbot.waitUntil(lambda: rows.verticalScrollBar().maximum() == 0)


def test_removed_wire_is_painted_under_the_nodes(window: MainWindow) -> None:
    comparison = comparison_of(window)
    edit(window)
    window.commands.run("file.compare-saved")
    assert window.canvas is not None and comparison.layer.wires.isVisible()
    nodes = window.canvas.canvas_scene.nodes.values()
    assert all(comparison.layer.wires.zValue() < node.zValue() < comparison.layer.zValue() for node in nodes)
    comparison.end()
    assert not comparison.layer.wires.isVisible()


def test_keys_go_through_the_differences_and_escape_ends(window: MainWindow) -> None:
    comparison, canvas = comparison_of(window), window.canvas
    assert canvas is not None
    edit(window)
    window.commands.run("file.compare-saved")
    assert canvas.store.selection == {"small"}
    QTest.keyClick(comparison.list.list, Qt.Key.Key_Down)
    QTest.keyClick(comparison.list.list, Qt.Key.Key_Up)
    assert canvas.store.selection == {"small"}
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_F7)
    assert canvas.store.selection == frozenset()  # the removed node
    for _ in range(3):
        QTest.keyClick(canvas, Qt.Key.Key_F7)
    assert (canvas.store.block, canvas.store.selection) == ("two", {"a"})
    QTest.keyClick(canvas, Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    assert (canvas.store.block, canvas.store.selection) == ("", {"block"})
    QTest.keyClick(comparison.list.list, Qt.Key.Key_Escape)
    assert not comparison.is_active and not comparison.list.isVisible() and not comparison.layer.isVisible()
    assert not window.commands.action("file.next-difference").isEnabled()


def test_escape_on_the_canvas_ends_without_a_selection(window: MainWindow) -> None:
    edit(window)
    window.commands.run("file.compare-saved")
    assert window.canvas is not None
    window.canvas.setFocus()
    window.canvas.store.select(())
    QTest.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert not comparison_of(window).is_active


def test_another_project(window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.gradwire"
    project_files.save(edits.set_training(edits.rename(document(), "small", "first"), epochs=3), other)
    monkeypatch.setattr(dialogs, "path_to_compare", lambda *_: other)
    window.commands.run("file.compare")
    assert texts(comparison_of(window)) == ["~ small, formerly first: renamed", "Training: epochs: 3 → 10"]
    assert comparison_of(window).list.title.text().startswith("Compared with other: 2 differences")


def test_equal_versions(window: MainWindow) -> None:
    window.commands.run("file.compare-saved")
    assert texts(comparison_of(window)) == ["No differences. Positions are not compared."]


def hover(window: MainWindow, x: float, y: float) -> None:
    """Rest the pointer at a scene position until its tooltip is due."""
    canvas = window.canvas
    assert canvas is not None
    QToolTip.hideText()
    canvas.camera.center_on(QPointF(x, y), animated=False)
    at = canvas.camera.to_view(QPointF(x, y)).toPoint()
    QTest.mouseMove(canvas.viewport(), at - QPoint(2, 0))
    QTest.mouseMove(canvas.viewport(), at)


def test_the_tooltip_of_a_compared_node_has_old_and_new_values(window: MainWindow, qtbot: QtBot) -> None:
    edit(window)
    assert window.canvas is not None and window.project is not None
    window.project.store.edit("Bias", lambda d: edits.set_param(d, "small", "bias", False))
    window.commands.run("file.compare-saved")
    window.canvas.store.select(())
    boxes = {
        change.node: comparison_of(window).layer.box(change) for change in comparison_of(window).comparison.changes
    }
    for name, texts in {
        "small": [
            "<b>Changed</b>",
            "out_features: <code>64</code> → <code>65</code>",
            "bias: <code>on (default)</code> → <code>off</code>",
        ],
        "tanh": ["<b>Added</b>"],
        "block": ["<b>Changed inside the block</b>"],
        "relu": ["<b>relu</b> · ReLU · removed"],
    }.items():
        box = boxes[name]
        assert box is not None
        hover(window, box.left + 30, box.top + 12)
        qtbot.waitUntil(lambda texts=texts: all(text in QToolTip.text() for text in texts))
    comparison_of(window).end()
    hover(window, *window.canvas.canvas_scene.nodes["small"].box.center)
    qtbot.waitUntil(lambda: "small" in QToolTip.text())
    assert "Changed" not in QToolTip.text()
