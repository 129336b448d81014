"""Connect, disconnect and select wires with keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest

from studio.document import edits
from studio.document.model import Document, Endpoint, Node
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.geometry import Point, Side
from studio.ui.canvas.wires.wire_candidates import open_ports, wire_candidates, wires_between
from studio.ui.project.project_store import ProjectStore
from studio.ui.widgets.choice_palette import ChoicePalette
from tests.ui.canvas.conftest import MakeView, network, wire
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard


def without_wires() -> Document:
    document = network()
    return edits.disconnect(document, document.wires)


@pytest.fixture
def loose(make_view: MakeView) -> MouseAndKeyboard:
    """The nodes of the network without wires."""
    return MouseAndKeyboard(make_view(without_wires()))


def open_list(user: MouseAndKeyboard, *names: str, key: Qt.Key = Qt.Key.Key_C, shift: bool = False) -> ChoicePalette:
    user.view.store.select(names)
    user.key(key, SHIFT if shift else Qt.KeyboardModifier.NoModifier)
    palette = user.view.overlays.wire_chooser.palette
    assert palette.isVisible() and palette.edit.hasFocus()
    return palette


def wires(user: MouseAndKeyboard) -> set[str]:
    return {str(each) for each in user.view.store.document.wires}


def titles(palette: ChoicePalette, *, refused: bool = False) -> list[str]:
    return [choice.title for choice in palette.shown if bool(choice.refusal) == refused]


def press(palette: ChoicePalette, *keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(palette.edit, key)


def test_enter_connects_the_nearest_port_as_one_undo_step(loose: MouseAndKeyboard) -> None:
    palette = open_list(loose, "relu")
    assert titles(palette) == ["output", "input"]
    press(palette, Qt.Key.Key_Return)
    assert titles(palette)[0] == "loss · input"
    assert [title.partition(" · ")[0] for title in titles(palette)] == ["loss", "loss", "hidden"]
    press(palette, Qt.Key.Key_Return)
    assert wires(loose) == {"relu.output -> loss.input"}
    assert not palette.isVisible() and loose.view.hasFocus()
    assert loose.view.store.selection == {"relu"}
    assert loose.view.store.project.history.undo_title == "Connect relu.output to loss.input"
    loose.key(Qt.Key.Key_Z, CTRL)  # only the window has Undo
    loose.view.store.project.undo()
    assert not wires(loose)


def test_a_node_with_one_free_port_goes_straight_to_the_targets(loose: MouseAndKeyboard) -> None:
    palette = open_list(loose, "digits")
    assert titles(palette) == ["batches · samples"]
    press(palette, Qt.Key.Key_Return)
    assert wires(loose) == {"digits.samples -> batches.samples"}


def test_typing_searches_and_refused_ports_say_why(loose: MouseAndKeyboard) -> None:
    palette = open_list(loose, "digits")
    QTest.keyClicks(palette.edit, "hidden")
    assert titles(palette) == [] and titles(palette, refused=True) == ["hidden · input"]
    assert "Insert a loader" in palette.note.text() and palette.note.isVisible()
    assert "Insert a loader" in palette.edit.accessibleDescription()
    press(palette, Qt.Key.Key_Return)
    assert palette.isVisible() and not wires(loose)
    palette.edit.clear()
    QTest.keyClicks(palette.edit, "xyzzy")
    assert palette.note.text() == "No matching ports or wires"
    press(palette, Qt.Key.Key_Escape)
    assert not palette.isVisible() and loose.view.hasFocus() and not wires(loose)


def test_two_nodes_offer_the_wires_between_them_first(loose: MouseAndKeyboard) -> None:
    palette = open_list(loose, "batches", "loss")
    assert all(title.startswith("batches.") for title in titles(palette)[:-2])
    assert titles(palette)[-2:] == ["Connect batches to another node…", "Connect loss to another node…"]
    QTest.keyClicks(palette.edit, "batches.target loss.target")
    press(palette, Qt.Key.Key_Return)
    assert wires(loose) == {"batches.target -> loss.target"}
    palette = open_list(loose, "batches", "loss")
    assert "batches.target → loss.target" in titles(palette, refused=True)
    QTest.keyClicks(palette.edit, "Connect loss")
    press(palette, Qt.Key.Key_Return, Qt.Key.Key_Return, Qt.Key.Key_Return)
    assert wires(loose) >= {"loss.loss -> adam.loss"}


def test_the_canvas_shows_the_wire_of_the_current_choice(loose: MouseAndKeyboard) -> None:
    scene = loose.view.canvas_scene
    palette = open_list(loose, "relu")
    assert scene.nodes["relu"].state.hovered_port == "output.output"
    press(palette, Qt.Key.Key_Return)
    assert scene.gesture_overlay.isVisible() and scene.nodes["loss"].state.hovered_port == "input.input"
    assert scene.nodes["adam"].state.faded and not scene.nodes["loss"].state.faded
    press(palette, Qt.Key.Key_Down)
    assert scene.nodes["loss"].state.hovered_port == "input.target"
    press(palette, Qt.Key.Key_Escape)
    assert not scene.gesture_overlay.isVisible() and not scene.nodes["adam"].state.faded
    assert scene.nodes["loss"].state.hovered_port is None


def test_connecting_replaces_the_wire_of_an_input(user: MouseAndKeyboard, store: ProjectStore) -> None:
    palette = open_list(user, "hidden")
    QTest.keyClicks(palette.edit, "loss input")
    [choice] = [each for each in palette.shown if each.title.startswith("loss · input")]
    assert choice.category == "replaces relu.output"
    press(palette, Qt.Key.Key_Return)
    assert "hidden.output -> loss.input" in wires(user) and "relu.output -> loss.input" not in wires(user)
    store.undo()
    assert store.document == network()


def test_shift_c_disconnects_one_wire_or_all(user: MouseAndKeyboard, store: ProjectStore) -> None:
    palette = open_list(user, "loss", shift=True)
    assert titles(palette)[-1] == "All 3 wires"
    QTest.keyClicks(palette.edit, "target")
    press(palette, Qt.Key.Key_Return)
    assert "batches.target -> loss.target" not in wires(user)
    assert store.history.undo_title == "Disconnect loss.target"
    palette = open_list(user, "loss", shift=True)
    press(palette, Qt.Key.Key_PageDown, Qt.Key.Key_Return)
    assert not any("loss." in each for each in wires(user))
    store.undo()
    store.undo()
    assert store.document == network()


def test_w_selects_a_wire_that_del_deletes(user: MouseAndKeyboard) -> None:
    palette = open_list(user, "relu", key=Qt.Key.Key_W)
    QTest.keyClicks(palette.edit, "hidden")
    press(palette, Qt.Key.Key_Return)
    assert list(user.view.canvas_scene.selection.wires) == [wire("hidden.output -> relu.input")]
    user.key(Qt.Key.Key_Delete)
    assert "hidden.output -> relu.input" not in wires(user)


def test_the_list_stays_inside_a_small_canvas(loose: MouseAndKeyboard) -> None:
    loose.view.window().resize(360, 240)
    loose.view.camera.center_on(QPointF(680, 60))
    palette = open_list(loose, "relu")
    press(palette, Qt.Key.Key_Return)
    assert loose.view.rect().contains(palette.geometry())
    assert palette.list.isVisible() and palette.list.height() >= 32


def at_origin(end: Endpoint, side: Side) -> Point:
    return Point(0.0, 0.0)


def test_candidates_are_those_of_the_mouse() -> None:
    """Each fitting candidate is accepted by a drag from the same port, and each refused one is not."""
    document = network()
    document = edits.add(document, "alien", Node("vendor.Alien"))
    for name in document.nodes:
        for port in open_ports(document, catalogue(), name):
            for found in wire_candidates(document, catalogue(), port, at_origin):
                refusal = found.pending.refusal(found.end, found.pending.loose_side)
                assert bool(found.refusal) == (refusal is not None or found.wire in document.wires), found.wire
    between = wires_between(document, catalogue(), "hidden", "relu", at_origin)
    assert [(str(each.wire), each.refusal) for each in between if "Already" in each.refusal] == [
        ("hidden.output -> relu.input", "Already connected.")
    ]
