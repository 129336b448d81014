"""Marks on nodes and wires that are not part of the document: hover, highlights, live values, colors of figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from studio.document.model import Wire
from studio.training.statistics.color_scale import NO_FIGURE, Shade
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.canvas.layers.lifted_items import LiftedItems
from studio.ui.canvas.layers.overview_layer import OverviewLayer
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.scene_content import SceneContent
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.canvas.wires.wire_graph import WireGraph
from studio.ui.canvas.wires.wire_item import WireItem


class SceneMarks:
    """Marks the items of a scene.

    Args:
        refresh_nodes: lays out nodes whose content has changed
        graph: the wires by node
        update_all: repaints the scene
    """

    def __init__(
        self,
        nodes: Mapping[str, NodeItem],
        wires: Mapping[Wire, WireItem],
        content: SceneContent,
        lifted_items: LiftedItems,
        overview_layer: OverviewLayer,
        *,
        refresh_nodes: Callable[[Iterable[str]], None],
        graph: Callable[[], WireGraph],
        update_all: Callable[[], None],
    ) -> None:
        self._nodes, self._wires, self._content = nodes, wires, content
        self._lifted_items, self._overview_layer = lifted_items, overview_layer
        self._refresh_nodes, self._graph, self._update_all = refresh_nodes, graph, update_all
        self._pending: PendingWire | None = None
        self._path: frozenset[Wire] = frozenset()
        self.hovered: Hit = NO_HIT
        """What `hover` has marked."""

    def set_live(self, values: Mapping[str, str], progress: Mapping[str, float] | None = None) -> None:
        """Show live values of a running training by node. An empty mapping removes them."""
        self._refresh(self._content.set_live(values))
        shares = progress or {}
        for name, item in self._nodes.items():
            if item.state.progress != shares.get(name):
                item.state.progress = shares.get(name)
                item.update()
        self._lifted_items.refresh()

    def color(
        self,
        nodes: Mapping[str, Shade] | None,
        wires: Mapping[Wire, Shade] | None = None,
        figures: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Color nodes and wires by a figure, and show figures on nodes. None: not colored.

        Those that are absent have no figure.
        """
        self._refresh(self._content.set_figures(figures))
        for name, item in self._nodes.items():
            shade = None if nodes is None else nodes.get(name, NO_FIGURE)
            if item.state.shade != shade:
                item.state.shade = shade
                item.update()
        for wire, item in self._wires.items():
            item.set_shade(None if wires is None else wires.get(wire, NO_FIGURE))
        self._lifted_items.refresh()
        self._overview_layer.refresh()

    def set_pending_wire(self, pending: PendingWire | None) -> None:
        """Highlight matching ports and fade other nodes while a wire is drawn."""
        if (detached := self._pending and self._pending.detached) and detached in self._wires:
            self._wires[detached].set_state(detached=False)
        self._pending = pending
        if pending and pending.detached:
            self._wires[pending.detached].set_state(detached=True)
        for name, item in self._nodes.items():
            item.state.fitting_ports = pending.fitting_ports(name) if pending else frozenset()
            item.state.faded = pending is not None and not item.state.fitting_ports and name != pending.fixed.node
        self._update_all()

    def hover(self, hit: Hit) -> None:
        """Enlarge the hovered port and highlight the path through the hovered wire."""
        if hit == self.hovered:
            return
        old, self.hovered = self.hovered, hit
        if (before := self._nodes.get(old.node or "")) is not None:
            before.state.hovered_port = None
            before.update()
        if old.wire is not None and old.wire in self._wires:
            self._wires[old.wire].set_state(hovered=False)
            self._wires[old.wire].set_point_state()
        if (now := self._nodes.get(hit.node or "")) is not None:
            now.state.hovered_port = hit.key
            now.update()
        if hit.wire is not None:
            self._wires[hit.wire].set_state(hovered=True)
            self._wires[hit.wire].set_point_state(hovered=hit.point)
        self._highlight_path(self._graph().path_through(hit.wire) if hit.wire is not None else frozenset())

    def highlight_nodes(self, names: Iterable[str]) -> None:
        """Highlight nodes without selecting them, replacing the previous highlight."""
        highlighted_names = frozenset(names)
        for name, item in self._nodes.items():
            if item.state.highlighted != (name in highlighted_names):
                item.state.highlighted = name in highlighted_names
                item.update()
        self._lifted_items.refresh()
        self._overview_layer.refresh_marks()

    def _highlight_path(self, wires: frozenset[Wire]) -> None:
        for wire in self._path ^ wires:
            if (item := self._wires.get(wire)) is not None:
                item.set_state(highlighted=wire in wires)
        self._path = wires
        self._overview_layer.refresh_marks()

    def _refresh(self, names: Iterable[str]) -> None:
        self._refresh_nodes(name for name in names if name in self._nodes)
