"""Breakpoints with real keys: set on a node, hit by a run, continued."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Document, Node
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.studio.lowering.graphs import digits


def network() -> Document:
    """A layer norm before a logarithm: its first loss is NaN."""
    document = digits(
        {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 8}, (0.0, 200.0)),
            "norm": Node("nn.LayerNorm", {}, (200.0, 200.0)),
            "log1": Node("ops.log", {}, (400.0, 200.0)),
            "logits": Node("nn.Linear", {"out_features": 10}, (600.0, 200.0)),
        }
    )
    return edits.set_training(document, epochs=1, compile=False)


@pytest.fixture
def project(window: MainWindow, qtbot: QtBot) -> Project:
    project = window.open_projects.from_template(replace(template("digits-mlp"), document=network()))
    qtbot.waitUntil(lambda: project.store.is_checked)
    return project


def press(window: MainWindow, key: Any, modifier: Any = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(window.windowHandle(), key, modifier)


def test_a_breakpoint_is_set_hit_and_continued_by_keys(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    view = window.project_views[project]
    assert window.canvas is not None
    window.canvas.setFocus()
    project.scope.select(["log1"])
    press(window, Qt.Key.Key_F9)
    assert project.store.document.breakpoints == {"NaN in log1": True}
    assert view.canvas.canvas_scene.nodes["log1"].content.breakpoint == "enabled"
    assert view.canvas.canvas_scene.nodes["norm"].content.breakpoint == ""
    press(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: project.runner.hit is not None and project.runner.state == "paused")
    bar = view.hit_bar
    assert bar.isVisible()
    assert not bar.geometry().intersects(view.canvas.viewport().geometry()), "no node is behind it"
    assert bar.message.text() == ("Paused at step 1: NaN or infinity arose in log1. NaN arose first in log1 (forward).")
    assert bar.detail.text().startswith("log(")
    assert bar.folder_button.isVisible()
    project.scope.select([])
    qtbot.mouseClick(bar.show_button, Qt.MouseButton.LeftButton)
    assert project.store.selection == {"log1"}
    assert any("NaN arose first in log1 (forward)." in problem.message for problem in project.store.report.problems)
    recordings = view.step_recordings
    qtbot.mouseClick(bar.step_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: recordings.state == "ready")
    assert recordings.recording is not None and recordings.recording.step == 0, "the step before it is undone"
    press(window, Qt.Key.Key_F8, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert recordings.step is not None and (recordings.step.path, recordings.step.direction) == ("log1", "forward")
    qtbot.mouseClick(bar.continue_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: project.runner.hit is None)
    assert not bar.isVisible() and view.canvas.viewportMargins().top() == 0
    press(window, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: project.runner.state in ("stopped", "done"))


def test_f9_again_removes_it_and_undo_restores_it(window: MainWindow, project: Project) -> None:
    assert window.canvas is not None
    window.canvas.setFocus()
    project.scope.select(["log1"])
    press(window, Qt.Key.Key_F9)
    press(window, Qt.Key.Key_F9)
    assert project.store.document.breakpoints == {}
    press(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert project.store.document.breakpoints == {"NaN in log1": True}


def test_the_panel_adds_changes_disables_and_removes(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    panel = window.project_views[project].breakpoints
    assert window.canvas is not None
    window.canvas.setFocus()
    press(window, Qt.Key.Key_K, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(panel.field.hasFocus)
    QTest.keyClicks(panel.field, "norm(hiden) > 2")
    press(window, Qt.Key.Key_Return)
    assert panel.problem.text() == "There is no node hiden. Did you mean hidden?"
    assert project.store.document.breakpoints == {}
    project.scope.select(["hidden"])
    window.canvas.setFocus()
    press(window, Qt.Key.Key_F9, Qt.KeyboardModifier.ControlModifier)
    assert panel.field.hasFocus() and panel.field.text() == "grad_norm(hidden) > 100"
    QTest.keyClicks(panel.field, "los > 2")
    press(window, Qt.Key.Key_Return)
    assert "Did you mean loss?" in panel.problem.text() and panel.problem.isVisible()
    QTest.keyClick(panel.field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(panel.field, "loss > 2")
    assert not panel.problem.isVisible()
    press(window, Qt.Key.Key_Return)
    assert project.store.document.breakpoints == {"loss > 2": True}
    panel.list.setFocus()
    panel.list.setCurrentRow(0)
    QTest.keyClick(panel.list, Qt.Key.Key_Space)
    assert project.store.document.breakpoints == {"loss > 2": False}
    QTest.keyClick(panel.list, Qt.Key.Key_Delete)
    assert project.store.document.breakpoints == {}


def test_breakpoints_apply_to_a_run_that_is_paused(window: MainWindow, qtbot: QtBot) -> None:
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert window.canvas is not None
    window.canvas.setFocus()
    press(window, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    panel = window.project_views[project].breakpoints
    window.docks["breakpoints"].reveal()
    panel.field.setFocus()
    QTest.keyClicks(panel.field, "step == 3")
    press(window, Qt.Key.Key_Return)
    press(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: project.runner.hit is not None and project.runner.state == "paused")
    assert project.runner.steps == 2
    item = panel.list.item(0)
    assert item.font().bold() and item.toolTip() == "Paused here: step is 3, equal to 3"
    runs = window.project_views[project].runs
    window.docks["runs"].reveal()
    qtbot.waitUntil(lambda: bool(runs.plots["loss"].hits.marks))
    [mark] = runs.plots["loss"].hits.marks
    assert mark.title == "Breakpoint of Run 1 at step 3: step is 3, equal to 3"
    press(window, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: project.runner.state == "stopped")
    assert project.runner.hit is None
