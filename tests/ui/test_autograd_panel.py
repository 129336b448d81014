"""Autograd panel: linking, folding, stepping, search, large graphs, and the steps that it shows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

import engine
from studio.cli.command_line import main
from studio.document import edits
from studio.document.files import project_files
from studio.document.files.project_templates import template
from studio.lowering import check, lower
from studio.nodes import catalogue
from studio.training import training_session
from studio.training.autograd import graph_arrangement
from studio.training.autograd.autograd_snapshot import capture_autograd
from studio.training.autograd.graph_arrangement import GraphArranger
from studio.training.autograd.graph_outline import Key
from studio.ui.panels.autograd import snapshot_refresher
from studio.ui.panels.autograd.autograd_panel import AutogradPanel
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.studio.training.autograd.graphs import deep_snapshot
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard

LEFT = Qt.MouseButton.LeftButton
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def transformer(qtbot: QtBot, window: MainWindow) -> Project:
    """A project with a block of four copies, and the Autograd panel with one step of it."""
    project = window.open_projects.from_template(template("digits-vit"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.look")
    panel = window.project_views[project].autograd
    qtbot.waitUntil(lambda: panel.shown is not None)
    window.resizeDocks([window.docks["autograd"]], [420], Qt.Orientation.Vertical)
    return project


@pytest.fixture
def small(qtbot: QtBot, window: MainWindow) -> Project:
    """A small project with the Autograd panel in front."""
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.docks["autograd"].reveal()
    window.resizeDocks([window.docks["autograd"]], [420], Qt.Orientation.Vertical)
    return project


@pytest.fixture
def panel(qtbot: QtBot, window: MainWindow, small: Project) -> AutogradPanel:
    """The panel with a graph of four equal copies of a block."""
    panel = window.project_views[small].autograd
    panel.show_snapshot(deep_snapshot(4, 2))
    qtbot.waitUntil(lambda: panel.shown is not None)
    return panel


@pytest.fixture
def laid_out(qtbot: QtBot, window: MainWindow) -> Callable[[], None]:
    """Wait until the layout has arrived."""

    def wait() -> None:
        assert window.project is not None
        panel = window.project_views[window.project].autograd
        qtbot.waitUntil(lambda: not panel._layouter.is_busy)
        QApplication.processEvents()

    return wait


def click(panel: AutogradPanel, key: Key, dx: float = 0) -> None:
    panel.view.reveal([key])
    position = (panel.view.position_of(key) + QPointF(dx, 0)).toPoint()
    QTest.mouseClick(panel.view.viewport(), LEFT, pos=position)


def leaves(panel: AutogradPanel) -> set[str]:
    """Parameters among the highlighted nodes."""
    assert panel.shown is not None
    nodes = panel.shown.snapshot.graph.nodes
    return {nodes[key].leaf or "" for key in panel.view.painter.highlights.marked if isinstance(key, int)} - {""}


def node_of(panel: AutogradPanel, leaf: str) -> int:
    assert panel.shown is not None
    return next(node.id for node in panel.shown.snapshot.graph.nodes if node.leaf == leaf)


# -- linking -------------------------------------------------------------------------------------


def test_a_layer_in_a_copy_of_a_block_highlights_its_nodes(
    window: MainWindow, transformer: Project, laid_out: Callable[[], None]
) -> None:
    panel = window.project_views[transformer].autograd
    assert panel.shown is not None and "encoder" not in panel.shown.expanded
    transformer.scope.enter("encoder")
    transformer.scope.show_copy(2)
    QApplication.processEvents()
    assert window.canvas is not None
    canvas = MouseAndKeyboard(window.canvas)
    QTest.mouseClick(window.canvas.viewport(), LEFT, pos=canvas.node("norm1"))
    assert transformer.store.selection == {"encoder.2.norm1"}
    laid_out()
    assert leaves(panel) == {"encoder.2.norm1.weight", "encoder.2.norm1.bias"}
    assert panel.shown.expanded >= {"encoder", "encoder.2", "encoder.2.norm1"}
    box = panel.shown.drawing.box_of("encoder.2.norm1")
    assert box is not None
    assert panel.view.camera.visible.contains(QPointF((box[0] + box[2]) / 2, (box[1] + box[3]) / 2))
    text = panel.details.toPlainText()
    assert "Saved tensors" in text and "weight" in text and "norm" in text


def test_a_click_on_a_node_takes_the_canvas_to_its_instance(
    window: MainWindow, transformer: Project, laid_out: Callable[[], None]
) -> None:
    panel = window.project_views[transformer].autograd
    leaf = node_of(panel, "encoder.3.norm2.bias")
    panel.go_to(leaf)
    laid_out()
    transformer.scope.go(())
    assert not transformer.scope.location
    click(panel, leaf)
    assert panel.shown is not None
    owner = panel.shown.snapshot.nodes[leaf]
    assert owner.startswith("encoder.3.")
    assert transformer.store.selection == {owner}
    assert tuple(transformer.scope.location[0]) == ("encoder", 3)
    assert transformer.scope.selection == {owner.rpartition(".")[2]}


def test_links_in_the_details_lead_to_nodes(panel: AutogradPanel, laid_out: Callable[[], None]) -> None:
    click(panel, 0)
    assert panel.shown is not None
    receiver = next(edge.target for edge in panel.shown.snapshot.graph.edges if edge.source == 0)
    assert f'href="node:{receiver}"' in panel.details.toHtml()
    panel.details.setFocus()
    QTest.keyClick(panel.details, Qt.Key.Key_Tab)  # to the first link, of the canvas node
    QTest.keyClick(panel.details, Qt.Key.Key_Tab)
    QTest.keyClick(panel.details, Qt.Key.Key_Return)
    laid_out()
    assert panel.view.painter.highlights.selected == receiver


# -- folding --------------------------------------------------------------------------------------


def test_groups_fold_and_unfold_by_mouse_and_keys(panel: AutogradPanel, laid_out: Callable[[], None]) -> None:
    view = panel.view
    assert panel.shown is not None
    assert panel.shown.outline.groups["encoder"].title == "encoder ×4"
    count = len(panel.shown.drawing.keys)
    view.reveal(["encoder"])
    box = panel.shown.drawing.box_of("encoder")
    assert box is not None
    mark = view.camera.to_view(QPointF(box[0] + 15, box[1] + 12)).toPoint()
    QTest.mouseClick(view.viewport(), LEFT, pos=mark)
    laid_out()
    assert "encoder" in panel.shown.expanded and len(panel.shown.drawing.keys) == count + 3
    QTest.mouseDClick(view.viewport(), LEFT, pos=view.position_of("encoder").toPoint())
    laid_out()
    assert "encoder" not in panel.shown.expanded and len(panel.shown.drawing.keys) == count
    click(panel, "encoder")
    QTest.keyClick(view, Qt.Key.Key_Return)
    laid_out()
    assert "encoder" in panel.shown.expanded
    QTest.keyClick(view, Qt.Key.Key_Space)
    laid_out()
    assert "encoder" not in panel.shown.expanded


def test_enter_on_a_node_folds_its_layer(panel: AutogradPanel, laid_out: Callable[[], None]) -> None:
    panel.go_to(node_of(panel, "encoder.1.layer0.weight"))
    laid_out()
    assert panel.shown is not None and "encoder.1.layer0" in panel.shown.expanded
    QTest.keyClick(panel.view, Qt.Key.Key_Return)
    laid_out()
    assert "encoder.1.layer0" not in panel.shown.expanded
    assert panel.view.painter.highlights.selected == "encoder.1.layer0"


# -- steps ----------------------------------------------------------------------------------------


def test_keys_step_through_the_backward_pass(qtbot: QtBot, window: MainWindow, small: Project) -> None:
    panel = window.project_views[small].autograd
    window.commands.run("run.look")
    qtbot.waitUntil(lambda: panel.shown is not None)
    view, shown = panel.view, panel.shown
    assert shown is not None
    nodes, owners = shown.snapshot.graph.nodes, shown.snapshot.nodes
    view.setFocus()
    visited = []
    for _ in range(4):
        QTest.keyClick(view, Qt.Key.Key_PageDown)
        assert panel.current is not None
        visited.append(panel.current)
        assert small.store.selection == {owners[panel.current]}
        assert nodes[panel.current].name in panel.details.toPlainText()
    assert visited == [0, 1, 2, 3]
    norm = nodes[3].gradient_norm
    assert norm is not None and panel.toolbar.position.text().startswith(f"4 of {len(nodes):,}")
    assert "norm" in panel.toolbar.position.text()
    ahead = [key for key in shown.drawing.keys if view.painter._is_ahead(key)]
    assert ahead and 3 not in ahead and not {0, 1, 2} & set(ahead)
    QTest.keyClick(view, Qt.Key.Key_PageUp)
    assert panel.current == 2
    QTest.keyClick(view, Qt.Key.Key_PageDown, SHIFT)
    assert panel.current is not None and owners[panel.current] != owners[2]
    QTest.keyClick(view, Qt.Key.Key_End, CTRL)
    assert panel.current == len(nodes) - 1
    QTest.keyClick(view, Qt.Key.Key_Home, CTRL)
    assert panel.current == 0
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert panel.current is None and not panel.refresher.is_held


def test_buttons_step_and_a_folded_group_contains_the_node(panel: AutogradPanel) -> None:
    shown = panel.shown
    assert shown is not None
    inside = shown.outline.groups["encoder"].members
    for name in ("first", "next", "next", "previous", "last"):
        QTest.mouseClick(panel.toolbar.steps[name], LEFT)
    assert panel.current == len(shown.snapshot.graph.nodes) - 1
    QTest.mouseClick(panel.toolbar.steps["first"], LEFT)
    while panel.current not in inside:
        QTest.mouseClick(panel.toolbar.steps["next"], LEFT)
    assert panel.view.painter.highlights.selected == "encoder"
    assert panel.current is not None
    assert shown.snapshot.graph.nodes[panel.current].name in panel.details.toPlainText()


# -- search ---------------------------------------------------------------------------------------


def test_search_goes_from_result_to_result(panel: AutogradPanel, laid_out: Callable[[], None]) -> None:
    view, field = panel.view, panel.toolbar.search
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Slash)
    assert QApplication.focusWidget() is field
    QTest.keyClicks(field, "layer1 bias")
    assert panel.toolbar.position.text() == "4 results"
    assert "encoder" in view.painter.highlights.matches
    QTest.keyClick(field, Qt.Key.Key_Return)
    laid_out()
    assert panel.toolbar.position.text() == "1 of 4 results"
    first = panel._selected
    assert panel.shown is not None and isinstance(first, int)
    assert panel.shown.snapshot.graph.nodes[first].leaf == "encoder.3.layer1.bias"
    QTest.keyClick(field, Qt.Key.Key_Return)
    laid_out()
    assert panel.toolbar.position.text() == "2 of 4 results"
    QTest.keyClick(field, Qt.Key.Key_Return, SHIFT)
    laid_out()
    assert panel._selected == first
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "" and not view.painter.highlights.matches
    assert QApplication.focusWidget() is view


# -- large graphs ---------------------------------------------------------------------------------


def test_5000_nodes_are_drawn_as_far_as_they_are_visible(
    qtbot: QtBot,
    window: MainWindow,
    panel: AutogradPanel,
    laid_out: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = []
    computed = GraphArranger._computed

    def watched(arranger: GraphArranger, *args: object) -> object:
        threads.append(threading.current_thread())
        return computed(arranger, *args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(graph_arrangement.GraphArranger, "_computed", watched)
    snapshot = deep_snapshot(copies=20, layers=50)
    assert len(snapshot.graph.nodes) == 5001
    panel.show_snapshot(snapshot)
    laid_out()
    assert panel.shown is not None and panel.shown.snapshot is snapshot
    assert len(panel.shown.drawing.keys) == 2, "20 equal copies are folded"
    panel.expand_all()
    laid_out()
    assert len(panel.shown.drawing.keys) == 5001
    assert threading.main_thread() not in threads and threads
    view, painter = panel.view, panel.view.painter
    view.fit()
    view.viewport().repaint()
    assert painter.painted.items > 1000 and (painter.painted.texts, painter.painted.curves) == (0, 0)
    view.camera.show(0.3, QPointF(view.scene().itemsBoundingRect().center()))
    view.viewport().repaint()
    assert 0 < painter.painted.items < 200 and painter.painted.texts == 0
    view.camera.show(1.0, QPointF(view.scene().itemsBoundingRect().center()))
    for _ in range(5):
        QTest.keyClick(view, Qt.Key.Key_Left)
        view.viewport().repaint()
        assert painter.painted.items < 60 and painter.painted.edges < 100
        assert painter.painted.texts <= painter.painted.items + 60
    wheel = QWheelEvent(
        QPointF(50, 50), QPointF(view.viewport().mapToGlobal(QPoint(50, 50))), QPoint(), QPoint(0, -120),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    scale = view.camera.scale
    QApplication.sendEvent(view.viewport(), wheel)
    assert view.camera.scale < scale
    QTest.keyClick(view, Qt.Key.Key_End, CTRL)
    assert panel.current == 5000 and view.painter.highlights.selected == 5000


def test_a_new_step_of_the_same_graph_keeps_folding_and_selection(
    panel: AutogradPanel, laid_out: Callable[[], None]
) -> None:
    panel.show_snapshot(deep_snapshot(3, 2))
    laid_out()
    panel.toggle("encoder")
    laid_out()
    assert panel.shown is not None
    drawing, visible = panel.shown.drawing, panel.view.camera.visible
    panel.show_snapshot(deep_snapshot(3, 2, step=7))
    laid_out()
    assert panel.shown.snapshot.step == 7 and "encoder" in panel.shown.expanded
    assert panel.shown.drawing.keys == drawing.keys
    assert panel.view.painter.highlights.selected == "encoder" and panel.view.camera.visible == visible
    panel.show_snapshot(deep_snapshot(4, 2))
    laid_out()
    assert panel.view.painter.highlights.selected is None


# -- what is shown --------------------------------------------------------------------------------


def test_a_visible_panel_follows_a_run_and_shows_its_last_step(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_refresher, "MIN_SECONDS", 0.0)
    project = window.open_projects.from_template(template("digits-mlp"))
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=3))
    qtbot.waitUntil(lambda: project.store.is_checked)
    panel = window.project_views[project].autograd
    window.commands.run("run.start")
    window.docks["autograd"].reveal()
    qtbot.waitUntil(lambda: project.runner.state == "done")
    qtbot.waitUntil(lambda: panel.shown is not None and panel.shown.snapshot.step == project.runner.steps)
    requests = panel.refresher.requests
    assert requests >= 1
    assert f"step {project.runner.steps:,}" in panel.toolbar.summary.text()
    project.store.edit("Rename", lambda document: edits.set_param(document, "hidden", "out_features", 32))
    qtbot.waitUntil(lambda: project.store.is_checked)
    panel.refresher._update()
    assert panel.refresher.requests == requests, "nothing new happened"


def test_the_newest_run_of_an_earlier_session_is_shown(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "digits.gradwire"
    project_files.save(edits.set_training(template("digits-mlp").document, epochs=1), path)
    assert main(["run", str(path), "--steps", "6"]) == 0
    assert main(["run", str(path), "--steps", "5", "--seed", "1"]) == 0
    project = window.open_projects.open(path)
    window.docks["autograd"].reveal()
    panel = window.project_views[project].autograd
    qtbot.waitUntil(lambda: panel.shown is not None)
    assert panel.toolbar.summary.text().startswith("Run 2, step 5 ·")
    weights = max((tmp_path / "digits.runs").glob("*/weights.safetensors"))
    program = lower(check(project.store.document, catalogue()))
    task = program.build(seed=0)
    task.setup()
    task.model.load_state_dict(engine.load(weights))
    assert panel.shown is not None
    assert panel.shown.snapshot.loss == capture_autograd(task, program).loss
    requests = panel.refresher.requests
    window.docks["autograd"].hide()
    window.docks["autograd"].reveal()
    assert panel.refresher.requests == requests == 1
    assert not [each for each in project.store.report.problems if each.code == "run-failed"]
    [again] = [
        each for each in panel.toolbar.findChildren(QToolButton) if each.toolTip().startswith("Run another step")
    ]
    QTest.mouseClick(again, LEFT)
    qtbot.waitUntil(lambda: panel.toolbar.summary.text().startswith("Initial weights"))


def test_an_earlier_run_that_cannot_be_captured_does_not_block_later_requests(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "digits.gradwire"
    project_files.save(template("digits-mlp").document, path)
    assert main(["run", str(path), "--steps", "3"]) == 0

    calls = list[object]()

    def fail(*given: object) -> None:
        calls.append(given)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(training_session, "capture_autograd", fail)
        project = window.open_projects.open(path)
        window.docks["autograd"].reveal()
        panel = window.project_views[project].autograd
        qtbot.waitUntil(lambda: bool(calls) and not project.runner.has_pending_snapshot)
        assert panel.shown is None
    window.commands.run("run.look")
    qtbot.waitUntil(lambda: panel.shown is not None)


def test_a_narrow_panel_shows_graph_or_details(window: MainWindow, panel: AutogradPanel) -> None:
    assert panel.view.isVisible() and panel.details.isVisible() and not panel.toolbar.details.isVisible()
    window.docks["autograd"].setFloating(True)
    window.docks["autograd"].resize(500, 400)
    QApplication.processEvents()
    assert panel.view.isVisible() and not panel.details.isVisible() and panel.toolbar.details.isVisible()
    QTest.mouseClick(panel.toolbar.details, LEFT)
    assert panel.details.isVisible() and not panel.view.isVisible()
