"""Keeps wires clear of nodes: which wires to lead anew after nodes came, went or moved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from studio.document.model import Wire
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.node_item import NodeItem
from studio.ui.canvas.wire_item import WireItem

_MANY_AREAS = 128
"""Changed places from which on all wires are led anew rather than those near each."""

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
        """A wire is new, or has other ends."""
        self._touched.add(wire)

    def forget(self, wire: WireItem) -> None:
        """A wire is gone."""
        self._touched.discard(wire)

    def settle(self) -> None:
        """Lead wires around nodes where either has changed; all wires after large changes."""
        areas, self._areas = self._areas, []
        items, self._touched = self._touched, set()
        if len(areas) > _MANY_AREAS:
            items = set(self._wires.values())
        else:
            for area in areas:
                items.update(self._near(area)[1])
        for item in items:
            ends = (self._nodes[item.wire.source.node], self._nodes[item.wire.target.node])
            item.avoid(partial(self._boxes, ends))

    def _boxes(self, ends: tuple[NodeItem, ...], area: Box) -> list[Box]:
        nodes = self._near(Box(area.left, area.top, area.right, max(area.bottom, area.top + 1)))[0]
        return [node.box for node in nodes if node not in ends]
