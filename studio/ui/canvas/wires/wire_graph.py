"""Traversal of the wires of a document: upstream, downstream, and the nearest node in a direction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from studio.document.graph_walk import walk
from studio.document.model import Wire
from studio.ui.canvas.geometry import Box

Direction = Literal["left", "right", "up", "down"]


class WireGraph:
    """The wires of a document by node."""

    def __init__(self, wires: Iterable[Wire]) -> None:
        self._incoming: defaultdict[str, list[Wire]] = defaultdict(list)
        self._outgoing: defaultdict[str, list[Wire]] = defaultdict(list)
        for wire in wires:
            self._incoming[wire.target.node].append(wire)
            self._outgoing[wire.source.node].append(wire)

    def incoming(self, node: str) -> tuple[Wire, ...]:
        return tuple(self._incoming.get(node, ()))

    def outgoing(self, node: str) -> tuple[Wire, ...]:
        return tuple(self._outgoing.get(node, ()))

    def upstream(self, node: str) -> tuple[set[str], set[Wire]]:
        """Every node and wire that `node` depends on; the node itself is among the nodes."""
        return _walk(node, self._incoming, lambda wire: wire.source.node)

    def downstream(self, node: str) -> tuple[set[str], set[Wire]]:
        """Every node and wire that depends on `node`; the node itself is among the nodes."""
        return _walk(node, self._outgoing, lambda wire: wire.target.node)

    def path_through(self, wire: Wire) -> frozenset[Wire]:
        """The wire with everything upstream of its source and downstream of its target."""
        return frozenset({wire} | self.upstream(wire.source.node)[1] | self.downstream(wire.target.node)[1])


def _walk(start: str, wires: Mapping[str, list[Wire]], next_node: Callable[[Wire], str]) -> tuple[set[str], set[Wire]]:
    nodes = set(walk([start], lambda node: map(next_node, wires.get(node, ()))))
    return nodes, {wire for node in nodes for wire in wires.get(node, ())}


def nearest_in_direction(boxes: Mapping[str, Box], name: str, direction: Direction) -> str | None:
    """The nearest node in a direction, for arrow keys."""
    here = boxes[name].center
    best: tuple[float, str] | None = None
    for other, box in boxes.items():
        dx, dy = box.center.x - here.x, box.center.y - here.y
        ahead, aside = {"right": (dx, dy), "left": (-dx, dy), "down": (dy, dx), "up": (-dy, dx)}[direction]
        if other == name or ahead <= 0.5 or abs(aside) > 2 * ahead:
            continue
        cost = ahead + 2 * abs(aside)
        if best is None or (cost, other) < best:
            best = (cost, other)
    return best[1] if best else None
