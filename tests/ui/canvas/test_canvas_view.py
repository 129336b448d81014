"""Hint, minimap, selection bar, tooltips, drops from the palette, themes and accessibility of the canvas."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.frames import add_frame
from studio.document.model import Document, Frame, Node
from studio.lowering.analysis.node_facts import NodeInfo
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.ui.canvas.canvas_commands import canvas_commands
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.overlays.canvas_tooltips import tooltip
from studio.ui.command_registry import CommandRegistry
from studio.ui.palette.node_type_tree import MIME
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import motion
from studio.ui.theme.theme import Mode, ThemeManager, contrast
from tests.ui.canvas.conftest import FakeChecker, MakeView, network, wire
from tests.ui.canvas.mouse_and_keyboard import MIDDLE, MouseAndKeyboard


def drop_type(view: CanvasView, key: str, position: QPoint) -> None:
    """Drag a node type over the canvas and drop it."""
    data = QMimeData()
    data.setData(MIME, key.encode())
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    for event in (
        QDragEnterEvent(position, copy, data, left, none),
        QDragMoveEvent(position, copy, data, left, none),
        QDropEvent(QPointF(position), copy, data, left, none),
    ):
        QApplication.sendEvent(view.viewport(), event)


# -- dropping from the palette


def test_dropped_type_becomes_a_node_at_the_pointer(user: MouseAndKeyboard, store: ProjectStore) -> None:
    drop_type(user.view, "nn.GELU", user.at(704, 300))
    assert store.document.nodes["gelu"].at == (680, 288)
    assert store.selection == {"gelu"}
    assert store.history.undo_title == "Add GELU"


def test_type_dropped_on_a_wire_is_inserted(user: MouseAndKeyboard, store: ProjectStore) -> None:
    drop_type(user.view, "nn.Dropout", user.wire("hidden.output -> relu.input"))
    assert wire("hidden.output -> dropout.input") in store.document.wires
    assert wire("dropout.output -> relu.input") in store.document.wires
    store.undo()
    assert store.document == network()


def test_type_that_does_not_match_the_wire_is_not_inserted(user: MouseAndKeyboard, store: ProjectStore) -> None:
    drop_type(user.view, "optim.SGD", user.wire("hidden.output -> relu.input"))
    assert store.document.wires == network().wires
    assert "sgd" in store.document.nodes


def test_unknown_dropped_type_is_ignored(user: MouseAndKeyboard, store: ProjectStore) -> None:
    drop_type(user.view, "nn.Gone", user.at(700, 300))
    assert store.document == network()


# -- what lies on top


def test_empty_canvas_shows_a_hint(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view(Document())
    assert view.overlays.hint.content.isVisible()
    with qtbot.waitSignal(view.template_requested):
        qtbot.mouseClick(view.overlays.hint.button, Qt.MouseButton.LeftButton)
    view.store.edit("Add", lambda document: edits.add(document, "a", Node("nn.ReLU")))
    assert not view.overlays.hint.content.isVisible()
    assert not view.overlays.hint.button.isVisible()
    view.store.project.undo()
    assert view.overlays.hint.content.isVisible()


def test_hint_is_transparent_to_the_mouse(make_view: MakeView) -> None:
    view = make_view(Document())
    MouseAndKeyboard(view).double_click(view.overlays.hint.content.geometry().center())
    assert view.overlays.search.isVisible()


def test_minimap_is_shown_while_nodes_are_out_of_view(view: CanvasView) -> None:
    view.canvas_actions.fit_all()
    assert not view.overlays.minimap.isVisible()
    view.camera.center_on(QPointF(3000, 0))
    assert view.overlays.minimap.isVisible()
    view.toggle_minimap()
    assert not view.overlays.minimap.isVisible()
    view.toggle_minimap()
    assert view.overlays.minimap.isVisible()


def test_minimap_shows_frames_in_their_color(view: CanvasView) -> None:
    box = view.overlays.minimap.graph_box
    frame = Frame("Far", color="orange", at=(box.right + 400.0, box.top), size=(800.0, 400.0))
    view.store.edit("Add a frame", lambda document: add_frame(document, "far", frame))
    minimap = view.overlays.minimap
    assert minimap.graph_box.right == box.right + 1200
    view.camera.zoom_to(2.0, animated=False)
    assert minimap.isVisible() and not minimap.is_collapsed
    color = view.canvas_scene.paint_context.style.frame_header["orange"].color()
    picture = minimap.grab().toImage()
    pixels = {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())}
    assert color.name() in pixels


def test_click_on_the_minimap_moves_the_view(view: CanvasView) -> None:
    view.camera.center_on(QPointF(5000, 0))
    QTest.mouseClick(view.overlays.minimap, Qt.MouseButton.LeftButton, pos=view.overlays.minimap.rect().center())
    whole = view.overlays.minimap.graph_box
    assert (view.camera.visible.center() - QPointF(*whole.center)).manhattanLength() <= 20  # a pixel of the map


def test_several_selected_nodes_have_a_frame_and_a_bar(view: CanvasView, store: ProjectStore) -> None:
    bar, box = view.overlays.bar, view.canvas_scene.selection_frame
    store.select(["hidden"])
    assert not bar.isVisible()
    assert not box.isVisible()
    store.select(["hidden", "loss"])
    assert bar.isVisible()
    assert box.isVisible()
    assert box.rect().contains(QPointF(*view.canvas_scene.nodes["loss"].box.center))
    by_tip = {button.toolTip(): button for button in bar.buttons}
    assert not by_tip["Distribute horizontally"].isEnabled()
    store.select(["hidden", "relu", "loss"])
    assert by_tip["Distribute horizontally"].isEnabled()
    QTest.mouseClick(by_tip["Align bottom edges"], Qt.MouseButton.LeftButton)
    assert store.history.undo_title == "Align 3 nodes"
    assert len({view.canvas_scene.nodes[name].box.bottom for name in store.selection}) == 1
    assert view.hasFocus()


def test_selection_bar_is_hidden_during_a_drag(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    bar, start = user.view.overlays.bar, user.node("hidden")
    user.hold(start, start + QPoint(20, 120))
    assert not bar.isVisible()
    user.release(start + QPoint(20, 120))
    assert bar.isVisible()
    above = user.view.camera.to_view(QPointF(0, user.view.canvas_scene.nodes["hidden"].box.top)).y()
    assert bar.geometry().bottom() < above


def test_selection_bar_stays_in_view(view: CanvasView, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    for x, y in ((590, 330), (590, -250), (1200, 30), (0, 30)):
        view.camera.center_on(QPointF(x, y))
        assert view.overlays.bar.isVisible()
        assert view.viewport().rect().contains(view.overlays.bar.geometry())
    view.camera.center_on(QPointF(9000, 0))
    assert not view.overlays.bar.isVisible()


# -- texts


def test_tooltips(make_view: MakeView, checker: FakeChecker) -> None:
    there = wire("hidden.output -> relu.input")
    problem = Problem("error", "x", "Too <wide>.", node="hidden")
    checker.report = Report((problem,), nodes={"hidden": NodeInfo(summary="64 → 32")}, wires={there: "N×32 float32"})
    view = make_view(network())
    node = tooltip(view.store, view.canvas_scene, Hit(node="hidden"))
    assert "Linear" in node
    assert "64 → 32" in node
    assert "Too &lt;wide&gt;." in node
    assert "N×32 float32" in tooltip(view.store, view.canvas_scene, Hit(wire=there))
    assert "N×32 float32" in tooltip(view.store, view.canvas_scene, Hit("relu", "input", "input"))
    assert tooltip(view.store, view.canvas_scene, Hit()) == ""


def test_accessible_description_contains_the_selection(view: CanvasView, store: ProjectStore) -> None:
    assert view.accessibleName() == "Canvas"
    assert view.accessibleDescription() == "6 nodes"
    store.select(["hidden"])
    assert view.accessibleDescription() == "hidden, Linear"
    store.select(["hidden", "relu"])
    assert view.accessibleDescription() == "2 of 6 nodes selected"


def test_every_command_has_a_title_and_unique_keys(view: CanvasView) -> None:
    commands = CommandRegistry(view)
    commands.add(*canvas_commands(lambda: view, view))
    for command in commands:
        assert command.title[0].isupper()
        assert all(commands.conflicts(command.id, keys) == () for keys in command.shortcuts)


def test_commands_do_nothing_without_a_canvas(view: CanvasView) -> None:
    for command in canvas_commands(lambda: None, view):
        command.run()


# -- themes and movement


def test_theme_change_repaints(view: CanvasView, themes: ThemeManager) -> None:
    dark = view.grab().toImage().pixelColor(5, 5)
    themes.set_mode("light")
    light = view.grab().toImage().pixelColor(5, 5)
    assert contrast(dark, light) > 10


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_node_text_has_contrast(view: CanvasView, themes: ThemeManager, mode: Mode) -> None:
    themes.set_mode(mode)
    style = view.canvas_scene.paint_context.style
    for category in style.header:
        assert contrast(style.text, style.header[category].color()) >= 4.5
        assert contrast(style.quiet[category], style.header[category].color()) >= 4.5
        assert contrast(style.category[category], style.header[category].color()) >= 3.0  # the icon
        assert contrast(style.text, style.patch[category].color()) >= 4.5
        assert contrast(style.category[category], style.background) >= 3.0
    assert contrast(style.dim, style.body.color()) >= 4.5


def test_zoom_is_animated_unless_motion_is_reduced(view: CanvasView, qtbot: QtBot) -> None:
    motion.set_reduced(False)
    view.camera.zoom_by(2, QPointF(100, 100))
    assert view.camera.scale < 1.4
    qtbot.waitUntil(lambda: view.camera.scale == pytest.approx(1.44))
    motion.set_reduced(True)
    view.camera.zoom_to(1.0)
    assert view.camera.scale == 1.0


# -- what is painted


def test_moving_a_node_after_a_pan_leaves_no_pixels_behind(
    qtbot: QtBot, view: CanvasView, user: MouseAndKeyboard, store: ProjectStore
) -> None:
    """Grabs the screen, because grabbing the widget would repaint it."""
    window, screen = view.window(), view.screen()
    assert screen is not None
    store.edit("Move", lambda document: edits.move(document, {"relu": (640, 200)}))
    qtbot.wait(50)
    start = user.at(600, 300)
    user.press(start, MIDDLE)
    for step in range(1, 5):
        user.move(start + QPoint(-30 * step, 0), button=MIDDLE)
        qtbot.wait(20)
    user.release(start + QPoint(-120, 0), MIDDLE)
    store.undo()
    qtbot.wait(50)
    shown = screen.grabWindow(window.winId()).toImage()
    fresh = window.grab().toImage()
    assert shown.convertToFormat(fresh.format()) == fresh
