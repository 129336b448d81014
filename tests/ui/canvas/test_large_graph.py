"""Work for opening, panning, dragging and hovering with 2,000 nodes, counted in layouts and paints instead of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.canvas.layers.overview_layer import OverviewLayer
from studio.ui.canvas.nodes import node_item
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.wires import wire_item
from studio.ui.canvas.wires.wire_item import WireItem
from tests.ui.canvas.conftest import MakeView
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard

COLUMNS, COUNT = 50, 2000


def grid() -> Document:
    """Rows of layers, each wired to the next."""
    nodes = {f"n{index}": Node("nn.ReLU", at=(index % COLUMNS * 200, index // COLUMNS * 80)) for index in range(COUNT)}
    wires = (
        Wire(Endpoint(f"n{index}", "output"), Endpoint(f"n{index + 1}", "input"))
        for index in range(COUNT - 1)
        if index % COLUMNS != COLUMNS - 1
    )
    return Document(nodes, tuple(sorted(wires)))


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts layouts and paints of nodes and wires."""
    counted: Counter[str] = Counter()

    def count(owner: object, name: str, label: str) -> None:
        function: Callable[..., object] = getattr(owner, name)

        def counting(*arguments: object, **named: object) -> object:
            counted[label] += 1
            return function(*arguments, **named)

        monkeypatch.setattr(owner, name, counting)

    count(node_item, "node_layout", "layouts")
    count(wire_item, "wire_curve", "routes")
    count(NodeItem, "paint", "nodes painted")
    count(WireItem, "paint", "wires painted")
    count(OverviewLayer, "paint", "layers painted")
    return counted


@pytest.fixture
def view(make_view: MakeView, counts: Counter[str], qtbot: QtBot) -> CanvasView:
    view = make_view(grid())
    assert counts["layouts"] == COUNT
    assert counts["routes"] == len(view.store.document.wires)
    process_paints(view, qtbot)
    counts.clear()
    return view


def process_paints(view: CanvasView, qtbot: QtBot) -> None:
    """Process pending paint events."""
    view.viewport().repaint()
    qtbot.wait(1)


def test_only_visible_items_are_painted(view: CanvasView, counts: Counter[str], qtbot: QtBot) -> None:
    process_paints(view, qtbot)
    assert 0 < counts["nodes painted"] < 200
    assert counts["layouts"] == 0


def test_panning_paints_only_exposed_strips(view: CanvasView, counts: Counter[str], qtbot: QtBot) -> None:
    assert view.overlays.minimap.isVisible()
    process_paints(view, qtbot)
    visible_nodes = counts["nodes painted"]
    counts.clear()
    for _ in range(20):
        view.camera.pan(-9, 4)
        qtbot.wait(1)
    assert counts["layouts"] == counts["routes"] == 0
    assert counts["nodes painted"] < 20 * visible_nodes / 2  # the strips that come into view, not all of it


def test_dragging_a_node_updates_only_its_wires(view: CanvasView, counts: Counter[str], qtbot: QtBot) -> None:
    view.camera.center_on(QPointF(5000, 1600))
    process_paints(view, qtbot)
    counts.clear()
    user = MouseAndKeyboard(view)
    start = user.node("n1025")
    user.hold(start, *(start + QPoint(3 * step, 5 * step) for step in range(1, 11)))
    assert counts["layouts"] == 0
    assert counts["routes"] <= 2 * 12
    user.release(start + QPoint(30, 50))
    assert counts["layouts"] == 0
    assert counts["routes"] <= 2 * 15
    assert view.store.project.history.undo_title == "Move n1025"


def test_edit_updates_only_changed_items(view: CanvasView, counts: Counter[str], qtbot: QtBot) -> None:
    view.store.edit("Mute", lambda document: edits.set_flag(document, ["n7"], muted=True))
    qtbot.waitUntil(lambda: view.store.project.is_checked)
    assert counts["layouts"] == 1
    assert counts["routes"] == 0


def test_overview_paints_no_single_items(view: CanvasView, counts: Counter[str], qtbot: QtBot) -> None:
    view.canvas_actions.fit_all()
    process_paints(view, qtbot)
    assert counts["nodes painted"] == counts["wires painted"] == counts["layouts"] == 0
    assert counts["layers painted"] >= 1


