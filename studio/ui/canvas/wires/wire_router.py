"""Keeps wires clear of nodes and of each other: which wires to route again after nodes were added, removed or moved.

Shorter wires are led first, and longer ones around them. A wire depends on places and on shorter wires alone, so that
rerouted wires equal those of a freshly opened graph.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from functools import partial

from studio.document.model import Wire
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.wires.route_search import Surroundings
from studio.ui.canvas.wires.wire_item import WireItem

_MANY_AREAS = 128
"""From this number of changed places on, all wires are rerouted instead of those nearby."""
_MOST_WIRES = 64
"""Wires around one wire beyond which it is led as if they were not there."""

Near = Callable[[Box], tuple[list[NodeItem], list[WireItem]]]


class Routing:
    """Collects what changed until `settle`."""

    def __init__(self, nodes: Mapping[str, NodeItem], wires: Mapping[Wire, WireItem], near: Near) -> None:
        self._nodes = nodes
        self._wires = wires
        self._near = near
        self._areas: list[Box] = []
        self._touched: set[WireItem] = set()

    def disturb(self, area: Box) -> None:
        """A node came to, moved within or left this area."""
        self._areas.append(area)

    def touch(self, wire: WireItem) -> None:
        """A wire is new, or is about to have other ends."""
        self._touched.add(wire)
        self._areas.append(wire.curve.box)

    def forget(self, wire: WireItem) -> None:
        """A wire is gone."""
        self._touched.discard(wire)
        self._areas.append(wire.curve.box)

    def settle(self) -> None:
        """Reroute wires near changes, then wires near those; all wires after many changes."""
        areas, self._areas = self._areas, []
        items, self._touched = self._touched, set()
        if len(areas) > _MANY_AREAS:
            items = set(self._wires.values())
        else:
            for area in areas:
                items.update(self._met(area)[1])
        waiting = [(item.rank, item) for item in items]
        heapq.heapify(waiting)
        while waiting:
            rank, item = heapq.heappop(waiting)
            before = item.curve
            ends = (self._nodes[item.wire.source.node], self._nodes[item.wire.target.node])
            item.avoid(partial(self._look, item, ends))
            if item.curve != before:
                for area in (before.box, item.curve.box):
                    for other in self._met(area)[1]:
                        if other.rank > rank and other not in items:
                            items.add(other)
                            heapq.heappush(waiting, (other.rank, other))

    def _met(self, area: Box) -> tuple[list[NodeItem], list[WireItem]]:
        """What meets an area, even that of a level line."""
        return self._near(Box(area.left, area.top, area.right, max(area.bottom, area.top + 1)))

    def _look(self, item: WireItem, ends: tuple[NodeItem, ...], area: Box) -> Surroundings:
        nodes, wires = self._met(area)
        others = [each for each in wires if each.rank < item.rank and each.wire.source != item.wire.source]
        return Surroundings(
            [node.box for node in nodes if node not in ends],
            [each.curve for each in others] if len(others) <= _MOST_WIRES else (),
        )
