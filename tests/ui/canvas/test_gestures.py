"""What the mouse does on the canvas, with real presses and movements."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QPointingDevice, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.document import edits
from studio.document.model import Node
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.project.project_store import ProjectStore
from tests.ui.canvas.conftest import network, wire
from tests.ui.canvas.hand import ALT, CTRL, MIDDLE, RIGHT, SHIFT, Hand


def wires(store: ProjectStore) -> set[str]:
    return {str(here) for here in store.document.wires}


# -- selecting


def test_a_click_selects_and_a_click_beside_deselects(hand: Hand, store: ProjectStore) -> None:
    hand.click(hand.node("hidden"))
    assert store.selection == {"hidden"}
    hand.click(hand.node("relu"))
    assert store.selection == {"relu"}
    hand.click(hand.at(600, 300))
    assert store.selection == frozenset()


@pytest.mark.parametrize("keys", [SHIFT, CTRL])
def test_shift_and_ctrl_toggle(hand: Hand, store: ProjectStore, keys: Qt.KeyboardModifier) -> None:
    hand.click(hand.node("hidden"))
    hand.click(hand.node("relu"), keys=keys)
    assert store.selection == {"hidden", "relu"}
    hand.click(hand.node("hidden"), keys=keys)
    assert store.selection == {"relu"}


def test_a_rubber_band_selects_what_it_touches(hand: Hand, store: ProjectStore) -> None:
    hand.drag(hand.at(430, -60), hand.at(700, 30))
    assert store.selection == {"hidden", "relu"}
    hand.drag(hand.at(1070, -60), hand.at(1090, 30), keys=SHIFT)
    assert store.selection == {"hidden", "relu", "adam"}
    hand.drag(hand.at(430, -60), hand.at(500, 30), keys=CTRL)
    assert store.selection == {"relu", "adam"}


def test_escape_takes_the_rubber_band_back(hand: Hand, store: ProjectStore) -> None:
    store.select(["adam"])
    hand.hold(hand.at(430, -60), hand.at(700, 30))
    assert store.selection == {"hidden", "relu"}
    hand.key(Qt.Key.Key_Escape)
    assert store.selection == {"adam"}
    assert not hand.view.canvas_scene.gesture_overlay.isVisible()
    hand.release(hand.at(700, 30))
    assert store.selection == {"adam"}


def test_a_click_selects_a_wire_and_delete_removes_it(hand: Hand, store: ProjectStore) -> None:
    hand.click(hand.wire("loss.loss -> adam.loss"))
    assert [str(here) for here in hand.view.canvas_scene.selected_wires] == ["loss.loss -> adam.loss"]
    hand.key(Qt.Key.Key_Delete)
    assert "loss.loss -> adam.loss" not in wires(store)
    assert store.history.undo_title == "Delete loss.loss -> adam.loss"


# -- moving


def test_a_drag_moves_the_selection_in_one_step_of_undo(hand: Hand, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    start = hand.node("hidden")
    hand.drag(start, start + QPoint(30, 90), start + QPoint(41, 163))
    assert store.document.nodes["hidden"].at == (480, 160)
    assert store.document.nodes["relu"].at == (680, 160)
    assert store.history.undo_title == "Move 2 nodes"
    store.undo()
    assert store.document == network()


def test_dragging_a_node_that_is_not_selected_selects_it(hand: Hand, store: ProjectStore) -> None:
    store.select(["hidden"])
    start = hand.node("adam")
    hand.drag(start, start + QPoint(0, 100))
    assert store.selection == {"adam"}
    assert store.document.nodes["hidden"].at == (440, 0)


def test_a_small_tremble_is_a_click(hand: Hand, store: ProjectStore) -> None:
    start = hand.node("adam")
    hand.press(start)
    hand.move(start + QPoint(2, 1))
    hand.release(start + QPoint(2, 1))
    assert store.document == network()
    assert store.selection == {"adam"}


def test_nodes_snap_to_their_neighbors_edges(hand: Hand, store: ProjectStore) -> None:
    store.edit("Off the grid", lambda document: edits.move(document, {"adam": (1080, 201)}))
    start = hand.node("hidden")
    hand.hold(start, start + QPoint(0, 203))
    assert hand.view.canvas_scene.gesture_overlay.isVisible()  # the guide line
    hand.release(start + QPoint(0, 203))
    assert store.document.nodes["hidden"].at == (440, 201)
    assert not hand.view.canvas_scene.gesture_overlay.isVisible()


def test_alt_moves_freely(hand: Hand, store: ProjectStore) -> None:
    start = hand.node("adam")
    hand.drag(start, start + QPoint(3, 101), keys=ALT)
    assert store.document.nodes["adam"].at == (1083, 101)


def test_escape_takes_a_move_back(hand: Hand, store: ProjectStore) -> None:
    start = hand.node("hidden")
    hand.hold(start, start + QPoint(50, 150))
    assert hand.view.canvas_scene.nodes["hidden"].at != (440, 0)
    hand.key(Qt.Key.Key_Escape)
    assert hand.view.canvas_scene.nodes["hidden"].at == (440, 0)
    hand.release(start + QPoint(50, 150))
    assert store.document == network()


def test_an_undo_during_a_drag_ends_the_drag(hand: Hand, store: ProjectStore) -> None:
    store.edit("Rename", lambda document: edits.rename(document, "adam", "optimizer"))
    start = hand.node("optimizer")
    hand.hold(start, start + QPoint(50, 150))
    store.undo()
    assert hand.view.gesture is None
    hand.release(start + QPoint(50, 150))
    assert store.document == network()
    assert hand.view.canvas_scene.nodes["adam"].at == (1080, 0)


def test_a_node_dropped_on_a_wire_is_inserted(hand: Hand, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "drop", Node("nn.Dropout", at=(560, 200))))
    goal = hand.wire("hidden.output -> relu.input")
    hand.drag(hand.node("drop"), goal + QPoint(0, -20), goal)
    assert {"hidden.output -> drop.input", "drop.output -> relu.input"} <= wires(store)
    assert "hidden.output -> relu.input" not in wires(store)
    assert store.history.undo_title == "Insert drop into a wire"
    store.undo()
    assert "hidden.output -> relu.input" in wires(store)
    assert store.document.nodes["drop"].at == (560, 200)


def test_a_node_that_does_not_fit_is_only_moved(hand: Hand, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "other", Node("optim.SGD", at=(560, 200))))
    hand.drag(hand.node("other"), hand.wire("hidden.output -> relu.input"))
    assert wires(store) == {str(here) for here in network().wires}


# -- wires


def test_a_wire_is_drawn_from_an_output(hand: Hand, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "gelu", Node("nn.GELU", at=(640, 160))))
    hand.drag(hand.port("hidden", "output", "output"), hand.port("gelu", "input", "input"))
    assert "hidden.output -> gelu.input" in wires(store)
    assert store.history.undo_title == "Connect hidden.output to gelu.input"


def test_a_wire_is_drawn_from_an_input(hand: Hand, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "gelu", Node("nn.GELU", at=(640, 160))))
    hand.drag(hand.port("gelu", "input", "input"), hand.port("hidden", "output", "output"))
    assert "hidden.output -> gelu.input" in wires(store)


def test_the_body_of_a_node_takes_a_wire(hand: Hand, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "gelu", Node("nn.GELU", at=(640, 160))))
    hand.drag(hand.port("hidden", "output", "output"), hand.node("gelu"))
    assert "hidden.output -> gelu.input" in wires(store)


def test_an_occupied_input_is_replaced(hand: Hand, store: ProjectStore) -> None:
    hand.drag(hand.port("hidden", "output", "output"), hand.port("loss", "input", "input"))
    assert "hidden.output -> loss.input" in wires(store)
    assert "relu.output -> loss.input" not in wires(store)


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (("relu", "output", "output"), ("hidden", "input", "input"), "would close a cycle"),
        (("relu", "output", "output"), ("hidden", "output", "output"), "output"),
        (("relu", "output", "output"), ("adam", "input", "loss"), "loss"),
        (("relu", "output", "output"), ("batches", "input", "samples"), "samples"),
    ],
)
def test_a_wrong_wire_is_refused_with_the_reason(
    hand: Hand, store: ProjectStore, source: tuple[str, str, str], target: tuple[str, str, str], reason: str
) -> None:
    goal = hand.port(*target)  # pyright: ignore[reportArgumentType]
    hand.hold(hand.port(*source), goal)  # pyright: ignore[reportArgumentType]
    assert hand.view.overlays.pointer_message.isVisible()
    assert reason in hand.view.overlays.pointer_message.text()
    hand.release(goal)
    assert store.document == network()
    assert hand.view.overlays.pointer_message.isVisible()


def test_while_wiring_what_fits_glows_and_the_rest_fades(hand: Hand) -> None:
    nodes = hand.view.canvas_scene.nodes
    hand.hold(hand.port("relu", "output", "output"), hand.at(740, 300))
    assert nodes["loss"].state.fitting_ports == {"input.input", "input.target"}
    assert not nodes["loss"].state.faded
    assert nodes["hidden"].state.faded
    assert nodes["adam"].state.faded
    hand.key(Qt.Key.Key_Escape)
    assert not any(item.state.faded or item.state.fitting_ports for item in nodes.values())


def test_an_inputs_wire_is_plugged_in_elsewhere(hand: Hand, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "mse", Node("nn.MSELoss", at=(840, 160))))
    hand.drag(hand.port("loss", "input", "input"), hand.port("mse", "input", "input"))
    assert "relu.output -> mse.input" in wires(store)
    assert "relu.output -> loss.input" not in wires(store)
    store.undo()
    assert "relu.output -> loss.input" in wires(store)


def test_an_inputs_wire_dropped_on_nothing_is_gone(hand: Hand, store: ProjectStore) -> None:
    hand.drag(hand.port("loss", "input", "input"), hand.at(760, 250))
    assert "relu.output -> loss.input" not in wires(store)
    assert not hand.view.overlays.search.isVisible()


def test_an_inputs_wire_put_back_changes_nothing(hand: Hand, store: ProjectStore) -> None:
    place = hand.port("loss", "input", "input")
    hand.drag(place, hand.at(760, 250), place)
    assert store.document == network()
    assert not store.history.can_undo


def test_a_wire_is_taken_off_at_its_nearer_end(hand: Hand, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "gelu", Node("nn.GELU", at=(440, 160))))
    hand.drag(hand.wire("relu.output -> loss.input", 0.2), hand.port("gelu", "output", "output"))
    assert "gelu.output -> loss.input" in wires(store)
    assert "relu.output -> loss.input" not in wires(store)


def test_a_wire_dropped_on_empty_canvas_opens_the_search_for_what_fits(hand: Hand, store: ProjectStore) -> None:
    hand.drag(hand.port("loss", "output", "loss"), hand.at(1000, 300))
    search = hand.view.overlays.search
    assert search.isVisible()
    offered = {search.model.kind(leaf) for leaf in search.model.leaves()}
    assert offered == set(catalogue().fitting(catalogue()["optim.Adam"].inputs[0].type, "input"))
    hand.type("sgd", search.field)
    hand.key(Qt.Key.Key_Return, target=search.field)
    assert "loss.loss -> sgd.loss" in wires(store)
    assert store.history.undo_title == "Add SGD"
    x, y = hand.view.canvas_scene.nodes["sgd"].port("input", "loss")
    assert abs(x - 1000) <= 8
    assert abs(y - 300) <= 8
    store.undo()
    assert store.document == network()


def test_alt_click_breaks_the_wires_of_a_port(hand: Hand, store: ProjectStore) -> None:
    hand.click(hand.port("batches", "output", "input"), keys=ALT)
    assert "batches.input -> hidden.input" not in wires(store)
    assert len(store.document.wires) == len(network().wires) - 1
    hand.click(hand.port("loss", "input", "target"), keys=ALT)
    assert "batches.target -> loss.target" not in wires(store)


def test_ctrl_and_the_right_button_cut(hand: Hand, store: ProjectStore) -> None:
    hand.drag(hand.at(600, -100), hand.at(600, 20), hand.at(600, 45), hand.at(600, 100), button=RIGHT, keys=CTRL)
    assert wires(store) == {str(here) for here in network().wires} - {
        "hidden.output -> relu.input",
        "batches.target -> loss.target",
    }
    assert store.history.undo_title == "Cut 2 wires"


def test_escape_leaves_the_knife(hand: Hand, store: ProjectStore) -> None:
    hand.hold(hand.at(600, -100), hand.at(600, 20), hand.at(600, 100), button=RIGHT, keys=CTRL)
    hand.key(Qt.Key.Key_Escape)
    hand.release(hand.at(600, 100), RIGHT, CTRL)
    assert store.document == network()


# -- looking


def test_the_middle_button_pans(hand: Hand) -> None:
    before = hand.view.camera.visible.topLeft()
    start = QPoint(400, 400)
    hand.drag(start, start + QPoint(60, -30), button=MIDDLE)
    assert hand.view.camera.visible.topLeft() == before + QPointF(-60, 30)


def test_space_and_a_drag_pan(hand: Hand, store: ProjectStore) -> None:
    before = hand.view.camera.visible.topLeft()
    QTest.keyPress(hand.view, Qt.Key.Key_Space)
    hand.drag(hand.node("hidden"), hand.node("hidden") + QPoint(50, 0))
    QTest.keyRelease(hand.view, Qt.Key.Key_Space)
    assert hand.view.camera.visible.topLeft() == before + QPointF(-50, 0)
    assert store.document == network()
    assert not hand.view.overlays.search.isVisible()


def test_escape_takes_a_pan_back(hand: Hand) -> None:
    before = hand.view.camera.visible.topLeft()
    hand.hold(QPoint(400, 400), QPoint(500, 450), button=MIDDLE)
    hand.key(Qt.Key.Key_Escape)
    assert hand.view.camera.visible.topLeft() == before


def wheel(view: CanvasView, place: QPoint, notches: float, *, pixels: QPoint | None = None) -> None:
    phase = Qt.ScrollPhase.NoScrollPhase if pixels is None else Qt.ScrollPhase.ScrollUpdate
    event = QWheelEvent(
        QPointF(place),
        QPointF(view.viewport().mapToGlobal(place)),
        pixels or QPoint(),
        QPoint(0, round(120 * notches)),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        phase,
        False,
        device=QPointingDevice.primaryPointingDevice(),
    )
    QApplication.sendEvent(view.viewport(), event)


def test_the_wheel_zooms_at_the_pointer(hand: Hand) -> None:
    camera, place = hand.view.camera, QPoint(300, 200)
    under = camera.to_scene(QPointF(place))
    for notches in (1, 2, -5, 1.25):
        wheel(hand.view, place, notches)
        assert (camera.to_view(under) - QPointF(place)).manhattanLength() <= 2
    assert camera.scale == pytest.approx(1.2 ** (1 + 2 - 5 + 1.25))


def test_the_zoom_is_bounded(hand: Hand) -> None:
    seen: list[float] = []
    hand.view.zoom_changed.connect(seen.append)
    wheel(hand.view, QPoint(10, 10), 100)
    wheel(hand.view, QPoint(10, 10), -200)
    assert seen == [4.0, 0.05]


def test_two_fingers_pan(hand: Hand) -> None:
    before = hand.view.camera.visible.topLeft()
    wheel(hand.view, QPoint(300, 200), 0.2, pixels=QPoint(-12, 30))
    assert hand.view.camera.visible.topLeft() == before + QPointF(12, -30)
    assert hand.view.camera.scale == 1.0


def test_hovering_shows_the_path(hand: Hand) -> None:
    hand.move(hand.wire("hidden.output -> relu.input"))
    assert hand.view.canvas_scene.hovered.wire == wire("hidden.output -> relu.input")
    hand.move(hand.port("relu", "output", "output"))
    assert hand.view.canvas_scene.nodes["relu"].state.hovered_port == "output.output"
    hand.move(hand.at(600, 300))
    assert hand.view.canvas_scene.nodes["relu"].state.hovered_port is None


def test_a_double_click_on_nothing_adds_a_node_there(hand: Hand, store: ProjectStore) -> None:
    hand.double_click(hand.at(700, 300))
    hand.type("gelu", hand.view.overlays.search.field)
    hand.key(Qt.Key.Key_Return, target=hand.view.overlays.search.field)
    x, y = store.document.nodes["gelu"].at
    assert 640 <= x <= 700
    assert 280 <= y <= 300
    assert store.selection == {"gelu"}


def test_a_right_click_selects_and_opens_the_menu_of_a_node(hand: Hand, store: ProjectStore, qtbot: object) -> None:
    hand.click(hand.node("hidden"), RIGHT)
    menu = QApplication.activePopupWidget()
    assert store.selection == {"hidden"}
    assert menu is not None
    titles = [action.text() for action in menu.actions() if action.text()]
    assert titles[:5] == ["Rename…", "Mute", "Freeze", "Recompute in the backward pass", "Collapse"]
    menu.close()


@pytest.mark.parametrize(("place", "first"), [((600, 300), "Add node…"), ((1040, 36), "Delete")])
def test_menus_of_wire_and_canvas(hand: Hand, place: tuple[float, float], first: str) -> None:
    hand.click(hand.at(*place), RIGHT)
    menu = QApplication.activePopupWidget()
    assert menu is not None
    assert menu.actions()[0].text() == first
    menu.close()
