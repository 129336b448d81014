"""Incremental rerouting of wires after nodes were added, removed or moved.

Shorter wires are routed first. A route depends only on node positions and shorter wires, so incremental rerouting gives
the same routes as opening the graph.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from functools import partial

from studio.document.model import Wire
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.wires.route_search import Obstacles
from studio.ui.canvas.wires.wire_item import WireItem

_MAX_AREAS = 128
"""With more changed areas, all wires are rerouted instead of those nearby."""
_MAX_WIRES = 64
"""With more wires nearby, a wire is routed without avoiding other wires."""

FindItems = Callable[[Box], tuple[list[NodeItem], list[WireItem]]]


class WireRouter:
    """Collects changed areas and wires until `reroute`."""

    def __init__(self, nodes: Mapping[str, NodeItem], wires: Mapping[Wire, WireItem], near: FindItems) -> None:
        self._nodes = nodes
        self._wires = wires
        self._find_items = near
        self._invalid_areas: list[Box] = []
        self._invalid_wires: set[WireItem] = set()

    def invalidate_area(self, area: Box) -> None:
        """Mark an area in which a node was added, moved or removed."""
        self._invalid_areas.append(area)

    def invalidate_wire(self, wire: WireItem) -> None:
        """Mark a wire that is new or has new end points."""
        self._invalid_wires.add(wire)
        self._invalid_areas.append(wire.curve.box)

    def remove_wire(self, wire: WireItem) -> None:
        """Mark a removed wire."""
        self._invalid_wires.discard(wire)
        self._invalid_areas.append(wire.curve.box)

    def reroute(self) -> None:
        """Reroute wires near changes, then wires near those; all wires after many changes."""
        areas, self._invalid_areas = self._invalid_areas, []
        items, self._invalid_wires = self._invalid_wires, set()
        if len(areas) > _MAX_AREAS:
            items = set(self._wires.values())
        else:
            for area in areas:
                items.update(self._items_in(area)[1])
        waiting = [(item.rank, item) for item in items]
        heapq.heapify(waiting)
        while waiting:
            rank, item = heapq.heappop(waiting)
            before = item.curve
            ends = (self._nodes[item.wire.source.node], self._nodes[item.wire.target.node])
            item.avoid(partial(self._obstacles, item, ends))
            if item.curve != before:
                for area in (before.box, item.curve.box):
                    for other in self._items_in(area)[1]:
                        if other.rank > rank and other not in items:
                            items.add(other)
                            heapq.heappush(waiting, (other.rank, other))

    def _items_in(self, area: Box) -> tuple[list[NodeItem], list[WireItem]]:
        """Items that intersect an area, which may have no height."""
        return self._find_items(Box(area.left, area.top, area.right, max(area.bottom, area.top + 1)))

    def _obstacles(self, item: WireItem, ends: tuple[NodeItem, ...], area: Box) -> Obstacles:
        nodes, wires = self._items_in(area)
        others = [each for each in wires if each.rank < item.rank and each.wire.source != item.wire.source]
        return Obstacles(
            [node.box for node in nodes if node not in ends],
            [each.curve for each in others] if len(others) <= _MAX_WIRES else (),
        )
