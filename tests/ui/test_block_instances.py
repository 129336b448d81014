"""Instances of blocks in the window: canvas, inspector, problems, training."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_edits import edit_block, promote
from studio.document.blocks.block_grouping import group
from studio.document.blocks.block_locations import Step
from studio.document.model import Document, ParamRef
from studio.ui.palette import PalettePanel
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.test_fields import CTRL, SHIFT, WindowUser, rows


def with_block(document: Document) -> Document:
    document, _ = group(document, ["hidden", "relu", "dropout"], "dense")
    document = promote(document, "dense", ParamRef("hidden", "out_features"), "width")
    return edits.set_param(document, "dense", "repeat", 3)


@pytest.fixture
def blocked(qtbot: QtBot, window: MainWindow, project: Project) -> Project:
    """The digits template with three of its nodes in a repeated block."""
    project.store.edit("Group", with_block)
    qtbot.waitUntil(lambda: project.store.is_checked)
    project.store.select(["dense"])
    return project


def test_an_instance_has_ports_and_sums(window: MainWindow, blocked: Project) -> None:
    assert not blocked.store.report.problems
    content = window.project_views[blocked].canvas.canvas_scene.nodes["dense"].content
    assert [port.name for port in (*content.inputs, *content.outputs)] == ["input", "output"]
    assert content.summary == "3 × 3 nodes · 148,224 parameters"
    assert blocked.store.report.nodes["dense"].parameters == 64 * 256 + 256 + 2 * (256 * 256 + 256)


def test_a_renamed_port_of_the_block_is_renamed_at_the_instance(window: MainWindow, blocked: Project) -> None:
    def rename(document: Document) -> Document:
        return edit_block(document, "dense", lambda view: edits.rename(view, "input", "features"))

    blocked.store.edit("Rename", rename)
    scene = window.project_views[blocked].canvas.canvas_scene
    assert [port.name for port in scene.nodes["dense"].content.inputs] == ["features"]
    assert "flatten.output -> dense.features" in map(str, scene.wires)
    blocked.store.undo()
    assert [port.name for port in scene.nodes["dense"].content.inputs] == ["input"]


def test_values_per_copy_are_typed_with_bars(qtbot: QtBot, window: MainWindow, blocked: Project) -> None:
    user = WindowUser(window, qtbot)
    row = rows(window, blocked)["width"]
    user.enter(row.field.editor)
    user.type("64 | 32 | 16")
    user.key(Qt.Key.Key_Tab)
    assert blocked.store.document.nodes["dense"].params["width"] == {"each": [64, 32, 16]}
    assert row.field.text() == "64 | 32 | 16" and not row._problem.isVisible()
    qtbot.waitUntil(lambda: blocked.store.is_checked)
    assert blocked.store.report.nodes["dense.2.hidden"].arguments["out_features"] == 16
    user.enter(row.field.editor)
    user.type("64 | x")
    assert "must be a whole number, not 'x'" in row.draft_problem()


def test_a_problem_inside_leads_into_the_block(qtbot: QtBot, window: MainWindow, blocked: Project) -> None:
    def widen(document: Document) -> Document:
        return edit_block(document, "dense", lambda view: edits.set_param(view, "hidden", "in_features", 100))

    blocked.store.edit("Widen", widen)
    qtbot.waitUntil(lambda: blocked.store.is_checked and bool(blocked.store.report.errors))
    view = window.project_views[blocked]
    assert view.canvas.canvas_scene.nodes["dense"].content.error
    blocked.store.select([])
    window.docks["problems"].reveal()
    qtbot.waitUntil(lambda: bool(view.problems.rows) and view.problems.rows[0].isVisible())
    row = view.problems.rows[0]
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    assert blocked.store.selection == {"dense.0.hidden"}  # the canvas shows the inside of the block
    assert blocked.scope.block == "dense" and blocked.scope.selection == {"hidden"}
    qtbot.mouseClick(row.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: blocked.store.is_checked and not blocked.store.report.errors)


def test_a_project_with_blocks_trains_in_the_window(qtbot: QtBot, window: MainWindow, blocked: Project) -> None:
    WindowUser(window, qtbot).key(Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: blocked.runner.state == "paused" and blocked.runner.steps == 1)
    blocked.runner.stop()
    qtbot.waitUntil(lambda: not blocked.runner.is_active)


def test_the_command_palette_goes_to_a_node_inside_a_block(qtbot: QtBot, window: MainWindow, blocked: Project) -> None:
    user = WindowUser(window, qtbot)
    user.key(Qt.Key.Key_P, CTRL | SHIFT)
    QTest.keyClicks(QApplication.focusWidget(), "dense.0.relu")
    user.key(Qt.Key.Key_Return)
    assert blocked.scope.location == (Step("dense"),) and blocked.scope.selection == {"relu"}


def test_the_palette_lists_the_blocks_of_the_project(window: MainWindow, blocked: Project) -> None:
    palette = window.project_views[blocked].panels["palette"]
    assert isinstance(palette, PalettePanel)
    assert "dense" in [leaf.data() for leaf in palette.model.leaves()]
    blocked.store.undo()
    assert "dense" not in [leaf.data() for leaf in palette.model.leaves()]


def test_code_of_a_block_is_marked_for_each_copy(qtbot: QtBot, window: MainWindow, blocked: Project) -> None:
    code = window.project_views[blocked].code
    window.docks["code"].reveal()
    qtbot.waitUntil(lambda: code.program is not None and "dense" in code.program.source)
    blocked.store.select(["dense.2.hidden"])
    assert code.program is not None
    lines = [line for line, node in code.program.lines.items() if node == "dense.hidden"]
    assert lines and code.editor.marked == frozenset(lines)


def test_compiled_regions_are_shown_inside_a_block(qtbot: QtBot, window: MainWindow, blocked: Project) -> None:
    view = window.project_views[blocked]
    WindowUser(window, qtbot).key(Qt.Key.Key_R, CTRL | Qt.KeyboardModifier.ShiftModifier)
    blocked.explainer.explain()
    qtbot.waitUntil(lambda: blocked.explainer.explanation is not None, timeout=60_000)
    outside = {name for region in blocked.explainer.map_of(blocked.scope).regions for name in region.nodes}
    assert "dense" in outside
    blocked.scope.reveal("dense.2.hidden")
    inside = {name for region in blocked.explainer.map_of(blocked.scope).regions for name in region.nodes}
    assert {"hidden", "relu"} <= inside and not {"dense", "flatten"} & inside
    assert view.overlay.regions.isVisible()
