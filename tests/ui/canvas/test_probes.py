"""Probes on the canvas and in their panel, with mouse and keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files import project_files
from studio.document.files.project_templates import template
from studio.training.probing.probe_list import Probe, dump_probes, load_probes
from studio.training.probing.probe_weights import checkpoint_steps
from studio.training.probing.views.histogram import Histogram
from studio.training.probing.views.matrices import MatrixGrid
from studio.training.probing.views.projection import Projection
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.probes.card_placement import place_card
from studio.ui.canvas.probes.probe_card import ProbeCard, verification_text
from studio.ui.settings import Settings
from studio.ui.window.main_window import MainWindow
from studio.ui.window.project_view import ProjectView
from tests.ui.canvas.conftest import wire
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.conftest import MakeWindow

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small convolutional network in a file."""
    file = tmp_path / "net.gradwire"
    document = template("digits-cnn").document
    project_files.save(edits.set_training(document, epochs=1, compile=False), file)
    return file


@pytest.fixture
def window(make_window: MakeWindow, qtbot: QtBot, path: Path) -> MainWindow:
    return opened(make_window(), qtbot, path)


def opened(window: MainWindow, qtbot: QtBot, path: Path) -> MainWindow:
    window.open_projects.open(path)
    project = window.project
    assert project is not None
    qtbot.waitUntil(lambda: project.store.is_checked)
    canvas = canvas_of(window)
    while canvas.canvas_scene.wire_router.is_busy:
        QApplication.processEvents()
    canvas.camera.finish()
    return window


def canvas_of(window: MainWindow) -> CanvasView:
    assert window.canvas is not None
    return window.canvas


def view_of(window: MainWindow) -> ProjectView:
    assert window.project is not None
    return window.project_views[window.project]


def probe(window: MainWindow, node: str, qtbot: QtBot) -> ProbeCard:
    """Click a node, press Shift+P, and wait for the values."""
    canvas = canvas_of(window)
    show(canvas, QPointF(*canvas.canvas_scene.nodes[node].at))
    QTest.mouseClick(canvas.viewport(), LEFT, pos=MouseAndKeyboard(canvas).node(node))
    QTest.keyClick(canvas, Qt.Key.Key_P, Qt.KeyboardModifier.ShiftModifier)
    canvas.camera.finish()
    found = card(window, node)
    qtbot.waitUntil(lambda: found.result.view is not None or bool(found.result.problem))
    return found


def card(window: MainWindow, node: str) -> ProbeCard:
    cards = view_of(window).probe_cards.cards.values()
    return next(each for each in cards if each.probe.node == node)


def show(canvas: CanvasView, at: QPointF) -> None:
    canvas.camera.zoom_to(1.0, animated=False)
    canvas.camera.center_on(at, animated=False)
    canvas.camera.finish()


def press(canvas: CanvasView, found: ProbeCard, part: str, button: Qt.MouseButton = LEFT) -> None:
    """Click a part of a card."""
    show(canvas, found.rect_in_scene.center())
    QTest.mouseClick(canvas.viewport(), button, pos=point(canvas, found, part))


def point(canvas: CanvasView, found: ProbeCard, part: str) -> QPoint:
    """A point of the viewport at which a part of a card is."""
    rect = found.rect_in_scene
    for y in range(2, int(rect.height()), 4):
        for x in range(2, int(rect.width()), 4):
            at = rect.topLeft() + QPointF(x, y)
            if found.part_at(at) == part:
                return canvas.camera.to_view(at).toPoint()
    raise AssertionError(part)


def open_menu() -> QMenu:
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


def choose(menu: QMenu, title: str) -> None:
    """Click an entry of an open menu, or of a submenu: "Probe > weight"."""
    first, _, rest = title.partition(" > ")
    action = next(each for each in menu.actions() if each.text() == first)
    assert action.isEnabled()
    if rest:
        inner = action.menu()
        assert isinstance(inner, QMenu)
        inner.popup(menu.mapToGlobal(QPoint(8, 8)))
        choose(inner, rest)
        menu.close()
    else:
        QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())


