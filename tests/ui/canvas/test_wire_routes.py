"""Routes of wires avoid nodes and depend only on the positions of nodes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint

from studio.document import edits
from studio.document.files.project_templates import templates
from studio.document.model import Document, Node
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.wires.route_search import Obstacles, find_route, passes_through
from studio.ui.canvas.wires.wire_curve import WireCurve, wire_curve
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import ThemeManager
from tests.ui.canvas.conftest import FakeChecker, MakeView, delete_store, wire
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard

ROUND = ("abx", "bcx", "cdx", "dex", "efx", "acy", "bdy", "cfy", "fay")
"""Wires by source, target and input."""

points = st.tuples(st.integers(-60, 60).map(lambda n: 8.0 * n), st.integers(-20, 20).map(lambda n: 8.0 * n))
boxes = st.builds(
    lambda at, width, height: Box(at[0], at[1], at[0] + width, at[1] + height), points, st.just(120.0), st.just(56.0)
)


def route_around(direct: WireCurve, nodes: list[Box]) -> WireCurve:
    return find_route(direct, lambda area: Obstacles([box for box in nodes if box.overlaps(area)]))


@given(points, points, st.lists(boxes, max_size=8))
def test_route_is_smooth_and_never_worse_than_the_direct_curve(
    start: tuple[float, float], end: tuple[float, float], nodes: list[Box]
) -> None:
    direct = wire_curve(start, end)
    curve = route_around(direct, nodes)
    assert (curve.start, curve.end) == (direct.start, direct.end)
    assert sum(passes_through(curve, box) for box in nodes) <= sum(passes_through(direct, box) for box in nodes)
    for before, after in pairwise(curve.pieces):
        assert before.end == after.start
        assert before.second.y == before.end.y == after.first.y
    assert curve.pieces[0].first.y == start[1]
    assert curve.pieces[-1].second.y == end[1]
    assert curve == route_around(direct, nodes[::-1])


@pytest.mark.parametrize("end", [(700.0, 30.0), (700.0, 150.0), (-500.0, 30.0), (560.0, -90.0)])
def test_route_avoids_a_node_at_port_height(end: tuple[float, float]) -> None:
    node = Box(300.0, 0.0, 440.0, 64.0) if end[0] > 0 else Box(-260.0, 70.0, -120.0, 134.0)
    direct = wire_curve((100.0, 36.0), end)
    curve = route_around(direct, [node, node.moved(0, 400)])
    assert not passes_through(curve, node)
    assert curve.distance(node.center) >= node.height / 2


def test_free_wire_keeps_its_direct_curve() -> None:
    direct = wire_curve((0, 0), (400, 0))
    assert route_around(direct, [Box(100, 40, 200, 90)]) is direct


def wires_behind_nodes(view: CanvasView) -> list[tuple[str, str]]:
    """Pairs of a wire and a node that covers it."""
    boxes = view.canvas_scene.boxes()
    return [
        (str(each), name)
        for each, item in view.canvas_scene.wires.items()
        for name, box in boxes.items()
        if name not in (each.source.node, each.target.node) and passes_through(item.curve, box)
    ]


def test_template_wires_cross_no_nodes(make_view: MakeView) -> None:
    for template in templates():
        assert wires_behind_nodes(make_view(template.document)) == [], template.title


def skip_document() -> Document:
    nodes = {name: Node("nn.ReLU", at=(200 * number, 0)) for number, name in enumerate("abcd")}
    return Document(nodes, (wire("a.output -> d.input"),))


def test_wires_are_rerouted_after_changes_of_nodes(make_view: MakeView) -> None:
    view = make_view(skip_document())
    (item,) = view.canvas_scene.wires.values()
    assert wires_behind_nodes(view) == []
    assert len(item.curve.pieces) > 1
    before = item.curve
    user = MouseAndKeyboard(view)
    start = user.node("b")
    user.hold(start, start + QPoint(0, 6), start + QPoint(0, 12))
    assert wires_behind_nodes(view) == [("a.output -> d.input", "b")]  # into which the node can be inserted
    user.release(start)
    assert wires_behind_nodes(view) == []
    user.drag(user.node("b"), user.node("b") + QPoint(0, 240))
    assert wires_behind_nodes(view) == []
    view.store.edit("Remove", lambda document: edits.remove(document, ["c"]))
    assert len(item.curve.pieces) == 1
    view.store.project.undo()
    view.store.project.undo()
    assert item.curve == before


def test_skip_wires_cross_no_nodes_after_layout(make_view: MakeView, store: ProjectStore) -> None:
    del store
    view = make_view(skip_document())
    chain = ("a.output -> b.input", "b.output -> c.input", "c.output -> d.input")

    def change(document: Document) -> Document:
        document = edits.disconnect(document, document.wires)
        document = edits.add(document, "e", Node("add.Add", at=(0, 300)))
        for text in chain:
            document = edits.connect(document, wire(text))
        return document

    view.store.edit("Wire", change)
    view.canvas_actions.lay_out()
    assert wires_behind_nodes(view) == []


def two_skips_document() -> Document:
    nodes = {name: Node("ops.add" if name in "ef" else "nn.ReLU", at=(200 * at, 0)) for at, name in enumerate("abcdef")}
    return Document(nodes, (wire("a.output -> e.x"), wire("b.output -> f.x")))


def test_wires_around_the_same_nodes_use_different_lanes(make_view: MakeView) -> None:
    view = make_view(two_skips_document())
    one, other = view.canvas_scene.wires.values()
    assert wires_behind_nodes(view) == []
    assert one.curve.shared_length(other.curve) < 48
    lanes = {piece.start.y for item in (one, other) for piece in item.curve.pieces if piece.end.x - piece.start.x > 300}
    assert len(lanes) == 2


moves = st.lists(st.tuples(st.sampled_from("abcdef"), points), min_size=1, max_size=4)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(points, min_size=6, max_size=6), moves)
def test_incremental_routes_equal_routes_after_opening(
    themes: ThemeManager,
    checker: FakeChecker,
    at: list[tuple[float, float]],
    sequence: list[tuple[str, tuple[float, float]]],
) -> None:
    nodes = {name: Node("ops.add", at=where) for name, where in zip("abcdef", at, strict=True)}
    chain = [wire(f"{source}.output -> {target}.{port}") for source, target, port in ROUND]
    store = ProjectStore(Document(nodes, tuple(sorted(chain))), catalogue(), checker)
    scene = CanvasScene(ScopeStore(store), themes.theme, store)
    for name, where in sequence:
        scene.preview({name: (where[0] + 80, where[1])})
        store.edit("Move", lambda document, name=name, where=where: edits.move(document, {name: where}))
    store.edit("Remove", lambda document: edits.disconnect(document, [chain[0]]))
    fresh_store = ProjectStore(store.document, catalogue(), checker)
    fresh = CanvasScene(ScopeStore(fresh_store), themes.theme, fresh_store)
    scene.wire_router.finish()
    fresh.wire_router.finish()
    assert {each: item.curve for each, item in scene.wires.items()} == {
        each: item.curve for each, item in fresh.wires.items()
    }
    delete_store(store)
    delete_store(fresh_store)
