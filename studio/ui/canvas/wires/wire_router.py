"""Incremental rerouting of wires after nodes were added, removed or moved.

Shorter wires are routed first. A route depends only on node positions and shorter wires, so incremental rerouting gives
the same routes as opening the graph. The first wires are routed at once, the others between events, so that a change of
a large graph does not block the window.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from studio.document.model import Wire
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.wires.route_search import Obstacles
from studio.ui.canvas.wires.spatial_index import SpatialIndex
from studio.ui.canvas.wires.wire_curve import WireCurve
from studio.ui.canvas.wires.wire_item import WireItem

_MAX_WIRES = 64
"""With more wires nearby, a wire is routed without avoiding other wires."""
_AT_ONCE = 48
"""Number of wires that are routed at once, so that small graphs never flicker."""
_AT_ONCE_SECONDS = 0.04
"""Limit of the CPU time of this: wires among nodes on top of each other have slow routes."""
_MANY = 256
_AT_ONCE_SECONDS_OF_MANY = 0.015
"""Limit in a graph with more wires: there, an edit has other costs too."""
_LONG = 2000.0
"""A longer wire is not routed during a gesture: it can have thousands of candidate routes and obstacles."""
_SLICE_SECONDS = 0.004
"""Time for routing between two events."""


class WireRouter(QObject):
    """Collects changes until `reroute`. Keeps an index of the boxes of nodes and curves."""

    rerouted = Signal()
    """Wires were routed after `reroute` returned."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.node_boxes: SpatialIndex[NodeItem] = SpatialIndex()
        self.wire_boxes: SpatialIndex[WireItem] = SpatialIndex()
        self._wires: set[WireItem] = set()
        self._lifted: frozenset[NodeItem] = frozenset()
        """Nodes that wires do not avoid."""
        self._changed_areas: set[Box] = set()
        self._waiting: list[tuple[tuple[float, Wire], int, WireItem]] = []
        """A heap; the shortest wire is first. The numbers order wires that are equal because one was removed."""
        self._queued: set[WireItem] = set()
        """The wires in `_waiting`."""
        self._changed: set[WireItem] = set()
        """Wires with other curves since the last call of `take_changed`."""
        self._compared: dict[int, WireCurve] = {}
        """The curves that routes were compared with, by id."""
        self._paused = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._continue)

    @property
    def is_busy(self) -> bool:
        """Whether wires wait for their routes."""
        return bool(self._queued)

    # -- changes

    def place_node(self, node: NodeItem) -> None:
        """Record that a node was added, moved or resized."""
        before, box = self.node_boxes.get(node), node.box
        if before != box:
            self._changed_areas.add(box)
            if before is not None:
                self._changed_areas.add(before)
            self.node_boxes.place(node, box)

    def remove_node(self, node: NodeItem) -> None:
        self._changed_areas.add(node.box)
        self.node_boxes.remove(node)

    def lift(self, nodes: Iterable[NodeItem]) -> None:
        """Let wires pass below these nodes, and avoid all others again."""
        lifted = frozenset(nodes)
        boxes = (self.node_boxes.get(node) for node in lifted ^ self._lifted)
        self._changed_areas.update(box for box in boxes if box is not None)
        self._lifted = lifted

    def place_wire(self, wire: WireItem) -> None:
        """Record that a wire was added or has new end points."""
        self._wires.add(wire)
        before = self.wire_boxes.get(wire)
        if before is not None:
            self._changed_areas.add(before)
        self._changed_areas.add(wire.curve.box)
        self.wire_boxes.place(wire, wire.curve.box)
        self._queue(wire)

    def remove_wire(self, wire: WireItem) -> None:
        self._changed_areas.add(wire.curve.box)
        self.wire_boxes.remove(wire)
        self._wires.discard(wire)
        self._queued.discard(wire)

    # -- routing

    def reroute(self, *, paused: bool = False) -> None:
        """Reroute wires near changes, then wires near those.

        Args:
            paused: route only the first wires of a small change now, and the others at the next call
        """
        areas, self._changed_areas = self._changed_areas, set()
        was_paused, self._paused = self._paused, paused
        if not areas and not was_paused:
            self._schedule()
            return
        for wire in self._wires if len(areas) > len(self._wires) else self._wires_near(areas):
            self._queue(wire)
        if not paused or len(self._queued) <= _AT_ONCE:
            seconds = _AT_ONCE_SECONDS if len(self._wires) <= _MANY else _AT_ONCE_SECONDS_OF_MANY
            self._route(_AT_ONCE, longest=_LONG if paused else math.inf, seconds=seconds)
        self._schedule()

    def pause(self) -> None:
        """Route no wires until the next call of `reroute`."""
        self._paused = True
        self._schedule()

    def take_changed(self) -> set[WireItem]:
        """The wires that have other curves since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def finish(self) -> None:
        """Route all waiting wires now."""
        self._route(None)
        self.rerouted.emit()

    def _continue(self) -> None:
        end = time.perf_counter() + _SLICE_SECONDS
        changed = False
        while self._queued and time.perf_counter() < end:
            changed = self._route(1) or changed
        if changed or not self._queued:  # labels of wires wait for the last route
            self.rerouted.emit()
        if not self._queued:
            self._forget_cells()
        self._schedule()

    def _schedule(self) -> None:
        if self._queued and not self._paused:
            self._timer.start(0)
        else:
            self._timer.stop()

    def _forget_cells(self) -> None:
        """Free the memory that the curves of a large graph need only while wires are routed."""
        if len(self._wires) > _MANY:
            for curve in self._compared.values():
                curve.forget_cells()
        self._compared.clear()

    def _wires_near(self, areas: Iterable[Box]) -> set[WireItem]:
        return {wire for area in areas for wire in self.wire_boxes.near(area)}

    def _queue(self, wire: WireItem) -> None:
        if wire not in self._queued:
            self._queued.add(wire)
            heapq.heappush(self._waiting, (wire.rank, id(wire), wire))

    def _route(self, count: int | None, *, longest: float = math.inf, seconds: float = math.inf) -> bool:
        """Route this many waiting wires of a length of at most `longest`, or all. Returns whether a curve changed.

        Args:
            seconds: CPU time after which no other wire is routed
        """
        changed = False
        end = time.thread_time() + seconds
        while self._waiting and (count is None or count > 0) and self._waiting[0][0][0] <= longest:
            if time.thread_time() > end:
                break
            rank, _, wire = heapq.heappop(self._waiting)
            if wire not in self._queued:
                continue
            if rank != wire.rank:  # its end points have moved since
                heapq.heappush(self._waiting, (wire.rank, id(wire), wire))
                continue
            self._queued.discard(wire)
            count = None if count is None else count - 1
            before = wire.curve
            wire.avoid(partial(self._obstacles, wire))
            if wire.curve != before:
                changed = True
                self._changed.add(wire)
                self.wire_boxes.place(wire, wire.curve.box)
                self._queue_longer(rank, (before.box, wire.curve.box))
        return changed

    def _queue_longer(self, rank: tuple[float, Wire], areas: Iterable[Box]) -> None:
        for other in self._wires_near(areas):
            if other.rank > rank:
                self._queue(other)

    def _obstacles(self, wire: WireItem, area: Box) -> Obstacles:
        others = [
            each
            for each in self.wire_boxes.near(area)
            if each.rank < wire.rank and each.wire.source != wire.wire.source
        ]
        nodes = self.node_boxes.near(area)
        curves = [each.curve for each in others] if len(others) <= _MAX_WIRES else []
        self._compared.update((id(curve), curve) for curve in (*curves, wire.curve))
        return Obstacles(
            [box for node, box in nodes.items() if node not in self._lifted] if self._lifted else list(nodes.values()),
            curves,
        )
