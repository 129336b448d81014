"""Mouse gestures on the canvas, with real mouse events."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QPointingDevice, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Node
from studio.nodes.catalogue import catalogue
from studio.ui.canvas import composite_edits
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Side
from studio.ui.canvas.gestures import edge_panning
from studio.ui.project.project_store import ProjectStore
from tests.ui.canvas.conftest import network, wire
from tests.ui.canvas.mouse_and_keyboard import ALT, CTRL, MIDDLE, RIGHT, SHIFT, MouseAndKeyboard


def wires(store: ProjectStore) -> set[str]:
    return {str(here) for here in store.document.wires}


# -- selecting


def test_click_selects_and_click_on_empty_canvas_deselects(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(user.node("hidden"))
    assert store.selection == {"hidden"}
    user.click(user.node("relu"))
    assert store.selection == {"relu"}
    user.click(user.at(600, 300))
    assert store.selection == frozenset()


@pytest.mark.parametrize("keys", [SHIFT, CTRL])
def test_shift_and_ctrl_toggle_the_selection(
    user: MouseAndKeyboard, store: ProjectStore, keys: Qt.KeyboardModifier
) -> None:
    user.click(user.node("hidden"))
    user.click(user.node("relu"), keys=keys)
    assert store.selection == {"hidden", "relu"}
    user.click(user.node("hidden"), keys=keys)
    assert store.selection == {"relu"}


def test_rubber_band_selects_touched_nodes(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.drag(user.at(430, -60), user.at(700, 30))
    assert store.selection == {"hidden", "relu"}
    user.drag(user.at(1070, -60), user.at(1090, 30), keys=SHIFT)
    assert store.selection == {"hidden", "relu", "adam"}
    user.drag(user.at(430, -60), user.at(500, 30), keys=CTRL)
    assert store.selection == {"relu", "adam"}


def test_escape_cancels_the_rubber_band(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["adam"])
    user.hold(user.at(430, -60), user.at(700, 30))
    assert store.selection == {"hidden", "relu"}
    user.key(Qt.Key.Key_Escape)
    assert store.selection == {"adam"}
    assert not user.view.canvas_scene.gesture_overlay.isVisible()
    user.release(user.at(700, 30))
    assert store.selection == {"adam"}


def test_click_selects_a_wire_and_delete_removes_it(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(user.wire("loss.loss -> adam.loss"))
    assert [str(here) for here in user.view.canvas_scene.selection.wires] == ["loss.loss -> adam.loss"]
    user.key(Qt.Key.Key_Delete)
    assert "loss.loss -> adam.loss" not in wires(store)
    assert store.history.undo_title == "Delete loss.loss -> adam.loss"


# -- moving


def test_dragging_the_selection_is_one_undo_step(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    start = user.node("hidden")
    user.drag(start, start + QPoint(30, 90), start + QPoint(41, 163))
    assert store.document.nodes["hidden"].at == (480, 160)
    assert store.document.nodes["relu"].at == (680, 160)
    assert store.history.undo_title == "Move 2 nodes"
    store.undo()
    assert store.document == network()


def test_dragging_an_unselected_node_selects_it(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.select(["hidden"])
    start = user.node("adam")
    user.drag(start, start + QPoint(0, 100))
    assert store.selection == {"adam"}
    assert store.document.nodes["hidden"].at == (440, 0)


def test_movement_below_the_drag_distance_is_a_click(user: MouseAndKeyboard, store: ProjectStore) -> None:
    start = user.node("adam")
    user.press(start)
    user.move(start + QPoint(2, 1))
    user.release(start + QPoint(2, 1))
    assert store.document == network()
    assert store.selection == {"adam"}


def test_nodes_snap_to_their_neighbors_edges(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Off the grid", lambda document: edits.move(document, {"adam": (1080, 201)}))
    start = user.node("hidden")
    user.hold(start, start + QPoint(0, 203))
    assert user.view.canvas_scene.gesture_overlay.isVisible()  # the guide line
    user.release(start + QPoint(0, 203))
    assert store.document.nodes["hidden"].at == (440, 201)
    assert not user.view.canvas_scene.gesture_overlay.isVisible()


def test_alt_disables_snapping(user: MouseAndKeyboard, store: ProjectStore) -> None:
    start = user.node("adam")
    user.drag(start, start + QPoint(3, 101), keys=ALT)
    assert store.document.nodes["adam"].at == (1083, 101)


def test_escape_cancels_a_move(user: MouseAndKeyboard, store: ProjectStore) -> None:
    start = user.node("hidden")
    user.hold(start, start + QPoint(50, 150))
    assert user.view.canvas_scene.nodes["hidden"].at != (440, 0)
    user.key(Qt.Key.Key_Escape)
    assert user.view.canvas_scene.nodes["hidden"].at == (440, 0)
    user.release(start + QPoint(50, 150))
    assert store.document == network()


def test_undo_during_a_drag_cancels_the_drag(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Rename", lambda document: edits.rename(document, "adam", "optimizer"))
    start = user.node("optimizer")
    user.hold(start, start + QPoint(50, 150))
    store.undo()
    assert user.view.gesture is None
    user.release(start + QPoint(50, 150))
    assert store.document == network()
    assert user.view.canvas_scene.nodes["adam"].at == (1080, 0)


def test_node_dropped_on_a_wire_is_inserted(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "drop", Node("nn.Dropout", at=(560, 200))))
    goal = user.wire("hidden.output -> relu.input")
    user.drag(user.node("drop"), goal + QPoint(0, -20), goal)
    assert {"hidden.output -> drop.input", "drop.output -> relu.input"} <= wires(store)
    assert "hidden.output -> relu.input" not in wires(store)
    assert store.history.undo_title == "Insert drop into a wire"
    store.undo()
    assert "hidden.output -> relu.input" in wires(store)
    assert store.document.nodes["drop"].at == (560, 200)


def test_a_wire_does_not_dodge_the_node_to_be_inserted(user: MouseAndKeyboard, store: ProjectStore) -> None:
    def edit(document: Document) -> Document:
        document = composite_edits.move_nodes(document, {"relu": (760, 0), "loss": (980, 0), "adam": (1200, 0)})
        return edits.add(document, "drop", Node("nn.Dropout", at=(600, 0)))

    store.edit("Add", edit)
    router = user.view.canvas_scene.wire_router
    router.finish()
    item = next(item for wire, item in user.view.canvas_scene.wires.items() if wire.target.node == "relu")
    dodged, start = item.curve, user.node("drop")
    user.hold(start, start + QPoint(0, 150))
    router.finish()
    straight = item.curve
    assert straight != dodged
    user.move(start, button=Qt.MouseButton.LeftButton)
    router.finish()
    assert item.curve == straight
    user.key(Qt.Key.Key_Escape)
    user.release(start)
    router.finish()
    assert item.curve == dodged
    user.drag(start, start + QPoint(0, 150), start + QPoint(0, 20), start)
    assert {"hidden.output -> drop.input", "drop.output -> relu.input"} <= wires(store)


def test_node_without_matching_ports_is_not_inserted(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "other", Node("optim.SGD", at=(560, 200))))
    user.drag(user.node("other"), user.wire("hidden.output -> relu.input"))
    assert wires(store) == {str(here) for here in network().wires}


def test_panning_at_the_edge_ends_behind_the_last_node(
    user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_panning, "_MAX_STEP", 400.0)
    right = user.view.viewport().rect().right()
    start = user.port("hidden", "output", "output")
    before = user.view.camera.visible.left()
    user.hold(start, QPoint(right - 2, start.y()))
    edge = user.view.canvas_scene.boxes()["adam"].right
    qtbot.waitUntil(lambda: user.view.camera.visible.left() > edge)
    ended = user.view.camera.visible.left()
    QTest.qWait(100)
    assert before < ended == user.view.camera.visible.left()
    user.move(QPoint(2, start.y()), button=Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: user.view.camera.visible.left() < edge)  # the way back is free
    user.key(Qt.Key.Key_Escape)
    user.release(start)


def test_a_layout_out_of_view_is_shown(user: MouseAndKeyboard, store: ProjectStore, qtbot: QtBot) -> None:
    user.view.camera.center_on(QPointF(90_000, 90_000))
    user.key(Qt.Key.Key_L)
    boxes = user.view.canvas_scene.boxes

    def shows_all() -> bool:
        visible = user.view.camera.visible
        return all(visible.contains(box.left, box.top) for box in boxes().values())

    qtbot.waitUntil(shows_all, timeout=10_000)


# -- wires


def test_draw_a_wire_from_an_output(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "gelu", Node("nn.GELU", at=(640, 160))))
    user.drag(user.port("hidden", "output", "output"), user.port("gelu", "input", "input"))
    assert "hidden.output -> gelu.input" in wires(store)
    assert store.history.undo_title == "Connect hidden.output to gelu.input"


def test_draw_a_wire_from_an_input(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "gelu", Node("nn.GELU", at=(640, 160))))
    user.drag(user.port("gelu", "input", "input"), user.port("hidden", "output", "output"))
    assert "hidden.output -> gelu.input" in wires(store)


def test_a_node_that_joins_tensors_grows_an_input_with_each_wire(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "join", Node("ops.cat", at=(640, 160))))
    content = user.view.canvas_scene.nodes["join"]
    for port, inputs in (("a", ["a", "b"]), ("b", ["a", "b", "c"]), ("c", ["a", "b", "c", "d"])):
        user.drag(user.port("hidden", "output", "output"), user.port("join", "input", port))
        assert f"hidden.output -> join.{port}" in wires(store)
        assert [each.name for each in content.content.inputs] == inputs
    user.click(user.wire("hidden.output -> join.b"))
    user.key(Qt.Key.Key_Delete)
    assert [each.name for each in content.content.inputs] == ["a", "b", "c"]
    user.drag(user.port("hidden", "output", "output"), user.node("join"))
    assert "hidden.output -> join.b" in wires(store)
    for _ in range(5):
        store.undo()
    assert [each.name for each in content.content.inputs] == ["a", "b"]
    for _ in range(5):
        store.redo()
    assert [each.name for each in content.content.inputs] == ["a", "b", "c", "d"]


def test_wire_dropped_on_a_node_connects_to_a_matching_port(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "gelu", Node("nn.GELU", at=(640, 160))))
    user.drag(user.port("hidden", "output", "output"), user.node("gelu"))
    assert "hidden.output -> gelu.input" in wires(store)


def test_new_wire_replaces_the_wire_of_an_input(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.drag(user.port("hidden", "output", "output"), user.port("loss", "input", "input"))
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
def test_refused_wire_shows_the_reason(
    user: MouseAndKeyboard,
    store: ProjectStore,
    source: tuple[str, Side, str],
    target: tuple[str, Side, str],
    reason: str,
) -> None:
    goal = user.port(*target)
    user.hold(user.port(*source), goal)
    assert user.view.overlays.pointer_message.isVisible()
    assert reason in user.view.overlays.pointer_message.text()
    user.release(goal)
    assert store.document == network()
    assert user.view.overlays.pointer_message.isVisible()


def test_matching_ports_are_highlighted_while_drawing_a_wire(user: MouseAndKeyboard) -> None:
    nodes = user.view.canvas_scene.nodes
    user.hold(user.port("relu", "output", "output"), user.at(740, 300))
    assert nodes["loss"].state.fitting_ports == {"input.input", "input.target"}
    assert not nodes["loss"].state.faded
    assert nodes["hidden"].state.faded
    assert nodes["adam"].state.faded
    user.key(Qt.Key.Key_Escape)
    assert not any(item.state.faded or item.state.fitting_ports for item in nodes.values())


def test_reconnect_the_wire_of_an_input(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "mse", Node("nn.MSELoss", at=(840, 160))))
    user.drag(user.port("loss", "input", "input"), user.port("mse", "input", "input"))
    assert "relu.output -> mse.input" in wires(store)
    assert "relu.output -> loss.input" not in wires(store)
    store.undo()
    assert "relu.output -> loss.input" in wires(store)


def test_dropping_a_detached_wire_on_empty_canvas_removes_it(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.drag(user.port("loss", "input", "input"), user.at(760, 250))
    assert "relu.output -> loss.input" not in wires(store)
    assert not user.view.overlays.search.isVisible()


def test_reattaching_a_detached_wire_changes_nothing(user: MouseAndKeyboard, store: ProjectStore) -> None:
    position = user.port("loss", "input", "input")
    user.drag(position, user.at(760, 250), position)
    assert store.document == network()
    assert not store.history.can_undo


def test_dragging_a_wire_detaches_its_nearer_end(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "gelu", Node("nn.GELU", at=(440, 160))))
    user.drag(user.wire("relu.output -> loss.input", 0.2), user.port("gelu", "output", "output"))
    assert "gelu.output -> loss.input" in wires(store)
    assert "relu.output -> loss.input" not in wires(store)


def test_dropping_a_wire_on_empty_canvas_searches_matching_types(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.drag(user.port("loss", "output", "loss"), user.at(1000, 300))
    search = user.view.overlays.search
    assert search.isVisible()
    offered = {search.model.kind(leaf) for leaf in search.model.leaves()}
    assert offered == set(catalogue().fitting(catalogue()["optim.Adam"].inputs[0].type, "input"))
    user.type("sgd", search.field)
    user.key(Qt.Key.Key_Return, target=search.field)
    assert "loss.loss -> sgd.loss" in wires(store)
    assert store.history.undo_title == "Add SGD"
    x, y = user.view.canvas_scene.nodes["sgd"].port("input", "loss")
    assert abs(x - 1000) <= 8
    assert abs(y - 300) <= 8
    store.undo()
    assert store.document == network()


def test_alt_click_disconnects_a_port(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.click(user.port("batches", "output", "input"), keys=ALT)
    assert "batches.input -> hidden.input" not in wires(store)
    assert len(store.document.wires) == len(network().wires) - 1
    user.click(user.port("loss", "input", "target"), keys=ALT)
    assert "batches.target -> loss.target" not in wires(store)


def test_ctrl_and_right_drag_cut_wires(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.drag(user.at(600, -100), user.at(600, 20), user.at(600, 45), user.at(600, 100), button=RIGHT, keys=CTRL)
    assert wires(store) == {str(here) for here in network().wires} - {
        "hidden.output -> relu.input",
        "batches.target -> loss.target",
    }
    assert store.history.undo_title == "Cut 2 wires"


def test_escape_cancels_cutting(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.hold(user.at(600, -100), user.at(600, 20), user.at(600, 100), button=RIGHT, keys=CTRL)
    user.key(Qt.Key.Key_Escape)
    user.release(user.at(600, 100), RIGHT, CTRL)
    assert store.document == network()


# -- looking


def test_middle_button_pans(user: MouseAndKeyboard) -> None:
    before = user.view.camera.visible.topLeft()
    start = QPoint(400, 400)
    user.drag(start, start + QPoint(60, -30), button=MIDDLE)
    assert user.view.camera.visible.topLeft() == before + QPointF(-60, 30)


def test_space_and_drag_pan(user: MouseAndKeyboard, store: ProjectStore) -> None:
    before = user.view.camera.visible.topLeft()
    QTest.keyPress(user.view, Qt.Key.Key_Space)
    user.drag(user.node("hidden"), user.node("hidden") + QPoint(50, 0))
    QTest.keyRelease(user.view, Qt.Key.Key_Space)
    assert user.view.camera.visible.topLeft() == before + QPointF(-50, 0)
    assert store.document == network()
    assert not user.view.overlays.search.isVisible()


def test_escape_cancels_a_pan(user: MouseAndKeyboard) -> None:
    before = user.view.camera.visible.topLeft()
    user.hold(QPoint(400, 400), QPoint(500, 450), button=MIDDLE)
    user.key(Qt.Key.Key_Escape)
    assert user.view.camera.visible.topLeft() == before


def wheel(view: CanvasView, position: QPoint, notches: float, *, pixels: QPoint | None = None) -> None:
    phase = Qt.ScrollPhase.NoScrollPhase if pixels is None else Qt.ScrollPhase.ScrollUpdate
    event = QWheelEvent(
        QPointF(position),
        QPointF(view.viewport().mapToGlobal(position)),
        pixels or QPoint(),
        QPoint(0, round(120 * notches)),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        phase,
        False,
        device=QPointingDevice.primaryPointingDevice(),
    )
    QApplication.sendEvent(view.viewport(), event)


def test_wheel_zooms_at_the_pointer(user: MouseAndKeyboard) -> None:
    camera, position = user.view.camera, QPoint(300, 200)
    under = camera.to_scene(QPointF(position))
    for notches in (1, 2, -5, 1.25):
        wheel(user.view, position, notches)
        assert (camera.to_view(under) - QPointF(position)).manhattanLength() <= 2
    assert camera.scale == pytest.approx(1.2 ** (1 + 2 - 5 + 1.25))


def test_zoom_is_bounded(user: MouseAndKeyboard) -> None:
    scales: list[float] = []
    user.view.zoom_changed.connect(scales.append)
    wheel(user.view, QPoint(10, 10), 100)
    wheel(user.view, QPoint(10, 10), -200)
    assert scales == [4.0, 0.05]


def test_touchpad_scroll_pans(user: MouseAndKeyboard) -> None:
    before = user.view.camera.visible.topLeft()
    wheel(user.view, QPoint(300, 200), 0.2, pixels=QPoint(-12, 30))
    assert user.view.camera.visible.topLeft() == before + QPointF(12, -30)
    assert user.view.camera.scale == 1.0


def test_hovering_highlights_wire_and_port(user: MouseAndKeyboard) -> None:
    user.move(user.wire("hidden.output -> relu.input"))
    assert user.view.canvas_scene.marks.hovered.wire == wire("hidden.output -> relu.input")
    user.move(user.port("relu", "output", "output"))
    assert user.view.canvas_scene.nodes["relu"].state.hovered_port == "output.output"
    user.move(user.at(600, 300))
    assert user.view.canvas_scene.nodes["relu"].state.hovered_port is None


def test_double_click_on_empty_canvas_adds_a_node(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.double_click(user.at(700, 300))
    user.type("gelu", user.view.overlays.search.field)
    user.key(Qt.Key.Key_Return, target=user.view.overlays.search.field)
    x, y = store.document.nodes["gelu"].at
    assert 640 <= x <= 700
    assert 280 <= y <= 300
    assert store.selection == {"gelu"}


def test_right_click_selects_a_node_and_opens_its_menu(
    user: MouseAndKeyboard, store: ProjectStore, qtbot: object
) -> None:
    user.click(user.node("hidden"), RIGHT)
    menu = QApplication.activePopupWidget()
    assert store.selection == {"hidden"}
    assert menu is not None
    titles = [action.text() for action in menu.actions() if action.text()]
    assert titles[:5] == ["Rename…", "Mute", "Freeze", "Recompute in the backward pass", "Collapse"]
    menu.close()


@pytest.mark.parametrize(("position", "first"), [((600, 300), "Add node…"), ((1040, 36), "Add reroute point")])
def test_context_menus_of_wire_and_canvas(user: MouseAndKeyboard, position: tuple[float, float], first: str) -> None:
    user.click(user.at(*position), RIGHT)
    menu = QApplication.activePopupWidget()
    assert menu is not None
    assert menu.actions()[0].text() == first
    menu.close()
