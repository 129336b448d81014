"""The graphics scene of the canvas. It applies differences between documents to node and wire items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtWidgets import QGraphicsScene

from studio.document import blocks
from studio.document.document_difference import difference
from studio.document.model import Document, Node, Wire
from studio.lowering.report import Report
from studio.nodes.types import NodeType, PortType
from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.frames.frame_items import FrameItems
from studio.ui.canvas.geometry import Box, bounds
from studio.ui.canvas.hit_testing import NO_HIT, Hit, pick
from studio.ui.canvas.layers.gesture_overlay import GestureOverlay
from studio.ui.canvas.layers.overview_layer import OverviewLayer
from studio.ui.canvas.layers.selection_frame import SelectionFrame
from studio.ui.canvas.level_of_detail import LevelOfDetail, Zoom
from studio.ui.canvas.moved_items import MovedItems
from studio.ui.canvas.nodes.node_content import node_content
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.nodes.node_layout import node_layout
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.scene_content import SceneContent
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.canvas.wires.wire_curve import WireCurve
from studio.ui.canvas.wires.wire_graph import WireGraph
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.canvas.wires.wire_router import WireRouter
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import Theme

_HIT_RADIUS = 24.0
"""Radius in screen pixels around a point in which items are candidates for a hit."""


class CanvasScene(QGraphicsScene):
    """One item per node, keyed by name, and one per wire."""

    moved = Signal()
    """Nodes or wires were added, removed or moved."""
    other_selection_changed = Signal()
    """Other wires or frames were selected."""

    def __init__(self, store: ScopeStore, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._document = Document()
        """The document shown by the items: the store's document, except during a change."""
        self.paint_context = PaintContext(CanvasStyle(theme), is_covered=self._is_covered)
        self.nodes: dict[str, NodeItem] = {}
        self.wires: dict[Wire, WireItem] = {}
        self._wires_at: defaultdict[str, set[WireItem]] = defaultdict(set)
        self._content = SceneContent(store.catalogue)
        self._graph: WireGraph | None = None
        self._hit: Hit = NO_HIT
        self._highlighted_wires: frozenset[Wire] = frozenset()
        self._pending: PendingWire | None = None
        self._previewed: set[str] = set()
        self._wire_router = WireRouter(self.nodes, self.wires, self._near_box)
        self._widened: dict[str, float] = {}
        """Previous widths of nodes that became wider."""
        self.frames = FrameItems(self, self.paint_context)
        self.overview_layer = OverviewLayer(self.paint_context, self.nodes, self.wires)
        self.gesture_overlay = GestureOverlay(self.paint_context)
        self.selection_frame = SelectionFrame(self.paint_context)
        self.addItem(self.selection_frame)
        self.addItem(self.overview_layer)
        self.addItem(self.gesture_overlay)
        store.document_changed.connect(self._apply_document)
        store.report_changed.connect(self._apply_report)
        store.selection_changed.connect(self._apply_selection)
        self._apply_document(Document(), store.document)
        self._apply_report(store.report)
        self._apply_selection(store.selection)

    # -- changes of the store

    def _apply_document(self, old: Document, new: Document) -> None:
        change = difference(old, new)
        if not change:
            return
        self.set_hovered(NO_HIT)
        self.end_preview()
        self._document = new
        self.paint_context.revision += 1
        for wire in change.wires_removed:
            self._remove_wire(wire)
        for name in change.removed:
            self._remove_node(name)
        for before, after in change.renamed.items():
            self._rename_node(before, after)
        for name, node in (*change.added.items(), *change.changed.items()):
            self._add_or_update_node(name, node)
        for wire in change.wires_added:
            self._add_wire(wire)
        if change.wires_removed or change.wires_added:
            self._graph = None
            self._update_wired_ports(
                {
                    change.renamed.get(end.node, end.node)
                    for wire in (*change.wires_removed, *change.wires_added)
                    for end in (wire.source, wire.target)
                }
            )
            self._refresh_nodes(self._unknown_types())
        if change.blocks is not None:
            self._refresh_nodes(name for name, node in new.nodes.items() if blocks.name_of(node) is not None)
        if change.frames is not None:
            self.frames.apply(change.frames)
        self._wire_router.reroute()
        self.overview_layer.refresh()
        self.moved.emit()

    def _apply_report(self, report: Report) -> None:
        self._refresh_nodes(self._content.set_report(report, self.nodes))
        for wire, item in self.wires.items():
            item.set_content(self._port_type(wire), *self._content.label_and_error(wire))
        self._wire_router.reroute()
        self.overview_layer.refresh()

    def _apply_selection(self, names: frozenset[str]) -> None:
        for name, item in self.nodes.items():
            if item.state.selected != (name in names):
                item.set_selected(name in names)
        self.overview_layer.refresh()

    # -- calls of the view

    def set_theme(self, theme: Theme) -> None:
        self.paint_context.style = CanvasStyle(theme)
        for item in self.nodes.values():
            item.restyle()
        self.frames.refresh()
        self._reroute(self.wires.values())
        self._wire_router.reroute()
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
        self.overview_layer.show_layer(is_overview)

    def set_live(self, values: Mapping[str, str], progress: Mapping[str, float] | None = None) -> None:
        """Show live values of a running training by node. An empty mapping removes them."""
        names = self._content.set_live(values)
        self._refresh_nodes(name for name in names if name in self.nodes)
        shares = progress or {}
        for name, item in self.nodes.items():
            if item.state.progress != shares.get(name):
                item.state.progress = shares.get(name)
                item.update()

    def set_pending_wire(self, pending: PendingWire | None) -> None:
        """Highlight matching ports and fade other nodes while a wire is drawn."""
        if (detached := self._pending and self._pending.detached) and detached in self.wires:
            self.wires[detached].set_state(detached=False)
        self._pending = pending
        if pending and pending.detached:
            self.wires[pending.detached].set_state(detached=True)
        for name, item in self.nodes.items():
            item.state.fitting_ports = pending.fitting_ports(name) if pending else frozenset()
            item.state.faded = pending is not None and not item.state.fitting_ports and name != pending.fixed.node
        self.update()

    def set_hovered(self, hit: Hit) -> None:
        """Enlarge the hovered port and highlight the path through the hovered wire."""
        if hit == self._hit:
            return
        if (before := self.nodes.get(self._hit.node or "")) is not None:
            before.state.hovered_port = None
            before.update()
        if self._hit.wire in self.wires:
            self.wires[self._hit.wire].set_state(hovered=False)
        self._hit = hit
        if (now := self.nodes.get(hit.node or "")) is not None:
            now.state.hovered_port = hit.key
            now.update()
        if hit.wire is not None:
            self.wires[hit.wire].set_state(hovered=True)
        self._highlight_wires(self.graph.path_through(hit.wire) if hit.wire is not None else frozenset())

    def highlight_nodes(self, names: Iterable[str]) -> None:
        """Highlight nodes without selecting them, replacing the previous highlight."""
        highlighted_names = frozenset(names)
        for name, item in self.nodes.items():
            if item.state.highlighted != (name in highlighted_names):
                item.state.highlighted = name in highlighted_names
                item.update()
        self.overview_layer.refresh()

    def select_wires(self, wires: Iterable[Wire], *, frames: Iterable[str] = ()) -> None:
        """Select these wires and frames, and no others."""
        chosen = set(wires)
        self.frames.select(frames)
        for wire, item in self.wires.items():
            item.set_state(selected=wire in chosen)
        self.overview_layer.refresh()
        self.other_selection_changed.emit()

    def preview(self, positions: Mapping[str, tuple[float, float]]) -> None:
        """Show nodes at temporary positions until `end_preview` or the next document change."""
        self._previewed |= positions.keys()
        self._set_positions(positions)

    def preview_items(self, items: MovedItems, dx: float, dy: float) -> None:
        """Show items moved by an offset until `end_preview` or the next document change."""
        self.frames.preview(items.moved_frames(dx, dy))
        self.preview(items.node_positions(dx, dy))

    def end_preview(self) -> None:
        """Move nodes and frames back to their positions in the document."""
        self.frames.end_preview()
        nodes = self._document.nodes
        self._set_positions({name: nodes[name].at for name in self._previewed if name in nodes})
        self._previewed.clear()

    def take_widened_nodes(self) -> dict[str, float]:
        """Previous widths of nodes that became wider since the last call."""
        grown, self._widened = self._widened, {}
        return grown

    def new_box(self, name: str, kind: NodeType, at: tuple[float, float]) -> Box:
        """The bounds of a new node of a type."""
        return node_layout(node_content(name, Node(kind.key), kind), self.paint_context.style.measure).box(at)

    def frame_selection(self) -> Box | None:
        """Draw a frame around several selected nodes. Returns its box, or None."""
        selected = [item.box for item in self.nodes.values() if item.state.selected]
        box = bounds(selected) if len(selected) > 1 else None
        self.selection_frame.surround(box)
        return box

    def _set_positions(self, positions: Mapping[str, tuple[float, float]]) -> None:
        touched: set[WireItem] = set()
        for name, at in positions.items():
            if (item := self.nodes.get(name)) is not None and item.at != at:
                self._wire_router.invalidate_area(item.box)
                item.setPos(*at)
                self._wire_router.invalidate_area(item.box)
                touched |= self._wires_at[name]
        if touched or positions:
            self._reroute(touched)
            self._wire_router.reroute()
            self.paint_context.revision += 1
            self.overview_layer.refresh()
            self.moved.emit()

    # -- queries

    @property
    def selected_wires(self) -> tuple[Wire, ...]:
        return tuple(wire for wire, item in self.wires.items() if item.is_selected)

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

    @property
    def hovered(self) -> Hit:
        return self._hit

    def boxes(self, names: Iterable[str] | None = None) -> dict[str, Box]:
        chosen = self.nodes if names is None else names
        return {name: self.nodes[name].box for name in chosen if name in self.nodes}

    def hit(self, point: QPointF) -> Hit:
        x, y, scale = point.x(), point.y(), self.paint_context.zoom.scale
        radius = _HIT_RADIUS / min(scale, 1.0)
        nodes, wires = self.near(QRectF(x - radius, y - radius, 2 * radius, 2 * radius))
        hit = pick(nodes, wires, x, y, scale, ports=self.paint_context.zoom.detail is not LevelOfDetail.COLOR)
        return self.frames.hit(x, y) if hit == NO_HIT else hit

    def near(self, rect: QRectF) -> tuple[list[NodeItem], list[WireItem]]:
        """Items whose bounds intersect a rectangle, from the scene's spatial index."""
        found = self.items(rect, Qt.ItemSelectionMode.IntersectsItemBoundingRect)
        return (
            [item for item in found if isinstance(item, NodeItem)],
            [item for item in found if isinstance(item, WireItem)],
        )

    def _near_box(self, box: Box) -> tuple[list[NodeItem], list[WireItem]]:
        return self.near(QRectF(box.left, box.top, box.width, box.height))

    def _is_covered(self, box: Box, curve: WireCurve) -> bool:
        nodes, wires = self._near_box(box)
        return any(node.box.overlaps(box) for node in nodes) or any(
            item.curve is not curve and item.curve.passes_through(box) for item in wires
        )

    # -- items

    def _add_or_update_node(self, name: str, node: Node) -> None:
        item = self.nodes.get(name)
        if item is None:
            item = NodeItem(self.paint_context, self._content.of_node(name, node, self._document), node.at)
            item.set_painting_disabled(self.paint_context.zoom.detail is LevelOfDetail.COLOR)
            self.nodes[name] = item
            self.addItem(item)
            self._wire_router.invalidate_area(item.box)
            return
        self._wire_router.invalidate_area(item.box)
        moved = item.at != node.at
        item.setPos(*node.at)
        if self._update_content(name, node) or moved:
            self._wire_router.invalidate_area(item.box)
            self._reroute(self._wires_at[name])

    def _rename_node(self, old: str, new: str) -> None:
        self.nodes[new] = self.nodes.pop(old)
        self._content.remove_live(old)
        self._refresh_nodes([new])

    def _remove_node(self, name: str) -> None:
        item = self.nodes.pop(name)
        self._wire_router.invalidate_area(item.box)
        self.removeItem(item)
        self._wires_at.pop(name, None)

    def _add_wire(self, wire: Wire) -> None:
        start = self.nodes[wire.source.node].port("output", wire.source.port)
        end = self.nodes[wire.target.node].port("input", wire.target.port)
        item = WireItem(self.paint_context, wire, self._port_type(wire), start, end)
        item.set_painting_disabled(self.paint_context.zoom.detail is LevelOfDetail.COLOR)
        self.wires[wire] = item
        self._wire_router.invalidate_wire(item)
        self._wires_at[wire.source.node].add(item)
        self._wires_at[wire.target.node].add(item)
        self.addItem(item)

    def _remove_wire(self, wire: Wire) -> None:
        item = self.wires.pop(wire)
        self._wire_router.remove_wire(item)
        self._wires_at[wire.source.node].discard(item)
        self._wires_at[wire.target.node].discard(item)
        self.removeItem(item)

    def _reroute(self, items: Iterable[WireItem]) -> None:
        for item in items:
            self._wire_router.invalidate_wire(item)
            source, target = item.wire.source, item.wire.target
            item.route(
                self.nodes[source.node].port("output", source.port), self.nodes[target.node].port("input", target.port)
            )

    def _refresh_nodes(self, names: Iterable[str]) -> None:
        nodes = self._document.nodes
        for name in names:
            if self._update_content(name, nodes[name]):
                self._wire_router.invalidate_area(self.nodes[name].box)
                self._reroute(self._wires_at[name])

    def _update_content(self, name: str, node: Node) -> bool:
        """Update the content of a node. Returns whether its ports may have moved."""
        item = self.nodes[name]
        width = item.layout.width
        changed = item.set_content(self._content.of_node(name, node, self._document))
        if item.layout.width > width:
            self._widened.setdefault(name, width)
        return changed

    def _update_wired_ports(self, names: Iterable[str]) -> None:
        for name in names:
            if (item := self.nodes.get(name)) is not None:
                item.state.wired_ports = frozenset(_port_keys(name, self._wires_at[name]))
                item.update()

    def _highlight_wires(self, wires: frozenset[Wire]) -> None:
        for wire in self._highlighted_wires ^ wires:
            if (item := self.wires.get(wire)) is not None:
                item.set_state(highlighted=wire in wires)
        self._highlighted_wires = wires
        if self.overview_layer.isVisible():
            self.overview_layer.update()

    def _unknown_types(self) -> list[str]:
        """Nodes of unknown type, whose ports are derived from their wires."""
        return [name for name, item in self.nodes.items() if item.content.category == "unknown"]

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
