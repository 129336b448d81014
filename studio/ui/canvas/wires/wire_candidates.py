"""The wires that the keyboard can draw from a node: fitting ones first, the nearest first, then those refused."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from studio.document.model import Document, Endpoint, Wire
from studio.lowering.analysis.block_types import known_type
from studio.nodes.catalogue import Catalogue
from studio.ui.canvas.geometry import Point, Side
from studio.ui.canvas.wires.pending_wire import PendingWire, ports_of

PortPosition = Callable[[Endpoint, Side], Point]
"""Scene position of a port of a node of the graph."""
MAX_CANDIDATES = 2000
"""Number of candidates in a list."""


@dataclass(frozen=True, slots=True)
class OpenPort:
    """A port at which a wire can begin."""

    end: Endpoint
    side: Side


@dataclass(frozen=True, slots=True)
class WireCandidate:
    """A wire from the fixed end of `pending` to a port, or to a node without a port for it."""

    pending: PendingWire
    end: Endpoint
    refusal: str = ""
    """Why the port does not accept the wire; empty if it does."""
    replaced: Wire | None = None
    """The wire that the input has now."""

    @property
    def wire(self) -> Wire:
        return self.pending.wire(self.end)


def open_ports(document: Document, catalogue: Catalogue, name: str) -> tuple[OpenPort, ...]:
    """The outputs of a node, those without a wire first, and its inputs without a wire."""
    kind = known_type(document, catalogue, name)
    if kind is None:
        return ()
    sources, targets = {wire.source for wire in document.wires}, {wire.target for wire in document.wires}
    outputs = sorted((Endpoint(name, port.name) for port in kind.outputs), key=lambda end: end in sources)
    inputs = (Endpoint(name, port.name) for port in kind.inputs)
    return (
        *(OpenPort(end, "output") for end in outputs),
        *(OpenPort(end, "input") for end in inputs if end not in targets),
    )


def wire_candidates(
    document: Document, catalogue: Catalogue, port: OpenPort, position: PortPosition
) -> list[WireCandidate]:
    """The wires from a port to all other nodes: unconnected fitting ports first, refused ones last."""
    pending = PendingWire(document, catalogue, port.end, port.side)
    found = [each for name in document.nodes if name != port.end.node for each in _at_node(document, pending, name)]
    return _in_order(found, position)


def wires_between(
    document: Document, catalogue: Catalogue, first: str, second: str, position: PortPosition
) -> list[WireCandidate]:
    """The wires from the outputs of two nodes to the inputs of the other."""
    found: list[WireCandidate] = []
    for source, target in ((first, second), (second, first)):
        kind = known_type(document, catalogue, source)
        for port in kind.outputs if kind else ():
            pending = PendingWire(document, catalogue, Endpoint(source, port.name), "output")
            found += _at_node(document, pending, target)
    return _in_order(found, position)


def _at_node(document: Document, pending: PendingWire, name: str) -> Iterator[WireCandidate]:
    """A candidate for each port of a node on the loose side, or one that says that there is none."""
    side = pending.loose_side
    kind = known_type(document, pending.catalogue, name)
    ports = ports_of(kind, side) if kind else ()
    if not ports:
        reason = f"{name} has no {side}s." if kind else f"{name} has an unknown type."
        yield WireCandidate(pending, Endpoint(name, ""), reason)
        return
    fitting = pending.fitting_ports(name)
    for port in ports:
        end = Endpoint(name, port.name)
        if f"{side}.{port.name}" not in fitting:
            yield WireCandidate(pending, end, pending.refusal(end, side) or "")
            continue
        replaced = pending.wire_at(pending.wire(end).target)
        refusal = "Already connected." if replaced == pending.wire(end) else ""
        yield WireCandidate(pending, end, refusal, None if refusal else replaced)


def _in_order(candidates: list[WireCandidate], position: PortPosition) -> list[WireCandidate]:
    def rank(candidate: WireCandidate) -> tuple[bool, bool, float]:
        return bool(candidate.refusal), candidate.replaced is not None, _length(candidate, position)

    return heapq.nsmallest(MAX_CANDIDATES, candidates, key=rank)


def _length(candidate: WireCandidate, position: PortPosition) -> float:
    pending = candidate.pending
    start, end = position(pending.fixed, pending.side), position(candidate.end, pending.loose_side)
    return math.dist(start, end)
