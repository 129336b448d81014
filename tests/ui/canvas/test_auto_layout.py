"""Layout of the canvas by its key: one undo step, cancelled by Escape, frames and reroute points follow."""

from __future__ import annotations

import threading
from itertools import combinations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.frames import add_frame, nodes_in
from studio.document.model import Document, Endpoint, Frame, Node
from studio.document.wire_routes import set_route
from studio.ui.canvas.canvas_options import CanvasOptions
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.layout import auto_layout
from tests.ui.canvas.conftest import MakeView, wire
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard


def chain(count: int) -> Document:
    nodes = {f"n{index}": Node("nn.ReLU", at=(200.0 * index, 8.0 * (index % 5))) for index in range(count)}
    wires = tuple(sorted(wire(f"n{index}.output -> n{index + 1}.input") for index in range(count - 1)))
    return Document(nodes, wires)


def lay_out(view: CanvasView, qtbot: QtBot) -> None:
    before = view.store.document
    MouseAndKeyboard(view).key(Qt.Key.Key_L)
    qtbot.waitUntil(lambda: view.store.document is not before and not view.auto_layout.is_busy)


def test_layout_is_one_undo_step_and_fits_the_window_better(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view(chain(24))
    before = view.store.document
    view.canvas_actions.fit_all()
    scale = view.camera.scale
    lay_out(view, qtbot)
    view.canvas_actions.fit_all()
    assert view.camera.scale > 1.5 * scale
    view.store.project.undo()
    assert view.store.document == before


def test_a_layout_is_brought_into_view_unless_it_is_in_view(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view(chain(24))
    view.camera.zoom_to(2.0, animated=False)
    lay_out(view, qtbot)
    qtbot.waitUntil(lambda: in_view(view))
    view.camera.zoom_to(0.9 * view.camera.scale, animated=False)
    before = view.camera.scale, view.camera.visible
    view.store.edit("Move", lambda document: edits.move(document, {"n3": (0.0, 0.0)}))
    lay_out(view, qtbot)
    view.camera.finish()
    assert (view.camera.scale, view.camera.visible) == before and in_view(view)


def in_view(view: CanvasView) -> bool:
    boxes = view.canvas_scene.boxes().values()
    return all(view.camera.visible.contains(box.center.x, box.center.y) for box in boxes)


@pytest.mark.parametrize(("grid", "snaps", "step"), [(16, True, 16), (32, True, 32), (32, False, 8)])
def test_nodes_are_laid_out_on_the_grid(grid: int, snaps: bool, step: int, make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view(chain(24))
    view.set_options(CanvasOptions(grid=grid, snaps_to_grid=snaps))
    view.store.edit("Move", lambda document: edits.move(document, {"n3": (1.0, 3.0)}))
    lay_out(view, qtbot)
    assert {value % step for node in view.store.document.nodes.values() for value in node.at} == {0.0}
    boxes = list(view.canvas_scene.boxes().values())
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_escape_cancels_a_layout(make_view: MakeView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    view = make_view(chain(24))
    before, compute = view.store.document, auto_layout.arrange_in_rows
    started, messages = threading.Event(), list[str]()

    def slow(*arguments: object) -> object:
        started.set()
        cancelled = arguments[-1]
        assert callable(cancelled)
        while not cancelled():
            threading.Event().wait(0.005)
        return compute(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(auto_layout, "arrange_in_rows", slow)
    view.auto_layout.progress.connect(messages.append)
    user = MouseAndKeyboard(view)
    user.key(Qt.Key.Key_L)
    qtbot.waitUntil(lambda: bool(messages))
    assert messages == ["Laying out 24 nodes. Press Escape to cancel."]
    user.key(Qt.Key.Key_Escape)
    assert not view.auto_layout.is_busy
    assert messages[-1] == ""
    qtbot.wait(20)
    assert view.store.document is before


def test_frames_follow_their_nodes_and_reroute_points_are_removed(make_view: MakeView, qtbot: QtBot) -> None:
    document = add_frame(chain(24), "part", Frame("Part", at=(580.0, -40.0), size=(640.0, 160.0)))
    document = set_route(document, Endpoint("n5", "input"), [(900.0, 300.0)])
    view = make_view(document)
    inside = nodes_in(document, document.frames["part"])
    assert inside
    lay_out(view, qtbot)
    after = view.store.document
    assert set(inside) <= set(nodes_in(after, after.frames["part"]))
    assert not after.routes


def test_a_graph_without_positions_is_laid_out(make_view: MakeView, qtbot: QtBot) -> None:
    document = chain(6)
    view = make_view(edits.move(document, dict.fromkeys(document.nodes, (0.0, 0.0))))
    view.canvas_actions.lay_out_if_unplaced()
    qtbot.waitUntil(lambda: len({node.at for node in view.store.document.nodes.values()}) == 6)
    view.canvas_actions.lay_out_if_unplaced()
    assert not view.auto_layout.is_busy
