"""The Profiler panel, used with mouse and keys."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QToolTip
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files.project_templates import template
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training.profiling.profile_data import Profile, ProfileStage
from studio.training.profiling.profile_tree import TimeItem
from studio.training.profiling.training_profile import profile_project
from studio.ui.panels.profiler.flame_graph import FlameGraph
from studio.ui.panels.profiler.profiler_panel import ProfilerPanel
from studio.ui.project import profile_runner
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProfilerPanel:
    """The panel, opened with its key."""
    monkeypatch.setenv("GRADWIRE_STATE", str(tmp_path / "user"))
    window.canvas.setFocus()  # type: ignore[union-attr]
    QTest.keyClick(window, Qt.Key.Key_M, Qt.KeyboardModifier.AltModifier)
    found = window.project_views[project].profiler
    assert found.isVisible()
    return found


@pytest.fixture(scope="module")
def measured() -> Profile:
    """A profile that is measured once."""
    report = check(template("digits-mlp").document, catalogue())
    *_, found = profile_project(report, steps=4, name="digits")
    assert isinstance(found, Profile)
    return found


@pytest.fixture
def profiled(
    qtbot: QtBot, project: Project, panel: ProfilerPanel, measured: Profile, monkeypatch: pytest.MonkeyPatch
) -> ProfilerPanel:
    """The panel with a profile of 4 steps."""

    def again(*_: object, **options: object) -> Iterator[object]:
        assert options["steps"] == 4
        yield ProfileStage("preparing")
        yield measured

    monkeypatch.setattr(profile_runner, "profile_project", again)
    panel.header.steps.setValue(4)
    assert panel.empty.button is not None
    qtbot.mouseClick(panel.empty.button, LEFT)
    qtbot.waitUntil(lambda: project.profiler.state == "ready")
    assert project.profiler.profile is not None
    assert len(project.profiler.profile.steps) == 4
    return panel


def item(flame: FlameGraph, *, path: str, phase: str) -> TimeItem:
    assert flame.root is not None
    return next(one for one in flame.root.walk() if one.is_node and (one.path, one.phase) == (path, phase))


def point_of(flame: FlameGraph, found: TimeItem) -> QPoint:
    return flame.rect_of(found).center().toPoint()


def test_a_click_in_the_flame_graph_zooms_and_selects_the_node(
    qtbot: QtBot, project: Project, profiled: ProfilerPanel
) -> None:
    flame = profiled.flame
    hidden = item(flame, path="hidden", phase="forward")
    narrow = flame.rect_of(hidden).width()
    qtbot.mouseClick(flame, LEFT, pos=point_of(flame, hidden))
    assert project.store.selection == {"hidden"}
    assert flame.zoomed is hidden
    assert flame.rect_of(hidden).width() > narrow
    assert flame.rect_of(item(flame, path="logits", phase="forward")).isEmpty()
    qtbot.keyClick(flame, Qt.Key.Key_Down)
    assert flame.current in hidden.children
    assert "of hidden" in flame.accessibleDescription()
    qtbot.keyClick(flame, Qt.Key.Key_Up)
    qtbot.keyClick(flame, Qt.Key.Key_Right)
    assert flame.current is not None
    assert flame.current.parent is hidden.parent
    assert not flame.rect_of(flame.current).isEmpty(), "the graph zooms out to show it"
    qtbot.keyClick(flame, Qt.Key.Key_Return)
    assert flame.zoomed is flame.current
    qtbot.keyClick(flame, Qt.Key.Key_Escape)
    assert flame.zoomed is hidden.parent
    qtbot.keyClick(flame, Qt.Key.Key_Home)
    assert flame.zoomed is flame.root


def test_the_selection_of_the_canvas_is_highlighted(
    qtbot: QtBot, window: MainWindow, project: Project, profiled: ProfilerPanel
) -> None:
    before = profiled.flame.grab().toImage()
    project.store.select(["logits"])
    assert profiled.flame.grab().toImage() != before
    qtbot.mouseClick(profiled.header.views[1], LEFT)
    project.store.select(["hidden"])
    assert "hidden" in profiled.table.view.currentIndex().siblingAtColumn(5).data()
    assert project.store.selection == {"hidden"}


def test_details_are_shown_under_the_pointer(qtbot: QtBot, profiled: ProfilerPanel) -> None:
    flame = profiled.flame
    assert flame.root is not None
    kernel = max((one for one in flame.root.walk() if one.kernel is not None), key=lambda one: one.seconds)
    position = point_of(flame, kernel)
    help_event = QHelpEvent(QEvent.Type.ToolTip, position, flame.mapToGlobal(position))
    QApplication.sendEvent(flame, help_event)
    assert "floating-point operations" in QToolTip.text()
    assert "of the step" in QToolTip.text()


def test_the_table_is_sorted_filtered_and_copied(qtbot: QtBot, project: Project, profiled: ProfilerPanel) -> None:
    qtbot.mouseClick(profiled.header.views[1], LEFT)
    table = profiled.table
    assert table.isVisible()
    qtbot.keyClicks(table.filter, "backward hidden")
    shown = [table.view.model().index(row, 5).data() for row in range(table.view.model().rowCount())]
    assert shown
    assert all("hidden" in nodes for nodes in shown)
    index = table.view.model().index(0, 0)
    qtbot.mouseClick(table.view.viewport(), LEFT, pos=table.view.visualRect(index).center())
    assert project.store.selection <= {"hidden", "relu", "dropout"}
    qtbot.keyClick(table.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    header, *rows = QGuiApplication.clipboard().text().splitlines()
    assert header.startswith("Kernel\tTime\tShare")
    assert [row.split("\t")[0] for row in rows] == [index.data()]
    table.filter.clear()
    section = table.view.header().sectionViewportPosition(0) + 20
    qtbot.mouseClick(table.view.header().viewport(), LEFT, pos=QPoint(section, 8))
    names = [table.view.model().index(row, 0).data() for row in range(table.view.model().rowCount())]
    assert names in (sorted(names), sorted(names, reverse=True))
    qtbot.keyClicks(table.filter, "zzz")
    assert not table.view.isVisible()


def test_nodes_and_memory(qtbot: QtBot, project: Project, profiled: ProfilerPanel) -> None:
    qtbot.mouseClick(profiled.header.views[1], LEFT)
    profiled.table.kind.setFocus()
    qtbot.keyClick(profiled.table.kind, Qt.Key.Key_Down)
    assert profiled.table.kind.currentText() == "Nodes"
    model = profiled.table.view.model()
    assert {"hidden", "adam", "batches"} <= {model.index(row, 0).data() for row in range(model.rowCount())}
    qtbot.mouseClick(profiled.header.views[2], LEFT)
    memory = profiled.memory
    assert memory.isVisible()
    assert memory.rows[0].total == max(row.total for row in memory.rows)
    hidden = next(index for index, row in enumerate(memory.rows) if row.node == "hidden")
    qtbot.mouseClick(memory, LEFT, pos=memory.row_rect(hidden).center().toPoint())
    assert project.store.selection == {"hidden"}
    qtbot.keyClick(memory, Qt.Key.Key_Down)
    assert memory.current == min(hidden + 1, len(memory.rows) - 1)
    assert memory.rows[memory.current].node in memory.accessibleDescription()


def test_points_of_the_roofline_are_chosen(qtbot: QtBot, project: Project, profiled: ProfilerPanel) -> None:
    qtbot.mouseClick(profiled.header.views[3], LEFT)
    plot = profiled.roofline
    assert plot.isVisible()
    assert {name for point in plot.points for name in point.kernel.nodes} >= {"hidden", "logits"}
    point = next(one for one in plot.points if "hidden" in one.kernel.nodes)
    (spot,) = [one for one in plot._scatter.points() if one.data() is point]
    scene = plot.item.getViewBox().mapViewToScene(QPointF(spot.pos()))
    qtbot.mouseClick(plot.viewport(), LEFT, pos=plot.mapFromScene(scene))
    qtbot.waitUntil(lambda: plot.current is not None)
    assert project.store.selection
    first = plot.current
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    assert plot.current is not first or plot.points[-1] is first
    assert plot.current is not None
    assert plot.current.kernel.name in plot.accessibleDescription()
    before = profiled.limits.text()
    qtbot.mouseClick(profiled.measure, LEFT)
    qtbot.waitUntil(lambda: profiled._shown is not None and profiled._shown[1] is project.profiler.limits)
    assert before.split(":")[0].split(",")[0] in profiled.limits.text()


def test_exports(qtbot: QtBot, profiled: ProfilerPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = iter(["steps.trace.json", "table.csv", "profile", "missing/steps.json"])
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / next(chosen)), ""))
    actions = profiled.header.export.menu().actions()
    messages: list[str] = []
    profiled.status_message.connect(messages.append)
    for action in (*actions, actions[0]):
        action.trigger()
    assert any(event["ph"] == "X" for event in json.loads((tmp_path / "steps.trace.json").read_text())["traceEvents"])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text())))
    assert {"Kernel", "Time", "Bound by"} <= rows[0].keys()
    assert json.loads((tmp_path / "profile.json").read_text())["mode"] == "compiled"
    assert "Could not write" in messages[-1]


def test_a_run_is_profiled_while_it_trains(
    qtbot: QtBot, window: MainWindow, project: Project, panel: ProfilerPanel
) -> None:
    project.store.edit("Set", lambda document: edits.set_training(document, epochs=100_000))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.steps > 5)
    assert not panel.header.eager.isEnabled()
    panel.header.steps.setValue(3)
    QTest.keyClick(window, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: project.profiler.state == "ready")
    assert project.profiler.profile is not None
    assert project.profiler.profile.steps[0].number > 5, "the steps are those of the run"
    assert len(project.profiler.profile.steps) == 3
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: project.runner.state == "stopped")


def test_cancel_and_errors(qtbot: QtBot, window: MainWindow, project: Project, panel: ProfilerPanel) -> None:
    panel.header.steps.setValue(1000)
    panel.header.eager.setChecked(True)
    qtbot.mouseClick(panel.header.start, LEFT)
    assert panel.header.cancel.isVisible()
    qtbot.mouseClick(panel.header.cancel, LEFT)
    assert project.profiler.state == "empty"
    assert panel.empty.isVisible()
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: bool(project.store.check_report.errors))
    qtbot.mouseClick(panel.header.start, LEFT)
    assert panel.failed.isVisible()
    assert "logits" in project.profiler.problem


def test_a_profile_is_marked_as_older_after_an_edit(qtbot: QtBot, project: Project, profiled: ProfilerPanel) -> None:
    assert not profiled.stale.isVisible()
    project.store.edit("Set", lambda document: edits.set_param(document, "dropout", "p", 0.3))
    assert profiled.stale.isVisible()
    project.store.undo()
    assert not profiled.stale.isVisible()