def test_shift_p_puts_a_card_beside_the_node(window: MainWindow, qtbot: QtBot) -> None:
    found = probe(window, "conv1", qtbot)
    view = found.result.view
    assert view is not None and isinstance(view.drawing, MatrixGrid)
    assert view.kind == "images" and view.drawing.cells.shape == (16, 8, 8), "one image for each channel"
    assert view.statistics.shape == (64, 16, 8, 8) and found.result.source == "Initial weights"
    boxes = canvas_of(window).canvas_scene.boxes().values()
    assert not any(found.box.overlaps(box) for box in boxes), "it hides no node"
    before, node = found.pos(), canvas_of(window).canvas_scene.nodes["conv1"]
    start = MouseAndKeyboard(canvas_of(window)).node("conv1")
    QTest.mousePress(canvas_of(window).viewport(), LEFT, pos=start)
    QTest.mouseMove(canvas_of(window).viewport(), start + QPoint(20, 10))
    QTest.mouseMove(canvas_of(window).viewport(), start + QPoint(64, 32))
    QTest.mouseRelease(canvas_of(window).viewport(), LEFT, pos=start + QPoint(64, 32))
    assert found.pos() != before and found.pos() - QPointF(*node.at) == QPointF(*(found.probe.offset or ()))


def test_the_buttons_of_a_card_switch_view_and_sample_and_close_it(window: MainWindow, qtbot: QtBot) -> None:
    canvas, found = canvas_of(window), probe(window, "conv1", qtbot)
    press(canvas, found, "next")
    qtbot.waitUntil(lambda: "Sample 1 of 64" in getattr(found.result.view and found.result.view.drawing, "caption", ""))
    press(canvas, found, "view")
    menu = open_menu()
    reasons = {action.text(): action.toolTip() for action in menu.actions() if not action.isEnabled()}
    assert not any("dimensions" in reason for reason in reasons.values()), "8×8 may be an attention map"
    choose(menu, "Histogram")
    qtbot.waitUntil(lambda: isinstance(found.result.view and found.result.view.drawing, Histogram))
    press(canvas, found, "close")
    assert not view_of(window).probe_cards.cards and not view_of(window).probe_store.probes


def test_missing_views_tell_the_reason(window: MainWindow, qtbot: QtBot) -> None:
    found = probe(window, "logits", qtbot)
    press(canvas_of(window), found, "body", RIGHT)
    menu = open_menu()
    disabled = {action.text(): action.toolTip() for action in menu.actions() if not action.isEnabled()}
    assert "N×C×H×W, but the shape is 64×10" in disabled["Images"] and "64×10" in disabled["Attention map"]
    choose(menu, "Projection (PCA)")
    qtbot.waitUntil(lambda: isinstance(found.result.view and found.result.view.drawing, Projection))
    drawing = found.result.view.drawing  # type: ignore[union-attr]
    assert isinstance(drawing, Projection) and drawing.labels is not None and len(set(drawing.labels)) == 10


def test_delete_closes_the_selected_card_and_not_the_node(window: MainWindow, qtbot: QtBot) -> None:
    canvas, found = canvas_of(window), probe(window, "conv1", qtbot)
    press(canvas, found, "body")
    assert view_of(window).probe_cards.selected == found.probe.key and not canvas.store.selection
    QTest.keyClick(canvas, Qt.Key.Key_Delete)
    assert not view_of(window).probe_cards.cards and "conv1" in canvas.store.document.nodes
    assert canvas.store.project.is_saved, "probes are no change of the document"


def test_the_menu_of_a_wire_and_of_a_node_probe_gradients_and_parameters(window: MainWindow, qtbot: QtBot) -> None:
    canvas = canvas_of(window)
    hands = MouseAndKeyboard(canvas)
    show(canvas, QPointF(*canvas.canvas_scene.wires[wire("norm1.output -> relu1.input")].curve.at(0.3)))
    QTest.mouseClick(canvas.viewport(), RIGHT, pos=hands.wire("norm1.output -> relu1.input", 0.3))
    choose(open_menu(), "Probe gradient of norm1.output")
    found = card(window, "norm1")
    qtbot.waitUntil(lambda: found.result.view is not None)
    assert found.result.view is not None and found.result.view.loss == "cross_entropy"
    assert found.result.view.statistics.shape == (64, 16, 8, 8)
    show(canvas, QPointF(*canvas.canvas_scene.nodes["logits"].at))
    QTest.mouseClick(canvas.viewport(), RIGHT, pos=hands.node("logits"))
    choose(open_menu(), "Probe > Gradient of weight")
    found = card(window, "logits")
    qtbot.waitUntil(lambda: found.result.view is not None)
    assert found.probe.title == "Gradient of logits.weight" and found.result.view is not None
    assert found.result.view.statistics.shape == (10, 128)


