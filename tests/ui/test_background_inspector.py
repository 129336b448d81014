"""Problems of samples join the report of an open project in the background, and stay while the graph is edited."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document
from studio.ui.canvas.accessibility.accessible_node import node_text
from studio.ui.window.main_window import MainWindow
from tests.studio.training.test_data_inspector import with_missing_values


def opened(window: MainWindow, made: Document, qtbot: QtBot):
    project = window.open_projects.new(made)
    qtbot.waitUntil(lambda: "missing" in codes(project), timeout=10_000)
    return project


def codes(project) -> list[str]:
    return [problem.code for problem in project.store.report.problems]


def test_problems_of_samples_join_the_report_without_flicker(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    project = opened(window, with_missing_values(tmp_path), qtbot)
    view = window.project_views[project]
    inspector = view.data_inspector.inspector
    assert inspector.readings == 1
    assert "1 problem" in node_text(project.scope, view.canvas.canvas_scene, "arrays")
    seen: list[list[str]] = []
    project.store.report_changed.connect(lambda report: seen.append([each.code for each in report.problems]))
    for rate in (0.02, 0.03):
        project.store.edit("Set lr", lambda document, rate=rate: edits.set_param(document, "adam", "lr", rate))
        with qtbot.waitSignal(view.data_inspector.finished, timeout=10_000):
            pass
    assert seen and all("missing" in found for found in seen)
    assert inspector.readings == 1, "an edit elsewhere reads no samples"


def test_a_fix_in_the_problems_panel_removes_the_problem(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    project = opened(window, with_missing_values(tmp_path), qtbot)
    window.commands.run("view.problems")
    panel = window.project_views[project].problems
    qtbot.waitUntil(lambda: any(row.isVisible() for row in panel.rows))
    [row] = panel.rows
    QTest.mouseClick(row.button, Qt.MouseButton.LeftButton)
    assert any(node.type == "transforms.FillMissing" for node in project.store.document.nodes.values())
    qtbot.waitUntil(lambda: "missing" not in codes(project), timeout=10_000)
    project.store.undo()
    qtbot.waitUntil(lambda: "missing" in codes(project), timeout=10_000)
