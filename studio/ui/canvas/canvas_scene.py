"""The graphics scene of the canvas. It applies differences between documents to node and wire items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Protocol

from PySide6.QtCore import QObject, QPointF, Signal
from PySide6.QtWidgets import QGraphicsScene

from studio.document.blocks import block_nodes
from studio.document.document_difference import difference
from studio.document.model import Document, Endpoint, Node, Routes, Wire
from studio.lowering.report import Report
from studio.nodes.types import NodeType, PortType
from studio.ui.canvas.canvas_options import CanvasOptions
from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.frames.frame_items import FrameItems
from studio.ui.canvas.geometry import Box, Point, bounds
from studio.ui.canvas.hit_testing import NO_HIT, Hit, pick
from studio.ui.canvas.layers.gesture_overlay import GestureOverlay
from studio.ui.canvas.layers.lifted_items import LiftedItems
from studio.ui.canvas.layers.overview_layer import OverviewLayer
from studio.ui.canvas.layers.selection_frame import SelectionFrame
from studio.ui.canvas.level_of_detail import LevelOfDetail, Zoom
from studio.ui.canvas.moved_items import MovedItems
from studio.ui.canvas.nodes.node_content import node_content
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.nodes.node_layout import node_layout
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.scene_content import SceneContent
from studio.ui.canvas.scene_marks import SceneMarks
from studio.ui.canvas.scene_selection import SceneSelection
from studio.ui.canvas.wires.wire_curve import WireCurve
from studio.ui.canvas.wires.wire_graph import WireGraph
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.canvas.wires.wire_router import WireRouter
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import Theme

_HIT_RADIUS = 24.0
"""Radius in screen pixels around a point in which items are candidates for a hit."""

_MAX_LIVE = 24
"""While more nodes are dragged, wires are not routed around nodes."""


class BreakpointPaths(Protocol):
    """Returns what enabled or disabled breakpoints name."""

    def __call__(self, *, enabled: bool) -> frozenset[str]: ...


class CanvasScene(QGraphicsScene):
    """One item per node, keyed by name, and one per wire."""

    moved = Signal()
    """Nodes or wires were added, removed or moved."""

    def __init__(self, store: ScopeStore, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)  # moves cost more in the index than it saves
        self._store = store
        self._document = Document()
        """The document shown by the items: the store's document, except during a change."""
        self.paint_context = PaintContext(
            CanvasStyle(theme), is_covered=self._is_covered, is_routing=lambda: self.wire_router.is_busy
        )
        self.options = CanvasOptions()
        self.nodes: dict[str, NodeItem] = {}
        self.wires: dict[Wire, WireItem] = {}
        self._wires_at: defaultdict[str, set[WireItem]] = defaultdict(set)
        self._content = SceneContent(store.catalogue, store.is_locked)
        self._breakpoint_paths: BreakpointPaths | None = None
        self._graph: WireGraph | None = None
        self.cards: dict[str, Box] = {}
        """The boxes of cards beside nodes, which belong to what "Fit all" shows."""
        self._previewed: set[str] = set()
        self._unplaced: set[NodeItem] = set()
        """Nodes that a preview of many nodes moved without rerouting wires."""
        self.wire_router = WireRouter(self)
        self.wire_router.rerouted.connect(self._on_rerouted)
        self._previewed_routes: set[Endpoint] = set()
        self._widened: dict[str, float] = {}
        """Previous widths of nodes that became wider."""
        self.frames = FrameItems(self, self.paint_context)
        self.overview_layer = OverviewLayer(self.paint_context, self.nodes, self.wires)
        self.gesture_overlay = GestureOverlay(self.paint_context)
        self.lifted_items = LiftedItems(self.paint_context)
        self.selection_frame = SelectionFrame(self.paint_context)
        self.marks = SceneMarks(
            self.nodes,
            self.wires,
            self._content,
            self.lifted_items,
            self.overview_layer,
            refresh_nodes=self._refresh_nodes,
            graph=lambda: self.graph,
            update_all=self.update,
        )
        self.selection = SceneSelection(
            self.wires, self.frames, self.overview_layer, items=self._items_with_points, parent=self
        )
        self.addItem(self.selection_frame)
        self.addItem(self.lifted_items)
        self.addItem(self.overview_layer)
        self.addItem(self.gesture_overlay)
        store.document_changed.connect(self._apply_document)
        store.report_changed.connect(self._apply_report)
        store.selection_changed.connect(self._apply_selection)
        store.project.locked_changed.connect(self._show_locks)
        self._apply_document(Document(), store.document)
        self._apply_report(store.report)
        self._apply_selection(store.selection)

    # -- changes of the store

    def _apply_document(self, old: Document, new: Document) -> None:
        change = difference(old, new)
        if not change:
            return
        breakpoints_changed = self._set_breakpoints()
        self.marks.hover(NO_HIT)
        self._previewed -= change.changed.keys()  # they move to their new positions below
        self.end_preview()
        self._document = new
        self.paint_context.revision += 1
        for wire in change.wires_removed:
            self._remove_wire(wire)
        for name in change.removed:
            self._remove_node(name)
        for before, after in change.renamed.items():
            self._rename_node(before, after)
        touched: set[WireItem] = set()
        for name, node in (*change.added.items(), *change.changed.items()):
            touched |= self._add_or_update_node(name, node)
        self._reroute(touched)
        rewired = {
            change.renamed.get(end.node, end.node)
            for wire in (*change.wires_removed, *change.wires_added)
            for end in (wire.source, wire.target)
        }
        if rewired:
            self._refresh_nodes(self._with_changing_ports(rewired))
        for wire in change.wires_added:
            self._add_wire(wire)
        if rewired:
            self._graph = None
            self._update_wired_ports(rewired)
        if breakpoints_changed:
            self._refresh_nodes(self.nodes)
        if change.blocks is not None:
            self._refresh_nodes(name for name, node in new.nodes.items() if block_nodes.name_of(node) is not None)
        if change.routes is not None:
            self._draw_routes({end: new.routes.get(end, ()) for end in {*old.routes, *new.routes}})
            self._previewed_routes.clear()
        if change.frames is not None:
            self.frames.apply(change.frames)
        self.wire_router.reroute()
        self.overview_layer.refresh()
        self.moved.emit()

    def _apply_report(self, report: Report) -> None:
        self._refresh_nodes(self._content.set_report(report, self.nodes))
        for wire, item in self.wires.items():
            item.set_label(*self._content.label_and_error(wire))
        self.wire_router.reroute(paused=self.has_preview)
        self.overview_layer.refresh()

    def show_breakpoints(self, paths: BreakpointPaths) -> None:
        """Mark the nodes that breakpoints name; `paths` returns what enabled or disabled ones name."""
        self._breakpoint_paths = paths
        self.refresh_breakpoints()

    def refresh_breakpoints(self) -> None:
        if self._set_breakpoints():
            self._refresh_nodes(self.nodes)
            self.overview_layer.refresh()

    def _set_breakpoints(self) -> bool:
        """Find the nodes of the shown graph with breakpoints. Returns whether they have changed."""
        paths, names_of = self._breakpoint_paths, self._store.names_of
        found = (frozenset[str](), frozenset[str]())
        if paths is not None:
            found = (names_of(paths(enabled=True)), names_of(paths(enabled=False)))
        changed, self._content.breakpoints = found != self._content.breakpoints, found
        return changed

    def _show_locks(self) -> None:
        self._refresh_nodes(self.nodes)
        self.overview_layer.refresh()

    def _apply_selection(self, names: frozenset[str]) -> None:
        for name, item in self.nodes.items():
            if item.state.selected != (name in names):
                item.set_selected(name in names)
        self.lifted_items.refresh()
        self.overview_layer.refresh_marks()

    # -- calls of the view

    def set_theme(self, theme: Theme) -> None:
        self.paint_context.style = CanvasStyle(theme)
        for item in self.nodes.values():
            item.restyle()
            self.lifted_items.refresh()
            self.wire_router.place_node(item)
        self.frames.refresh()
        self._reroute(self.wires.values())
        self.wire_router.reroute()
        self.overview_layer.refresh()
        self.update()

    def set_zoom(self, zoom: Zoom) -> None:
        old, self.paint_context.zoom = self.paint_context.zoom, zoom
        self.frames.refresh()
        is_overview = zoom.detail is LevelOfDetail.COLOR
        if is_overview == (old.detail is LevelOfDetail.COLOR):
            return
        for item in (*self.nodes.values(), *self.wires.values()):
            item.set_painting_disabled(is_overview)
        self.lifted_items.hide_items()
        self.overview_layer.setVisible(is_overview)

    def preview(self, positions: Mapping[str, tuple[float, float]]) -> None:
        """Show nodes at temporary positions until `end_preview` or the next document change."""
        self._previewed |= positions.keys()
        self._lift_previewed()
        self._set_positions(positions)

    def preview_items(self, items: MovedItems, dx: float, dy: float) -> None:
        """Show items moved by an offset until `end_preview` or the next document change."""
        self.frames.preview(items.moved_frames(dx, dy))
        if len(items.nodes) <= _MAX_LIVE:  # otherwise the items of the wires move as they are
            self._draw_routes(items.moved_routes(dx, dy))
        self.preview(items.node_positions(dx, dy))

    def preview_routes(self, routes: Routes) -> None:
        """Show wires with other reroute points until `end_preview` or the next document change."""
        self._draw_routes(routes)
        self._finish_move()

    def end_preview(self) -> None:
        """Move nodes, frames and reroute points back to their positions in the document."""
        self.frames.end_preview()
        if self._previewed_routes:
            self._draw_routes({end: self._document.routes.get(end, ()) for end in self._previewed_routes})
            self._previewed_routes.clear()
            self._finish_move()
        nodes, names = self._document.nodes, self._previewed
        self._previewed = set()
        self._lift_previewed()
        self._set_positions({name: nodes[name].at for name in names if name in nodes})

    def take_widened_nodes(self) -> dict[str, float]:
        """Previous widths of nodes that became wider since the last call."""
        grown, self._widened = self._widened, {}
        return grown

    def new_box(self, name: str, kind: NodeType, at: tuple[float, float]) -> Box:
        """The bounds of a new node of a type."""
        return node_layout(node_content(name, Node(kind.key), kind), self.paint_context.style.measure).box(at)

    def frame_selection(self) -> Box | None:
        """Draw a frame around several selected nodes. Returns its box, or None."""
        selected = self.boxes(self._store.selection)
        box = bounds(selected.values()) if len(selected) > 1 else None
        self.selection_frame.surround(box)
        return box

    def _set_positions(self, positions: Mapping[str, tuple[float, float]]) -> None:
        moved, self._unplaced = self._unplaced, set()
        if not positions and not moved:
            return
        for name, at in positions.items():
            if (item := self.nodes.get(name)) is not None and item.at != at:
                item.place_at(at)
                moved.add(item)
        touched = {wire for item in moved for wire in self._wires_at[item.name]}
        if self.has_preview and len(moved) > _MAX_LIVE:
            self._unplaced = moved
            self.wire_router.pause()
            self._follow(moved, touched)
        else:
            self.lifted_items.lower()
            for item in moved:
                item.move_to(item.at)
                self.wire_router.place_node(item)
            self._reroute(touched)
            self.wire_router.reroute(paused=self.has_preview)
        self.paint_context.is_moving = self.has_preview
        self.paint_context.revision += 1
        if self.has_preview:
            self.overview_layer.refresh_moving(moved, touched, self.lifted_items.items)
            self.overview_layer.refresh_wires(self.wire_router.take_changed())
        else:
            self.overview_layer.refresh()
        self.moved.emit()

    def _lift_previewed(self) -> None:
        """Let wires pass below a moved node without wires: they would dodge it, so that it could not be inserted."""
        name = next(iter(self._previewed)) if len(self._previewed) == 1 else ""
        node = None if self._wires_at.get(name) else self.nodes.get(name)
        self.wire_router.lift(() if node is None else (node,))

    def _items_with_points(self) -> Iterator[WireItem]:
        """The wires with reroute points, in the order of the document."""
        for end in self._document.routes:
            for item in self._wires_at[end.node]:
                if item.wire.target == end:
                    yield item

    def _finish_move(self) -> None:
        self.wire_router.reroute()
        self._on_rerouted()

    def _draw_routes(self, routes: Routes) -> None:
        """Draw the wires into these inputs through other reroute points."""
        self._previewed_routes |= routes.keys()
        for end, points in routes.items():
            for item in self._wires_at[end.node]:
                if item.wire.target == end and item.set_points(points):
                    self._place_wire(item)

    def _on_rerouted(self) -> None:
        self.paint_context.revision += 1
        self.overview_layer.refresh_wires(self.wire_router.take_changed())
        self.moved.emit()

    # -- queries

    @property
    def graph(self) -> WireGraph:
        """The wires of the document by node."""
        if self._graph is None:
            self._graph = WireGraph(self.wires)
        return self._graph

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a node nor a frame."""
        return not self.nodes and not self.frames.items

    @property
    def has_preview(self) -> bool:
        """Whether nodes are shown at temporary positions."""
        return bool(self._previewed)

    def boxes(self, names: Iterable[str] | None = None) -> dict[str, Box]:
        chosen = self.nodes if names is None else names
        return {name: self.nodes[name].box for name in chosen if name in self.nodes}

    def hit(self, point: QPointF) -> Hit:
        x, y, scale = point.x(), point.y(), self.paint_context.zoom.scale
        radius = _HIT_RADIUS / min(scale, 1.0)
        area = Box(x - radius, y - radius, x + radius, y + radius)
        takes_ports = self.paint_context.zoom.takes_ports
        hit = pick(self.nodes_in(area), self.wires_in(area), x, y, scale, ports=takes_ports)
        return self.frames.hit(x, y) if hit == NO_HIT else hit

    def nodes_in(self, area: Box) -> Iterable[NodeItem]:
        """Nodes that touch an area."""
        return self.wire_router.node_boxes.near(area)

    def wires_in(self, area: Box) -> Iterable[WireItem]:
        """Wires whose bounds touch an area."""
        return self.wire_router.wire_boxes.near(area)

    def _is_covered(self, box: Box, curve: WireCurve) -> bool:
        router = self.wire_router
        return any(other.overlaps(box) for other in router.node_boxes.near(box).values()) or any(
            item.curve is not curve and item.curve.passes_through(box) for item in router.wire_boxes.near(box)
        )

    # -- items

    def _add_or_update_node(self, name: str, node: Node) -> set[WireItem]:
        """Returns the wires whose ends may have moved."""
        item = self.nodes.get(name)
        if item is None:
            item = NodeItem(self.paint_context, self._content.of_node(name, node, self._document), node.at)
            item.set_painting_disabled(self.paint_context.zoom.detail is LevelOfDetail.COLOR)
            self.nodes[name] = item
            self.addItem(item)
            self.wire_router.place_node(item)
            return set()
        moved = item.at != node.at
        item.move_to(node.at)
        if self._update_content(name, node) or moved:
            self.wire_router.place_node(item)
            return self._wires_at[name]
        return set()

    def _rename_node(self, old: str, new: str) -> None:
        self.nodes[new] = self.nodes.pop(old)
        self._content.remove_live(old)
        self._refresh_nodes([new])

    def _remove_node(self, name: str) -> None:
        item = self.nodes.pop(name)
        self.wire_router.remove_node(item)
        self.removeItem(item)
        self._wires_at.pop(name, None)

    def _add_wire(self, wire: Wire) -> None:
        item = WireItem(self.paint_context, wire, self._port_type(wire), *self._end_points(wire))
        item.set_points(self._document.routes.get(wire.target, ()))
        item.set_painting_disabled(self.paint_context.zoom.detail is LevelOfDetail.COLOR)
        self.wires[wire] = item
        self._place_wire(item)
        self._wires_at[wire.source.node].add(item)
        self._wires_at[wire.target.node].add(item)
        self.addItem(item)

    def _remove_wire(self, wire: Wire) -> None:
        item = self.wires.pop(wire)
        self.selection.forget(wire)
        self.wire_router.remove_wire(item)
        self._wires_at[wire.source.node].discard(item)
        self._wires_at[wire.target.node].discard(item)
        self.removeItem(item)

    def _reroute(self, items: Iterable[WireItem]) -> None:
        for item in items:
            item.route(*self._end_points(item.wire))
            self._place_wire(item)

    def _place_wire(self, item: WireItem) -> None:
        self.wire_router.place_wire(item)

    def _follow(self, moved: Set[NodeItem], wires: Set[WireItem]) -> None:
        """Lift nodes that a preview moves equally, with the wires among them. Draw other wires with a direct curve."""
        nodes, names = self._document.nodes, {item.name for item in moved}
        offsets = {(item.at[0] - nodes[item.name].at[0], item.at[1] - nodes[item.name].at[1]) for item in moved}
        inner: set[WireItem] = set()
        if len(offsets) == 1:
            inner = {item for item in wires if item.wire.source.node in names and item.wire.target.node in names}
            self.lifted_items.lift(moved, inner, *offsets)
        else:
            self.lifted_items.lower()
            for item in moved:
                item.move_to(item.at)
        for item in wires - inner:
            item.stretch(*self._end_points(item.wire))

    def _end_points(self, wire: Wire) -> tuple[Point, Point]:
        source, target = wire.source, wire.target
        return self.nodes[source.node].port("output", source.port), self.nodes[target.node].port("input", target.port)

    def _refresh_nodes(self, names: Iterable[str]) -> None:
        nodes = self._document.nodes
        for name in names:
            if self._update_content(name, nodes[name]):
                self.wire_router.place_node(self.nodes[name])
                self._reroute(self._wires_at[name])

    def _update_content(self, name: str, node: Node) -> bool:
        """Update the content of a node. Returns whether its ports may have moved."""
        item = self.nodes[name]
        width, ports = item.layout.width, (item.content.inputs, item.content.outputs)
        changed = item.set_content(self._content.of_node(name, node, self._document))
        self.lifted_items.refresh()
        if item.layout.width > width:
            self._widened.setdefault(name, width)
        if ports != (item.content.inputs, item.content.outputs):
            for wire in self._wires_at[name]:
                wire.set_kind(self._port_type(wire.wire))
        return changed

    def _update_wired_ports(self, names: Iterable[str]) -> None:
        for name in names:
            if (item := self.nodes.get(name)) is not None:
                item.state.wired_ports = frozenset(_port_keys(name, self._wires_at[name]))
                item.update()

    def _with_changing_ports(self, rewired: Set[str]) -> list[str]:
        """Nodes whose ports depend on wires: all of unknown type, and of the rewired ones those with growing inputs."""
        contents = {name: item.content for name, item in self.nodes.items()}
        return [
            name
            for name, content in contents.items()
            if content.category == "unknown" or (content.adapts and name in rewired)
        ]

    def _port_type(self, wire: Wire) -> PortType:
        """The port type of a wire, from either end."""
        source = self.nodes[wire.source.node].content.port(wire.source.port, is_input=False)
        port = source or self.nodes[wire.target.node].content.port(wire.target.port, is_input=True)
        return port.type if port else PortType.TENSOR


def _port_keys(name: str, items: Iterable[WireItem]) -> Iterable[str]:
    for item in items:
        if item.wire.source.node == name:
            yield f"output.{item.wire.source.port}"
        if item.wire.target.node == name:
            yield f"input.{item.wire.target.port}"