def test_a_card_is_moved_and_resized(window: MainWindow, qtbot: QtBot) -> None:
    canvas, found = canvas_of(window), probe(window, "conv1", qtbot)
    show(canvas, found.rect_in_scene.center())
    for part, by in (("title", QPoint(40, -24)), ("resize", QPoint(80, 64))):
        before = QPointF(*(found.probe.offset or ())), QPointF(*found.probe.size)
        start = point(canvas, found, part)
        QTest.mousePress(canvas.viewport(), LEFT, pos=start)
        QTest.mouseMove(canvas.viewport(), start + by)
        QTest.mouseRelease(canvas.viewport(), LEFT, pos=start + by)
        after = QPointF(*(found.probe.offset or ())), QPointF(*found.probe.size)
        moved, kept = (0, 1) if part == "title" else (1, 0)
        assert (after[moved] - before[moved] - QPointF(by)).manhattanLength() <= 8 and after[kept] == before[kept]


def test_probes_are_kept_when_the_project_is_opened_again(
    window: MainWindow, make_window: MakeWindow, qtbot: QtBot, path: Path
) -> None:
    text = path.read_text(encoding="utf-8")
    first = probe(window, "conv1", qtbot)
    press(canvas_of(window), first, "view")
    choose(open_menu(), "Histogram")
    saved = view_of(window).probe_store.probes
    assert window.project is not None
    window.open_projects.close(window.project)
    again = opened(make_window(), qtbot, path)
    assert view_of(again).probe_store.probes == saved
    found = card(again, "conv1")
    show(canvas_of(again), found.rect_in_scene.center())
    qtbot.waitUntil(lambda: isinstance(found.result.view and found.result.view.drawing, Histogram))
    assert path.read_text(encoding="utf-8") == text, "the project file does not change"


def test_a_probe_follows_a_new_name_and_waits_for_an_undo(window: MainWindow, qtbot: QtBot) -> None:
    store = canvas_of(window).store
    found = probe(window, "conv1", qtbot)
    store.edit("Rename", lambda document: edits.rename(document, "conv1", "first"))
    assert found.probe.node == "first" or card(window, "first").probe.name == "output"
    store.edit("Delete", lambda document: edits.remove(document, ["first"]))
    assert not view_of(window).probe_cards.cards
    store.project.undo()
    assert card(window, "first").probe.name == "output"


def test_cards_follow_a_running_training_and_are_checked(window: MainWindow, qtbot: QtBot) -> None:
    project = window.project
    assert project is not None
    project.store.edit("Epochs", lambda document: edits.set_training(document, epochs=1000))
    found = probe(window, "logits", qtbot)
    assert found.result.view is not None
    initial = found.result.view.statistics
    view_of(window).probe_computer.set_interval(1)
    sources: set[str] = set()
    view_of(window).probe_computer.changed.connect(lambda: sources.add(found.result.source))
    project.runner.start()
    qtbot.waitUntil(lambda: len(sources) > 2)
    assert project.runner.state == "running"
    project.runner.stop()
    qtbot.waitUntil(lambda: project.runner.state == "stopped")
    last = f"Run 1, step {project.runner.steps:,}"
    qtbot.waitUntil(lambda: found.result.source == last)
    assert found.result.view.statistics != initial
    press(canvas_of(window), found, "view")
    choose(open_menu(), "Check by recomputation")
    qtbot.waitUntil(lambda: found.result.verification is not None)
    assert verification_text(found.result) == "Checked by recomputation: identical."


