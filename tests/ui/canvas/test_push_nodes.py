"""Nodes that are inserted or become wider push their neighbors, without new overlaps. Minimap positions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering.analysis.node_facts import NodeInfo
from studio.nodes.catalogue import catalogue
from studio.nodes.palette_search import SearchMatch
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.layout.push_nodes import push_right
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.project.project_store import ProjectStore
from tests.ui.canvas.conftest import FakeChecker, MakeView, network, wire
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.canvas.test_canvas_view import drop_type


def overlapping(view: CanvasView) -> list[tuple[str, str]]:
    boxes = view.canvas_scene.boxes()
    return [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]


def positions(store: ProjectStore) -> dict[str, tuple[float, float]]:
    return {name: node.at for name, node in store.document.nodes.items()}


boxes = st.builds(
    lambda x, y, width, height: Box(8 * x, 8 * y, 8 * (x + width), 8 * (y + height)),
    st.integers(-40, 40),
    st.integers(-20, 20),
    st.integers(1, 20),
    st.integers(1, 8),
)


pairs = st.lists(st.tuples(*[st.integers(0, 11).map(str)] * 2), max_size=12)


@given(st.lists(boxes, max_size=12), boxes, pairs)
def test_pushing_creates_no_overlaps(others: list[Box], box: Box, wires: list[tuple[str, str]]) -> None:
    named = {str(number): other for number, other in enumerate(others)}
    pushed = push_right(named, box, wires=wires)
    after = {
        name: other.moved(pushed[name][0] - other.left, 0) if name in pushed else other for name, other in named.items()
    }
    assert not any(geometry.overlaps(box) for geometry in after.values() if geometry.left >= box.left)
    assert all(x >= named[name].left and y == named[name].top for name, (x, y) in pushed.items())
    for a, b in combinations(named, 2):
        assert named[a].overlaps(named[b]) or not after[a].overlaps(after[b])
    for source, target in wires:
        if source in named and target in named and named[source].right <= named[target].left:
            assert after[source].right <= after[target].left


def test_node_dropped_on_a_wire_leaves_the_other_rows_in_place(make_view: MakeView) -> None:
    places = {f"{row}{column}": (180.0 * column, 160.0 * row) for row in range(3) for column in range(4)}
    document = Document({name: Node("nn.ReLU", at=at) for name, at in places.items()})
    for source, target in pairwise(places):
        document = edits.connect(document, wire(f"{source}.output -> {target}.input"))
    view = make_view(document)
    user = MouseAndKeyboard(view)
    drop_type(view, "nn.Dropout", user.wire("11.output -> 12.input"))
    moved = {name for name, at in places.items() if view.store.document.nodes[name].at != at}
    assert moved == {"12", "13"}
    assert overlapping(view) == []
    view.store.select(["01"])
    view.add_at_center(SearchMatch(catalogue()["nn.Dropout"]))
    moved = {name for name, at in places.items() if view.store.document.nodes[name].at != at}
    assert moved == {"02", "03", "12", "13"}
    assert overlapping(view) == []


def test_type_dropped_on_a_short_wire_pushes_the_following_nodes(user: MouseAndKeyboard, store: ProjectStore) -> None:
    before = positions(store)
    drop_type(user.view, "nn.Dropout", user.wire("hidden.output -> relu.input"))
    assert overlapping(user.view) == []
    assert store.document.nodes["relu"].at[0] > before["relu"][0]
    assert store.document.nodes["digits"].at == before["digits"]
    gaps = [
        item.curve.end.x - item.curve.start.x for w, item in user.view.canvas_scene.wires.items() if "dropout" in str(w)
    ]
    assert min(gaps) >= 105  # "64×1×28×28" on the wire
    store.undo()
    assert positions(store) == before


def test_node_dropped_on_a_short_wire_pushes_the_following_nodes(user: MouseAndKeyboard, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "drop", Node("nn.Dropout", at=(560, 200))))
    before = positions(store)
    goal = user.wire("hidden.output -> relu.input")
    user.drag(user.node("drop"), goal + QPoint(0, -20), goal)
    assert wire("hidden.output -> drop.input") in store.document.wires
    assert overlapping(user.view) == []
    store.undo()
    assert positions(store) == before


def test_push_by_a_wider_summary_belongs_to_the_same_undo_step(
    view: CanvasView, store: ProjectStore, checker: FakeChecker, qtbot: QtBot
) -> None:
    before = positions(store)
    checker.report = replace(
        checker.report, nodes={"hidden": NodeInfo(summary="1024 → 1048576 · no bias · half precision")}
    )
    store.edit("Set", lambda document: edits.set_param(document, "hidden", "out_features", 1_048_576))
    qtbot.waitUntil(lambda: store.is_checked and positions(store) != before)
    assert overlapping(view) == []
    assert store.history.position == 1
    checker.report = replace(checker.report, nodes={})
    store.undo()
    qtbot.waitUntil(lambda: store.is_checked)
    assert positions(store) == before


def test_long_name_is_elided_and_pushes_the_neighbors(view: CanvasView, store: ProjectStore, qtbot: QtBot) -> None:
    name = "a_name_that_goes_on_for_much_longer_than_any_node_is_wide"
    store.edit("Rename", lambda document: edits.rename(document, "hidden", name))
    qtbot.waitUntil(lambda: store.is_checked and overlapping(view) == [])
    assert view.canvas_scene.nodes[name].layout.width <= 256
    assert store.history.position == 1


def test_opening_a_project_moves_nothing(make_view: MakeView, checker: FakeChecker) -> None:
    checker.report = replace(
        checker.report, nodes={"hidden": NodeInfo(summary="1024 → 1048576 · no bias · half precision")}
    )
    view = make_view(network())
    assert view.store.document == network()
    assert view.store.project.is_saved


def test_node_from_the_palette_gets_a_wire_with_space_for_a_shape(view: CanvasView, store: ProjectStore) -> None:
    store.edit("Remove", lambda document: edits.remove(document, ["relu", "loss", "adam"]))
    store.select(["hidden"])
    view.add_at_center(SearchMatch(catalogue()["nn.ReLU"]))
    (item,) = (item for w, item in view.canvas_scene.wires.items() if w.source.node == "hidden")
    assert item.curve.end.x - item.curve.start.x >= 105


# -- the minimap


def minimap_state(view: CanvasView) -> tuple[QRect, bool]:
    """Geometry of the minimap, and whether it covers a node."""
    rect = view.overlays.minimap.geometry()
    start, end = view.camera.to_scene(rect.topLeft()), view.camera.to_scene(rect.bottomRight())
    area = Box(start.x(), start.y(), end.x(), end.y())
    return rect, any(box.overlaps(area) for box in view.canvas_scene.boxes().values())


def test_minimap_moves_to_a_corner_without_nodes(make_view: MakeView) -> None:
    nodes = {f"n{index}": Node("nn.ReLU", at=(140 * index, 0)) for index in range(20)}
    view = make_view(Document(nodes))
    for x, y in ((600, 100), (600, -240), (600, 280), (1400, -250)):
        view.camera.center_on(QPointF(x, y))
        rect, covers = minimap_state(view)
        assert view.overlays.minimap.isVisible()
        assert not covers, rect


def test_minimap_never_overlaps_the_selection_bar(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view(network())
    view.store.select(["loss", "adam"])
    frames = 0
    for x in range(200, 1400, 100):
        for y in range(-260, 300, 70):
            view.camera.center_on(QPointF(x, y))
            if view.overlays.bar.isVisible() and view.overlays.minimap.isVisible():
                frames += 1
                assert not view.overlays.bar.geometry().intersects(view.overlays.minimap.geometry())
    assert frames > 20


@pytest.mark.parametrize(
    ("size", "shown"), [(QSize(1280, 640), True), (QSize(560, 420), True), (QSize(360, 260), False)], ids=str
)
def test_minimap_size_is_limited_by_the_canvas_size(make_view: MakeView, size: QSize, shown: bool) -> None:
    view = make_view(network())
    view.window().resize(size)
    view.camera.center_on(QPointF(3000, 0))
    assert view.overlays.minimap.isVisible() is shown
    room = view.viewport().size()
    if shown:
        assert view.overlays.minimap.width() * view.overlays.minimap.height() <= 0.045 * room.width() * room.height()


def test_minimap_stays_in_its_corner_during_a_drag(view: CanvasView, qtbot: QtBot) -> None:
    view.camera.center_on(QPointF(3000, 0))
    small = view.overlays.minimap
    geometry = small.geometry()
    qtbot.mousePress(small, Qt.MouseButton.LeftButton, pos=small.rect().center())
    assert view.camera.visible.center().x() < 1000
    assert small.geometry() == geometry
    qtbot.mouseRelease(small, Qt.MouseButton.LeftButton, pos=small.rect().center())


def crowded_document() -> Document:
    """A grid of nodes with gaps of 48 pixels."""
    size = (160, 96)
    nodes = {
        f"n{row}_{column}": Node("nn.ReLU", at=(float(size[0] * column), float(size[1] * row)))
        for row in range(20)
        for column in range(20)
    }
    return Document(nodes)


@pytest.mark.parametrize("size", [QSize(1280, 640), QSize(600, 480)], ids=str)
def test_minimap_collapses_if_all_corners_have_nodes(make_view: MakeView, qtbot: QtBot, size: QSize) -> None:
    view = make_view(crowded_document())
    view.window().resize(size)
    user, small = MouseAndKeyboard(view), view.overlays.minimap
    frames = 0
    for x in range(1400, 1560, 40):
        for y in range(900, 980, 20):
            view.camera.center_on(QPointF(x, y))
            rect, covers = minimap_state(view)
            assert not covers or not small.isVisible(), rect
            frames += small.isVisible() and small.is_collapsed
    assert frames > 5
    user.click(user.node("n10_9"))
    assert view.store.selection == {"n10_9"}
    rect = small.geometry()
    assert small.isVisible() and rect.width() <= 32
    move_pointer_to(small)
    assert not small.is_collapsed
    assert small.geometry().contains(rect)
    assert small.width() >= 80
    before = view.camera.visible.center()
    qtbot.mouseClick(small, Qt.MouseButton.LeftButton, pos=QPoint(10, 10))
    assert view.camera.visible.center() != before
    assert not small.is_collapsed
    QApplication.sendEvent(small, QEvent(QEvent.Type.Leave))
    _, covers = minimap_state(view)
    assert not covers or not small.isVisible()


def move_pointer_to(widget: QWidget) -> None:
    middle = QPointF(widget.rect().center())
    QApplication.sendEvent(widget, QEnterEvent(middle, middle, QPointF(widget.mapToGlobal(middle.toPoint()))))


# -- opening


def test_graph_opens_at_a_readable_zoom(make_view: MakeView) -> None:
    nodes = {f"n{index}": Node("nn.ReLU", at=(300 * index, 0)) for index in range(12)}
    view = make_view(Document(nodes))
    view.window().resize(512, 350)
    view.canvas_actions.open_at_readable_zoom()
    assert view.canvas_scene.paint_context.zoom.detail is LevelOfDetail.FULL
    assert view.camera.scale >= 0.75
    first = view.canvas_scene.nodes["n0"].box
    assert view.camera.visible.contains(QPointF(*first.center))
    assert view.overlays.minimap.isVisible() is (view.viewport().height() >= 300)
