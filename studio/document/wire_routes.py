"""Reroute points: points that a wire is drawn through. They are layout and have no effect on the computation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from studio.document.document_errors import EditError
from studio.document.model import MAX_COORDINATE, Block, Document, Endpoint, Routes, Wire


def set_route(document: Document, target: Endpoint, points: Sequence[tuple[float, float]]) -> Document:
    """Set the reroute points of the wire into an input, in the order from its output on; none to draw it directly."""
    if not any(wire.target == target for wire in document.wires):
        raise EditError(f"{target} has no wire to reroute.")
    for x, y in points:
        if not (abs(x) <= MAX_COORDINATE and abs(y) <= MAX_COORDINATE):  # written so that NaN fails
            raise EditError(f"A reroute point of {target} cannot be at ({x:g}, {y:g}).")
    route = tuple((float(x), float(y)) for x, y in points)
    if document.routes.get(target, ()) == route:
        return document
    others = {end: each for end, each in document.routes.items() if end != target}
    return replace(document, routes={**others, target: route} if route else others)


def remaining_routes(graph: Document | Block, wires: Iterable[Wire]) -> Routes:
    """The reroute points of a graph after its wires were replaced: those of the wires that it still has."""
    if not graph.routes:
        return graph.routes
    kept = set(wires)
    routed = {wire.target for wire in graph.wires if wire.target in graph.routes and wire in kept}
    if len(routed) == len(graph.routes):
        return graph.routes
    return {end: points for end, points in graph.routes.items() if end in routed}


def renamed_routes(routes: Routes, names: Mapping[str, str]) -> Routes:
    """Reroute points after nodes got new names."""
    return {Endpoint(names.get(end.node, end.node), end.port): points for end, points in routes.items()}


def inner_routes(graph: Document | Block, names: Iterable[str]) -> Routes:
    """The reroute points of the wires among nodes."""
    chosen = set(names)
    ends = {wire.target for wire in graph.wires if wire.source.node in chosen and wire.target.node in chosen}
    return {end: points for end, points in graph.routes.items() if end in ends}


def shifted_route(points: Iterable[tuple[float, float]], dx: float, dy: float) -> tuple[tuple[float, float], ...]:
    """Points moved by an offset, within the bounds of coordinates."""
    return tuple((bounded(x + dx), bounded(y + dy)) for x, y in points)


def bounded(coordinate: float) -> float:
    """A coordinate, limited to the bounds of coordinates."""
    return max(-MAX_COORDINATE, min(coordinate, MAX_COORDINATE))