def test_the_panel_shows_all_probes(window: MainWindow, qtbot: QtBot) -> None:
    probe(window, "conv1", qtbot)
    view, panel = view_of(window), view_of(window).probes
    canvas_of(window).setFocus()
    QTest.keyClick(canvas_of(window), Qt.Key.Key_P, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(panel.isVisible)
    (tile,) = panel.tiles.values()
    qtbot.waitUntil(lambda: tile.result.view is not None)
    tile.views.setFocus()
    while tile.views.currentText() != "Heat map":
        QTest.keyClick(tile.views, Qt.Key.Key_Up)
    QTest.keyClick(tile.views, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: tile.result.view is not None and tile.result.view.kind == "heat map")
    QTest.mouseClick(tile.pin, LEFT)
    assert not view.probe_cards.cards and panel.tiles
    QTest.mouseClick(panel.check, LEFT)
    qtbot.waitUntil(lambda: tile.result.verification is not None)
    QTest.mouseClick(tile.close_button, LEFT)
    assert not view.probe_store.probes


def test_hidden_probes_are_not_computed(window: MainWindow, qtbot: QtBot) -> None:
    found = probe(window, "conv1", qtbot)
    computer = view_of(window).probe_computer
    show(canvas_of(window), QPointF(1e5, 1e5))
    qtbot.waitUntil(lambda: not computer.is_busy)
    before = found.result
    canvas_of(window).store.edit("Set", lambda d: edits.set_param(d, "conv1", "out_channels", 4))
    qtbot.waitUntil(lambda: canvas_of(window).store.project.is_checked)
    QTest.qWait(50)
    assert found.result is before and not computer.is_busy
    show(canvas_of(window), found.rect_in_scene.center())
    qtbot.waitUntil(lambda: found.result.view is not None and found.result.view.statistics.shape[1] == 4)


def test_broken_settings_are_left_out(settings: Settings, tmp_path: Path) -> None:
    good = Probe("a", "output", view="histogram", offset=(8.0, 16.0))
    assert load_probes(dump_probes([good, good])) == (good,)
    assert load_probes('[{"node": "a"}, 3, ' + dump_probes([good])[1:]) == (good,)
    assert load_probes("[") == () == load_probes('{"a": 1}')
    settings.set_probes(tmp_path / "a.gradwire", dump_probes([good]))
    assert load_probes(settings.probes_of(tmp_path / "a.gradwire")) == (good,)
    settings.set_probes(None, "x")
    assert settings.probes_of(None) == ""


def test_a_new_card_avoids_nodes_cards_and_wires() -> None:
    node, size = Box(0, 0, 100, 40), (200.0, 160.0)
    below = place_card(node, size, [node], [], lambda _: False)
    assert below == (0.0, 56.0)
    second = place_card(node, size, [node], [Box(0, 56, 200, 216)], lambda _: False)
    assert not Box(*second, second[0] + 200, second[1] + 160).overlaps(Box(0, 56, 200, 216))
    wired = place_card(node, size, [node], [], lambda box: box.top > 40)
    assert wired[1] + 160 <= 40 or wired[0] >= 100 or wired[0] + 200 <= 0
    crowd = [Box(x, y, x + 90, y + 90) for x in range(-1000, 1000, 100) for y in range(-1000, 1000, 100)]
    left, top = place_card(node, size, crowd, [], lambda _: False)
    assert top >= 990 and np.isfinite(left)


def test_probes_follow_the_shown_step(window: MainWindow, qtbot: QtBot) -> None:
    project = window.project
    assert project is not None
    project.store.edit("Set", lambda d: edits.set_training(d, steps=9, checkpoint_steps=4, checkpoints=5))
    qtbot.waitUntil(lambda: project.store.is_checked)
    found = probe(window, "logits", qtbot)
    project.runner.start()
    qtbot.waitUntil(lambda: project.runner.state == "done" and found.result.source == "Run 1, step 9")
    folder = project.runner.runs[-1].folder
    assert folder is not None
    steps = checkpoint_steps(folder)
    project.moment.show(folder, steps[0])
    qtbot.waitUntil(lambda: found.result.source == f"Run 1, step {steps[0]}")
    project.moment.show(folder, 1)
    qtbot.waitUntil(lambda: "has no weights of step 1. It has checkpoints of step" in found.result.problem)
    project.moment.follow()
    qtbot.waitUntil(lambda: found.result.source == "Run 1, step 9" and found.result.view is not None)
