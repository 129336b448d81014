"""The scene shows the document after any sequence of edits, undo and redo."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QGraphicsItem

from studio.document import edits
from studio.document.blocks.block_locations import canonical_paths, graph_at
from studio.document.model import Document, Node
from studio.lowering.analysis.node_facts import NodeInfo
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.nodes.types import PortType
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.nodes.node_layout import node_layout
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import ThemeManager
from tests.studio.document.strategies import Edit, documents, edit
from tests.ui.canvas.conftest import FakeChecker, MakeView, delete_store, network, wire

Step = Edit | str
steps = st.lists(
    st.one_of(edit(), st.sampled_from(["undo", "undo", "redo", "enter", "enter last", "leave", "next copy"])),
    max_size=20,
)


def assert_scene_shows(scene: CanvasScene, document: Document) -> None:
    """Items and document agree in names, positions, contents and wires."""
    assert set(scene.nodes) == set(document.nodes)
    assert set(scene.wires) == set(document.wires)
    items = scene.items()
    assert {item for item in items if isinstance(item, NodeItem)} == set(scene.nodes.values())
    assert {item for item in items if isinstance(item, WireItem)} == set(scene.wires.values())
    for name, node in document.nodes.items():
        item = scene.nodes[name]
        assert item.name == name
        assert item.at == pytest.approx(node.at, abs=1e-6)  # Qt treats positions this close as equal
        assert (item.content.muted, item.content.frozen, item.content.collapsed) == (
            node.muted,
            node.frozen,
            node.collapsed,
        )
        assert item.layout == node_layout(item.content, scene.paint_context.style.measure)
        wired = {f"output.{w.source.port}" for w in document.wires if w.source.node == name}
        wired |= {f"input.{w.target.port}" for w in document.wires if w.target.node == name}
        assert item.state.wired_ports == wired
    for here, item in scene.wires.items():
        assert item.wire == here
        assert item.curve.start == scene.nodes[here.source.node].port("output", here.source.port)
        assert item.curve.end == scene.nodes[here.target.node].port("input", here.target.port)
        assert item.points == document.routes.get(here.target, ())
    assert {item.name: item.frame for item in scene.frames.items} == document.frames


def apply_step(scope: ScopeStore, step: Step) -> None:
    if isinstance(step, Edit):
        scope.project.edit(step.title, step, merge=step.merge_key)
        return
    instances = [name for name, node in scope.document.nodes.items() if node.type.startswith("block.")] or [""]
    match step:
        case "undo":
            scope.project.undo()
        case "redo":
            scope.project.redo()
        case "leave":
            scope.leave()
        case "next copy":
            scope.show_copy((scope.location[-1].copy + 1) % scope.copies if scope.location else 0)
        case _:
            scope.enter(instances[-1 if step == "enter last" else 0])
            scope.select(scope.document.nodes)


def assert_scope_is_consistent(scope: ScopeStore) -> None:
    """The shown graph is the one at the location, and the selection is in it."""
    document = scope.project.document
    assert scope.document == graph_at(document, scope.location)
    assert not scope.location or scope.location[-1].copy < scope.copies
    assert scope.selection <= scope.document.nodes.keys()
    assert {scope.prefix + name for name in scope.selection} <= scope.project.selection
    assert set(canonical_paths(document, scope.project.selection)) == scope.project.selection


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(documents(), steps)
def test_scene_follows_edits_undo_redo_and_the_shown_graph(
    themes: ThemeManager, checker: FakeChecker, document: Document, sequence: list[Step]
) -> None:
    store = ProjectStore(document, catalogue(), checker)
    scope = ScopeStore(store)
    scene = CanvasScene(scope, themes.theme, store)
    assert_scene_shows(scene, document)
    for step in sequence:
        apply_step(scope, step)
        assert_scene_shows(scene, scope.document)
        assert_scope_is_consistent(scope)
    while store.history.can_undo:
        store.undo()
        assert_scope_is_consistent(scope)
    while scope.leave():
        pass
    assert_scene_shows(scene, document)
    delete_store(store)


def test_unchanged_nodes_keep_their_items(view: CanvasView, store: ProjectStore) -> None:
    before = dict(view.canvas_scene.nodes)
    store.edit("Rename", lambda document: edits.rename(document, "hidden", "first"))
    assert view.canvas_scene.nodes["first"] is before["hidden"]
    assert all(view.canvas_scene.nodes[name] is item for name, item in before.items() if name != "hidden")


def test_report_is_shown_at_nodes_and_wires(make_view: MakeView, checker: FakeChecker) -> None:
    there = wire("hidden.output -> relu.input")
    problems = (
        Problem("error", "shape", "Too wide.", node="hidden", port="input"),
        Problem("warning", "odd", "Odd.", node="relu"),
        Problem("error", "type", "No.", wire=there),
    )
    infos = {"hidden": NodeInfo(summary="64 → 32")}
    checker.report = Report(problems, nodes=infos, wires={there: "N×32 float32"})
    canvas = make_view(network()).canvas_scene
    assert canvas.nodes["hidden"].content.summary == "64 → 32"
    assert canvas.nodes["hidden"].content.error == "Too wide."
    assert canvas.nodes["relu"].content.warning == "Odd."
    assert canvas.wires[there].label == "N×32 float32"
    assert canvas.wires[there].error == "No."
    assert canvas.wires[wire("batches.input -> hidden.input")].error == "Too wide."


def test_wires_have_the_type_of_their_port(view: CanvasView) -> None:
    kinds = {str(here): item.kind for here, item in view.canvas_scene.wires.items()}
    assert kinds["digits.samples -> batches.samples"] is PortType.SAMPLES
    assert kinds["loss.loss -> adam.loss"] is PortType.LOSS
    assert kinds["hidden.output -> relu.input"] is PortType.TENSOR


def test_hovering_a_wire_highlights_its_path(view: CanvasView) -> None:
    canvas = view.canvas_scene
    canvas.marks.hover(Hit(wire=wire("relu.output -> loss.input")))
    lit = {str(here) for here, item in canvas.wires.items() if item.is_highlighted}
    assert lit == {str(here) for here in canvas.wires} - {"batches.target -> loss.target"}
    canvas.marks.hover(Hit())
    assert not any(item.is_highlighted for item in canvas.wires.values())


def visible_label(view: CanvasView, text: str) -> tuple[str, Box] | None:
    """Text and box of the visible label of a wire."""
    label = view.canvas_scene.wires[wire(text)].visible_label()
    return (label.text, label.box) if label else None


def test_label_needs_space_unless_its_wire_is_hovered(make_view: MakeView, checker: FakeChecker) -> None:
    near, far = "hidden.output -> relu.input", "loss.loss -> adam.loss"
    checker.report = Report(wires={wire(near): "N×32 float32", wire(far): "N float32"})
    view = make_view(network())
    view.store.edit("Move", lambda document: edits.move(document, {"relu": (600, 0), "adam": (1200, 0)}))
    assert visible_label(view, near) is None
    assert (visible_label(view, far) or ("",))[0] == "N float32"
    view.canvas_scene.marks.hover(Hit(wire=wire(near)))
    assert (visible_label(view, near) or ("",))[0] == "N×32 float32"
    view.camera.zoom_to(0.2)
    assert visible_label(view, far) is None
    assert visible_label(view, near) is not None


def test_label_omits_the_dtype_without_space(make_view: MakeView, checker: FakeChecker) -> None:
    there = "hidden.output -> relu.input"
    checker.report = Report(wires={wire(there): "N×32 float32"})
    assert (visible_label(make_view(network()), there) or ("",))[0] == "N×32"


@pytest.fixture
def long_wire(make_view: MakeView, checker: FakeChecker) -> tuple[CanvasView, Box]:
    """A wire with much space around its label, and the box of the label."""
    checker.report = Report(wires={wire("loss.loss -> adam.loss"): "scalar"})
    view = make_view(network())
    view.store.edit("Move", lambda document: edits.move(document, {"adam": (1480, 0)}))
    label_box = visible_label(view, "loss.loss -> adam.loss")
    assert label_box is not None
    return view, label_box[1]


def test_label_avoids_nodes(long_wire: tuple[CanvasView, Box]) -> None:
    view, box = long_wire
    alone = Node("nn.GELU", at=(box.right - 20, box.top - 20))
    view.store.edit("Add", lambda document: edits.add(document, "alone", alone))
    aside = visible_label(view, "loss.loss -> adam.loss")
    assert aside is not None
    assert not aside[1].overlaps(view.canvas_scene.nodes["alone"].box)


def test_label_avoids_other_wires(long_wire: tuple[CanvasView, Box]) -> None:
    view, box = long_wire
    # From the upper left to the lower right, through the label.
    positions = {"hidden": (box.left - 200, box.top - 120), "relu": (box.right + 60, box.bottom + 60)}
    view.store.edit("Move", lambda document: edits.move(document, positions))
    crossing = view.canvas_scene.wires[wire("hidden.output -> relu.input")].curve
    aside = visible_label(view, "loss.loss -> adam.loss")
    assert crossing.passes_through(box)
    assert aside is None or not crossing.passes_through(aside[1])


def test_live_values_are_shown_and_removed(view: CanvasView) -> None:
    loss = view.canvas_scene.nodes["loss"]
    width = loss.layout.width
    view.set_live({"loss": "0.31", "gone": "1"}, {"loss": 0.5})
    assert (loss.content.line, loss.state.progress) == ("0.31", 0.5)
    assert loss.layout.width == width
    view.set_live({})
    assert (loss.content.line, loss.state.progress) == ("", None)


def test_selection_is_synchronized_with_the_store(view: CanvasView, store: ProjectStore) -> None:
    store.select(["hidden", "relu"])
    assert {name for name, item in view.canvas_scene.nodes.items() if item.state.selected} == {"hidden", "relu"}


def test_overview_layer_paints_all_items_at_low_zoom(view: CanvasView) -> None:
    canvas = view.canvas_scene
    for scale, detail in (
        (1.0, LevelOfDetail.FULL),
        (0.4, LevelOfDetail.NAME),
        (0.1, LevelOfDetail.COLOR),
        (0.9, LevelOfDetail.FULL),
    ):
        view.camera.zoom_to(scale)
        assert canvas.paint_context.zoom.detail is detail
        quiet = {
            bool(item.flags() & QGraphicsItem.GraphicsItemFlag.ItemHasNoContents)
            for item in (*canvas.nodes.values(), *canvas.wires.values())
        }
        assert quiet == {detail is LevelOfDetail.COLOR}
        assert canvas.overview_layer.isVisible() == (detail is LevelOfDetail.COLOR)
    view.camera.zoom_to(0.1)
    view.store.edit("Add", lambda document: edits.add(document, "new", document.nodes["relu"]))
    assert canvas.nodes["new"].flags() & QGraphicsItem.GraphicsItemFlag.ItemHasNoContents


def test_wire_roles_have_different_dash_patterns(view: CanvasView) -> None:
    pens = {str(each): item.pen() for each, item in view.canvas_scene.wires.items()}
    lines = [
        pens["batches.input -> hidden.input"],
        pens["batches.target -> loss.target"],
        pens["loss.loss -> adam.loss"],
    ]
    assert len({pen.color().name() for pen in lines}) == 3
    assert len({tuple(pen.dashPattern()) for pen in lines}) == 3
    assert pens["relu.output -> loss.input"] == pens["batches.input -> hidden.input"]


def test_undo_of_rename_and_wire_updates_the_wired_ports(view: CanvasView, store: ProjectStore) -> None:
    """One undo step can contain a rename and a change of wires."""
    store.edit("Add", lambda document: edits.add(document, "drop", Node("nn.Dropout")))
    store.edit("Rename", lambda document: edits.rename(document, "drop", "half"), merge="one")
    store.edit("Connect", lambda document: edits.connect(document, wire("digits.samples -> half.input")), merge="one")
    store.undo()
    assert view.canvas_scene.nodes["drop"].state.wired_ports == frozenset()