def test_hovering_repaints_only_the_path(view: CanvasView, counts: Counter[str], qtbot: QtBot) -> None:
    view.canvas_scene.marks.hover(Hit(wire=view.store.document.wires[0]))
    qtbot.wait(1)
    assert counts["layouts"] == counts["routes"] == 0
    assert counts["nodes painted"] < 250


def test_select_move_and_delete_all_nodes(view: CanvasView, counts: Counter[str]) -> None:
    view.canvas_actions.select_all()
    view.canvas_actions.nudge("right")
    assert counts["layouts"] == 0
    assert counts["routes"] <= 2 * len(view.store.document.wires)
    view.canvas_actions.delete()
    assert view.canvas_scene.nodes == {}
    assert view.canvas_scene.wires == {}
    view.store.project.undo()
    assert len(view.canvas_scene.nodes) == COUNT


def positions(document: Document) -> dict[str, tuple[float, float]]:
    return {name: node.at for name, node in document.nodes.items()}


def test_wires_of_a_large_graph_are_routed_between_events(view: CanvasView, counts: Counter[str], qtbot: QtBot) -> None:
    scene = view.canvas_scene
    qtbot.waitUntil(lambda: not scene.wire_router.is_busy)
    moved = {name: (x, y + 16) for name, (x, y) in positions(view.store.document).items() if name.endswith("0")}
    view.store.edit("Move", lambda document: edits.move(document, moved))
    assert scene.wire_router.is_busy
    qtbot.waitUntil(lambda: not scene.wire_router.is_busy)
    curves = {wire: item.curve for wire, item in scene.wires.items()}
    for wire in scene.wires.values():
        scene.wire_router.place_wire(wire)
    scene.wire_router.reroute()
    scene.wire_router.finish()
    assert curves == {wire: item.curve for wire, item in scene.wires.items()}


def test_dragging_many_nodes_routes_no_wire_until_the_drop(
    view: CanvasView, counts: Counter[str], qtbot: QtBot
) -> None:
    scene, store = view.canvas_scene, view.store
    qtbot.waitUntil(lambda: not scene.wire_router.is_busy)
    store.select([f"n{index}" for index in range(100)])
    user = MouseAndKeyboard(view)
    view.camera.center_on(QPointF(*scene.nodes["n0"].box.center), animated=False)
    start = user.node("n0")
    counts.clear()
    user.hold(start, start + QPoint(16, 16), start + QPoint(32, 32))
    assert not scene.wire_router.is_busy
    assert counts["routes"] == 0  # both ends of each wire move equally
    assert scene.nodes["n99"].at == (store.document.nodes["n99"].at[0] + 32, store.document.nodes["n99"].at[1] + 32)
    user.release(start + QPoint(32, 32))
    qtbot.waitUntil(lambda: not scene.wire_router.is_busy)
    for wire, item in scene.wires.items():
        assert item.pos() == QPointF()
        assert item.curve.start == scene.nodes[wire.source.node].port("output", "output")
        assert item.curve.end == scene.nodes[wire.target.node].port("input", "input")
    before = store.document
    user.hold(start, start + QPoint(16, 16), start + QPoint(48, 48))
    view.cancel()
    assert store.document is before
    for wire, item in scene.wires.items():
        assert item.curve.start == scene.nodes[wire.source.node].port("output", "output")


def on_screen(view: CanvasView, qtbot: QtBot) -> NDArray[np.int16]:
    """The pixels on the screen, which a pan has moved, without the bars at the top."""
    qtbot.wait(1)
    area = QRect(view.viewport().mapTo(view.window(), QPoint(0, 0)), view.viewport().size()).adjusted(0, 40, 0, 0)
    image = view.screen().grabWindow(view.window().winId()).toImage().copy(area)
    return np.frombuffer(image.constBits(), np.uint8).astype(np.int16)


