"""Reroute points of wires, with mouse and key events."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from studio.document import edits, frames, wire_routes
from studio.document.model import Frame
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.wires.wire_curve import curve_through
from studio.ui.project.project_store import ProjectStore
from tests.ui.canvas.conftest import wire
from tests.ui.canvas.mouse_and_keyboard import CTRL, RIGHT, SHIFT, MouseAndKeyboard

WIRE = wire("relu.output -> loss.input")
positions = st.tuples(st.floats(-1000, 1000), st.floats(-1000, 1000))


@pytest.fixture
def routed(view: CanvasView) -> ProjectStore:
    """A store whose wire from relu to loss has a reroute point at (760, 120)."""
    store = view.store.project
    store.edit("Reroute", lambda document: wire_routes.set_route(document, WIRE.target, [(760, 120)]))
    return store


@given(positions, st.lists(positions, max_size=4), positions)
def test_the_curve_runs_smoothly_through_its_points(
    start: tuple[float, float], points: list[tuple[float, float]], end: tuple[float, float]
) -> None:
    curve = curve_through(start, points, end)
    assert [piece.start for piece in curve.pieces] == [start, *points]
    assert [piece.end for piece in curve.pieces] == [*points, end]
    assert curve.pieces[0].first.y == pytest.approx(start[1])
    assert curve.pieces[-1].second.y == pytest.approx(end[1])
    for before, after in pairwise(curve.pieces):
        arriving = (before.end.x - before.second.x, before.end.y - before.second.y)
        leaving = (after.first.x - after.start.x, after.first.y - after.start.y)
        assert arriving[0] * leaving[1] == pytest.approx(arriving[1] * leaving[0], abs=1e-3)
    for point in points:
        assert curve.nearest(point)[1] == pytest.approx(point, abs=1e-6)


def test_double_click_adds_a_point_and_a_drag_moves_it(user: MouseAndKeyboard, store: ProjectStore) -> None:
    user.double_click(user.wire(str(WIRE)))
    [point] = store.document.routes[WIRE.target]
    assert store.history.undo_title == "Add reroute point to loss.input"
    user.drag(user.at(*point), user.at(*point) + QPoint(0, 60), user.at(point[0], 160))
    assert store.document.routes[WIRE.target] == ((point[0], 160),)
    assert store.history.undo_title == "Move reroute point of loss.input"
    curve = user.view.canvas_scene.wires[WIRE].curve
    assert curve.distance((point[0], 160)) == pytest.approx(0, abs=1e-6)
    user.double_click(user.wire(str(WIRE), 0.8))
    assert store.document.routes[WIRE.target][0] == (point[0], 160)
    assert len(store.document.routes[WIRE.target]) == 2
    while store.history.can_undo:
        store.undo()
    assert store.document.routes == {}
    assert user.view.canvas_scene.wires[WIRE].points == ()


def test_points_are_inserted_in_the_order_of_the_wire(user: MouseAndKeyboard, routed: ProjectStore) -> None:
    user.double_click(user.wire(str(WIRE), 0.25))
    first, second = routed.document.routes[WIRE.target]
    assert second == (760, 120)
    assert first[0] < 760


def test_escape_cancels_moving_a_point(user: MouseAndKeyboard, routed: ProjectStore) -> None:
    before = routed.document
    user.hold(user.at(760, 120), user.at(760, 300))
    assert user.view.canvas_scene.wires[WIRE].points == ((760, 304),)
    user.key(Qt.Key.Key_Escape)
    user.release(user.at(760, 300))
    assert routed.document is before
    assert user.view.canvas_scene.wires[WIRE].points == ((760, 120),)


def test_a_point_snaps_to_the_height_of_its_neighbors(user: MouseAndKeyboard, routed: ProjectStore) -> None:
    end = user.view.canvas_scene.wires[WIRE].curve.end
    user.drag(user.at(760, 120), user.at(760, end.y + 3))
    assert routed.document.routes[WIRE.target][0][1] == end.y


def test_delete_removes_the_selected_point_and_keeps_the_wire(user: MouseAndKeyboard, routed: ProjectStore) -> None:
    user.click(user.at(760, 120))
    assert user.view.canvas_scene.selection.points == ((WIRE, 0),)
    user.key(Qt.Key.Key_Delete)
    assert routed.document.routes == {}
    assert WIRE in routed.document.wires
    assert routed.history.undo_title == "Delete reroute point of loss.input"


def test_several_points_are_deleted_at_once(user: MouseAndKeyboard, routed: ProjectStore) -> None:
    points = [(700.0, 120.0), (760.0, 160.0), (820.0, 200.0)]
    routed.edit("Reroute", lambda document: wire_routes.set_route(document, WIRE.target, points))
    user.click(user.at(*points[0]))
    user.click(user.at(*points[2]), keys=SHIFT)
    user.key(Qt.Key.Key_Delete)
    assert routed.document.routes[WIRE.target] == (points[1],)


@pytest.mark.parametrize("entry", ["Delete", "Remove reroute points"])
def test_the_menu_of_a_point_removes_it(user: MouseAndKeyboard, routed: ProjectStore, entry: str) -> None:
    user.click(user.at(760, 120), RIGHT)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    next(action for action in menu.actions() if action.text() == entry).trigger()
    menu.close()
    assert routed.document.routes == {}
    assert WIRE in routed.document.wires


def test_points_move_with_both_nodes_and_stay_with_one(user: MouseAndKeyboard, routed: ProjectStore) -> None:
    routed.select(["relu", "loss"])
    user.drag(user.node("relu"), user.node("relu") + QPoint(0, 80))
    assert routed.document.routes[WIRE.target] == ((760, 200),)
    routed.undo()
    routed.select(["relu"])
    user.drag(user.node("relu"), user.node("relu") + QPoint(0, 80))
    assert routed.document.routes[WIRE.target] == ((760, 120),)


def test_rerouted_wires_can_be_cut_and_inserted_into(user: MouseAndKeyboard, routed: ProjectStore) -> None:
    user.drag(user.at(720, 220), user.at(760, 150), user.at(790, 40), button=RIGHT, keys=CTRL)
    assert WIRE not in routed.document.wires
    assert routed.document.routes == {}
    routed.undo()
    assert routed.document.routes[WIRE.target] == ((760, 120),)
    assert user.view.canvas_scene.wires[WIRE].points == ((760, 120),)


def test_a_renamed_node_keeps_the_points_on_the_canvas(view: CanvasView, routed: ProjectStore) -> None:
    routed.edit("Rename", lambda document: edits.rename(document, "loss", "objective"))
    assert view.canvas_scene.wires[wire("relu.output -> objective.input")].points == ((760, 120),)


def test_a_layout_removes_points_and_fits_frames(
    view: CanvasView, user: MouseAndKeyboard, routed: ProjectStore, qtbot: QtBot
) -> None:
    frame = Frame("Trunk", "", "gray", (400, -60), (900, 400))
    routed.edit("Frame", lambda document: frames.add_frame(document, "trunk", frame))
    inside = frames.nodes_in(routed.document, frame)
    with qtbot.waitSignal(view.auto_layout.finished):
        user.key(Qt.Key.Key_L)
    assert routed.document.routes == {}
    assert set(frames.nodes_in(routed.document, routed.document.frames["trunk"])) >= set(inside)
    assert routed.document.frames["trunk"] != frame
