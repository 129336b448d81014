"""Stepping through a training step with keys and the mouse in the window."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_grouping import group
from studio.document.files.project_templates import template
from studio.ui.panels.stepping.step_panel import StepPanel
from studio.ui.project.project import Project
from studio.ui.project.step_recordings import StepRecordings
from studio.ui.window.main_window import MainWindow

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def recordings(window: MainWindow, project: Project) -> StepRecordings:
    return window.project_views[project].step_recordings


@pytest.fixture
def panel(window: MainWindow, project: Project) -> StepPanel:
    return window.project_views[project].stepping


def press(window: MainWindow, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    assert window.canvas is not None
    QTest.keyClick(window.canvas, key, modifiers)


def record(qtbot: QtBot, window: MainWindow, recordings: StepRecordings) -> None:
    press(window, Qt.Key.Key_F10, CTRL)
    qtbot.waitUntil(lambda: recordings.state == "ready")


def test_keys_step_forward_and_back_through_all_nodes(
    qtbot: QtBot, window: MainWindow, project: Project, recordings: StepRecordings, panel: StepPanel
) -> None:
    record(qtbot, window, recordings)
    assert panel.isVisible() and recordings.recording is not None
    steps = recordings.recording.steps
    layer = window.project_views[project].step_layer
    shown = [layer.node]
    assert panel.title.text() == f"Step 1 of {len(steps)} · Forward · {steps[0].path}"
    assert panel.check.text() == "Initial weights, first batch · recomputed: difference 0"
    for _ in steps[1:]:
        press(window, Qt.Key.Key_F8)
        shown.append(layer.node)
        assert layer.isVisible() and panel.list.currentIndex().row() == recordings.index
    assert shown == [step.path for step in steps]
    assert [step.direction for step in steps] == sorted(
        [step.direction for step in steps], key=["forward", "backward", "update"].index
    )
    press(window, Qt.Key.Key_F8)
    assert recordings.index == len(steps) - 1
    assert panel.table.topLevelItem(1).text(0) == "Parameters after the update"
    press(window, Qt.Key.Key_F8, SHIFT)
    assert recordings.index == len(steps) - 2 and "Backward" in panel.title.text()


def test_marked_nodes_are_brought_into_view(
    qtbot: QtBot, window: MainWindow, project: Project, recordings: StepRecordings
) -> None:
    window.resize(1024, 700)
    record(qtbot, window, recordings)
    canvas, layer = window.canvas, window.project_views[project].step_layer
    assert canvas is not None and recordings.recording is not None
    canvas.camera.zoom_to(1.0, animated=False)
    for _ in recordings.recording.steps[1:]:
        press(window, Qt.Key.Key_F8)
        canvas.camera.finish()
        box = canvas.canvas_scene.nodes[layer.node].box
        assert canvas.camera.visible.contains(QRectF(box.left, box.top, box.width, box.height)), layer.node


def test_blocks_are_left_with_their_last_node(qtbot: QtBot, window: MainWindow) -> None:
    document, name = group(template("digits-mlp").document, ["hidden", "relu"], "features")
    project = window.open_projects.new(document, "blocks")
    recordings = window.project_views[project].step_recordings
    qtbot.waitUntil(lambda: project.store.is_checked)
    record(qtbot, window, recordings)
    recordings.show_node(f"{name}.hidden")
    assert project.scope.enter(name)
    layer = window.project_views[project].step_layer
    assert layer.node == "hidden"
    press(window, Qt.Key.Key_F8)
    assert (layer.node, project.scope.prefix) == ("relu", f"{name}.")
    while recordings.step is not None and recordings.step.path.startswith(f"{name}."):
        press(window, Qt.Key.Key_F8)
    assert project.scope.prefix == "" and recordings.step is not None and layer.node == recordings.step.path


def test_buttons_step_to_the_ends_and_no_further(
    qtbot: QtBot, window: MainWindow, recordings: StepRecordings, panel: StepPanel
) -> None:
    """At an end, the focus stays on the buttons, so that another press of Space runs nothing else."""
    record(qtbot, window, recordings)
    assert recordings.recording is not None
    last = len(recordings.recording.steps) - 1
    assert not panel.previous.isEnabled() and panel.next.isEnabled()
    qtbot.mouseClick(panel.next, Qt.MouseButton.LeftButton)
    assert recordings.index == 1 and panel.previous.isEnabled()
    panel.next.setFocus(Qt.FocusReason.TabFocusReason)
    while recordings.index < last:
        QTest.keyClick(panel.next, Qt.Key.Key_Space)
    assert not panel.next.isEnabled() and panel.previous.hasFocus()
    QTest.keyClick(panel.previous, Qt.Key.Key_Space)
    assert recordings.index == last - 1 and panel.next.isEnabled()


def test_values_are_shown_at_ports_in_the_table_and_as_elements(
    qtbot: QtBot, window: MainWindow, project: Project, recordings: StepRecordings, panel: StepPanel
) -> None:
    record(qtbot, window, recordings)
    project.scope.select(["hidden"])
    press(window, Qt.Key.Key_F8, CTRL)
    step = recordings.step
    assert step is not None and (step.path, step.direction) == ("hidden", "forward")
    layer = window.project_views[project].step_layer
    assert set(layer.labels()) == {("input", "input"), ("output", "output")}
    group = panel.table.topLevelItem(1)
    assert group.text(0) == "Outputs" and group.child(0).text(1).startswith("32×")
    assert panel.elements.toPlainText().startswith("output  32×")
    press(window, Qt.Key.Key_F8, CTRL)
    assert recordings.step is not None and recordings.step.direction == "backward"
    gradients = panel.table.topLevelItem(1)
    names = [gradients.child(row).text(0) for row in range(gradients.childCount())]
    assert "hidden.weight.grad" in names


def test_a_click_on_a_step_shows_it_and_a_double_click_selects_its_node(
    qtbot: QtBot, window: MainWindow, project: Project, recordings: StepRecordings, panel: StepPanel
) -> None:
    record(qtbot, window, recordings)
    place = panel.list.visualRect(panel.list.steps.index(2)).center()
    qtbot.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert recordings.index == 2
    panel.list.setFocus()
    QTest.keyClick(panel.list, Qt.Key.Key_Down)
    assert recordings.index == 3
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert recordings.recording is not None
    assert set(project.store.selection) == {recordings.recording.steps[3].path}


def test_nan_is_marked_and_found_with_keys(
    qtbot: QtBot, window: MainWindow, project: Project, recordings: StepRecordings, panel: StepPanel
) -> None:
    for name in ("hidden", "logits"):
        for param, value in (("weight_init", "normal"), ("init_std", 1e30)):
            change = partial(edits.set_param, name=name, param=param, value=value)
            project.store.edit(f"Set {name}.{param}", change)
    qtbot.waitUntil(lambda: project.store.is_checked)
    record(qtbot, window, recordings)
    press(window, Qt.Key.Key_F8, CTRL | SHIFT)
    step = recordings.step
    assert step is not None and step.path == "logits" and not step.is_finite
    assert "NaN or infinity" in panel.list.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)


def test_without_a_recording_the_panel_offers_one_and_keys_do_nothing(
    qtbot: QtBot, window: MainWindow, recordings: StepRecordings, panel: StepPanel
) -> None:
    press(window, Qt.Key.Key_F8)
    assert recordings.state == "empty" and not panel.isVisible()
    press(window, Qt.Key.Key_T, Qt.KeyboardModifier.AltModifier)
    assert panel.empty.isVisible() and panel.empty.button is not None
    qtbot.mouseClick(panel.empty.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: recordings.state == "ready")
    assert panel.table.isVisible()


def test_an_edit_marks_the_recording_as_outdated(
    qtbot: QtBot, window: MainWindow, project: Project, recordings: StepRecordings, panel: StepPanel
) -> None:
    record(qtbot, window, recordings)
    assert not panel.message.isVisible()
    project.store.edit("Widen", lambda document: edits.set_param(document, "hidden", "out_features", 48))
    qtbot.waitUntil(panel.message.isVisible)
    assert panel.message.text() == "The graph has changed since this step was recorded."
    again = next(each for each in panel.findChildren(QToolButton) if "again" in each.toolTip())
    qtbot.mouseClick(again, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: recordings.state == "ready" and not panel.message.isVisible())


def test_a_graph_with_errors_cannot_be_recorded(
    qtbot: QtBot, window: MainWindow, project: Project, recordings: StepRecordings, panel: StepPanel
) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 3))
    qtbot.waitUntil(lambda: project.store.is_checked)
    press(window, Qt.Key.Key_F10, CTRL)
    qtbot.waitUntil(lambda: recordings.state == "failed")
    assert panel.empty.isVisible() and recordings.problem


def test_the_next_step_of_a_paused_run_is_recorded(
    qtbot: QtBot, window: MainWindow, project: Project, recordings: StepRecordings
) -> None:
    press(window, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    record(qtbot, window, recordings)
    assert recordings.recording is not None and recordings.recording.step == 1
    assert project.runner.state == "paused"