@pytest.mark.parametrize("scale", [0.05, 0.2])
def test_panned_overview_equals_a_full_repaint(view: CanvasView, qtbot: QtBot, scale: float) -> None:
    view.toggle_minimap()
    view.camera.zoom_to(scale)
    view.camera.center_on(QPointF(5000, 1600))
    process_paints(view, qtbot)
    before = on_screen(view, qtbot)
    for _ in range(5):
        view.camera.pan(-17, 9)
        qtbot.wait(1)
    panned = on_screen(view, qtbot)
    process_paints(view, qtbot)
    full = on_screen(view, qtbot)
    assert np.abs(panned - full).max() <= 2  # Qt rounds the coverage of edges differently
    assert np.abs(before - full).max() > 40


def shown(view: CanvasView) -> QImage:
    """The pixels of the canvas as its layer has collected them."""
    return view.viewport().grab().toImage()


def new(view: CanvasView) -> QImage:
    """The pixels of the canvas after the layer has collected everything again."""
    view.canvas_scene.overview_layer.refresh()
    return view.viewport().grab().toImage()


def test_overview_after_hovers_and_drags_equals_a_new_one(view: CanvasView, qtbot: QtBot) -> None:
    view.camera.zoom_to(0.2)
    view.camera.center_on(QPointF(5000, 1600))
    user, canvas = MouseAndKeyboard(view), view.canvas_scene
    canvas.marks.hover(Hit(wire=view.store.document.wires[500]))
    process_paints(view, qtbot)
    canvas.marks.hover(NO_HIT)
    for names in (["n1025"], [f"n{index}" for index in range(1000, 1100)]):
        view.store.select(names)
        start = user.node("n1025")
        user.hold(start, *(start + QPoint(3 * step, 5 * step) for step in range(1, 11)))
        process_paints(view, qtbot)
        assert canvas.has_preview
        user.release(start + QPoint(30, 50))
        canvas.wire_router.finish()
        process_paints(view, qtbot)
        assert shown(view) == new(view)


@pytest.mark.parametrize("scale", [1.0, 0.4, 0.2])
def test_dragged_nodes_look_as_after_the_drop(
    view: CanvasView, counts: Counter[str], qtbot: QtBot, scale: float
) -> None:
    canvas, user = view.canvas_scene, MouseAndKeyboard(view)
    names = [f"n{index}" for index in range(1000, 1100)]
    view.camera.zoom_to(scale)
    view.camera.center_on(QPointF(*canvas.nodes["n1025"].box.center))
    view.store.select(names)
    canvas.wire_router.finish()
    process_paints(view, qtbot)
    counts.clear()
    before, start, painted = shown(view), user.node("n1025"), counts["nodes painted"]
    offset = QPoint(80, 40)  # to the grid at each scale
    user.hold(start, start + offset / 2, start + offset)
    process_paints(view, qtbot)
    counts.clear()
    view.viewport().repaint()
    assert counts["nodes painted"] <= max(painted - 10, 0)  # not those that are dragged
    during, box = shown(view), canvas.nodes["n1025"].box
    view.canvas_scene.marks.set_live({"n1025": "running"})
    assert scale < 1 or shown(view) != during
    view.canvas_scene.marks.set_live({})
    view.cancel()
    canvas.wire_router.finish()
    process_paints(view, qtbot)
    assert shown(view) == before
    user.hold(start, start + offset / 2, start + offset)
    user.release(start + offset)
    process_paints(view, qtbot)
    assert canvas.nodes["n1025"].box == box
    corners = view.camera.to_view(QPointF(box.left, box.top)), view.camera.to_view(QPointF(box.right, box.bottom))
    area = QRectF(*corners).toRect().adjusted(4, 4, -4, -4)
    assert shown(view).copy(area) == during.copy(area)


def test_drag_of_many_nodes_pauses_routing(view: CanvasView) -> None:
    view.store.select([f"n{index}" for index in range(1000, 1100)])
    view.store.edit("Move", lambda document: edits.move(document, {"n1050": (40.0, 40.0)}))
    user, router = MouseAndKeyboard(view), view.canvas_scene.wire_router
    view.camera.center_on(QPointF(*view.canvas_scene.nodes["n1025"].at))
    start = user.node("n1025")
    user.hold(start, start + QPoint(30, 30))
    router.take_changed()
    QTest.qWait(20)
    assert not router.take_changed()
    user.release(start + QPoint(30, 30))
    router.finish()
    assert not router.is_busy
