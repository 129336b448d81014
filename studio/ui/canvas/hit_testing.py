"""Find the port, node or wire at a scene position."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from studio.document.model import Endpoint, Wire
from studio.ui.canvas.geometry import Side
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.wires.wire_item import WireItem

_PORT_REACH, _WIRE_REACH = 11.0, 7.0
"""Maximum distance of a hit in screen pixels."""


@dataclass(frozen=True, slots=True)
class Hit:
    """The port, node, wire or frame at a position."""

    node: str | None = None
    side: Side | None = None
    port: str | None = None
    wire: Wire | None = None
    point: int | None = None
    """Index of a reroute point of the wire."""
    frame: str | None = None
    edges: tuple[int, int] = (0, 0)
    """Edges of the frame: -1 for left or top, 1 for right or bottom; (0, 0) for its title or text."""

    @property
    def end(self) -> Endpoint | None:
        """The port that was hit."""
        return Endpoint(self.node, self.port) if self.node is not None and self.port is not None else None

    @property
    def key(self) -> str | None:
        """Key of the port, such as "input.target"."""
        return f"{self.side}.{self.port}" if self.port is not None else None


NO_HIT = Hit()


def pick(
    nodes: Iterable[NodeItem], wires: Iterable[WireItem], x: float, y: float, scale: float, *, ports: bool = True
) -> Hit:
    """The nearest port within reach, else the topmost node, else the nearest reroute point, else the nearest wire.

    Args:
        nodes, wires: candidates near the point, from the scene's spatial index
        ports: whether ports and reroute points can be hit
    """
    nodes, wires = tuple(nodes), tuple(wires)
    if ports and (hit := _port(nodes, x, y, _PORT_REACH * max(1.0, min(1 / scale, 1.4)))) is not None:
        return hit
    inside = [node for node in nodes if _contains(node, x, y)]
    if inside:
        return Hit(node=max(inside, key=lambda node: (node.zValue(), node.number)).name)
    if ports and (hit := _reroute_point(wires, x, y, _PORT_REACH / max(scale, 0.7))) is not None:
        return hit
    near = [(item.curve.distance((x, y)), item) for item in wires]
    reach = _WIRE_REACH / scale
    best = min(
        ((distance, item) for distance, item in near if distance <= reach), key=lambda pair: pair[0], default=None
    )
    return Hit(wire=best[1].wire) if best else NO_HIT


def _port(nodes: Iterable[NodeItem], x: float, y: float, reach: float) -> Hit | None:
    best: tuple[float, Hit] | None = None
    for node in nodes:
        left, top = node.at
        for side, positions in node.layout.sides:
            for name, position in positions.items():
                distance = math.hypot(left + position.x - x, top + position.y - y)
                if distance <= reach and (best is None or distance < best[0]):
                    best = (distance, Hit(node.name, side, name))
    return best[1] if best else None


def _reroute_point(wires: Iterable[WireItem], x: float, y: float, reach: float) -> Hit | None:
    points = (
        (math.hypot(point[0] - x, point[1] - y), item.wire, index)
        for item in wires
        for index, point in enumerate(item.points)
    )
    distance, wire, index = min(points, default=(math.inf, None, None))
    return Hit(wire=wire, point=index) if distance <= reach else None


def _contains(node: NodeItem, x: float, y: float) -> bool:
    box = node.box
    return box.left <= x <= box.right and box.top <= y <= box.bottom
