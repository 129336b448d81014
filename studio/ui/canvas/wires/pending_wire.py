"""A wire that is being drawn: matching ports, and reasons for refusals."""

from __future__ import annotations

from studio.document.edits import disconnect
from studio.document.model import Document, Endpoint, Wire
from studio.lowering.analysis.block_types import known_type
from studio.lowering.connection_rules import refusal
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType, Port, PortType
from studio.ui.canvas.geometry import Side
from studio.ui.canvas.wires.wire_graph import WireGraph


class PendingWire:
    """One end is fixed to a port; the loose end follows the pointer. `detached` is a wire being reconnected."""

    def __init__(
        self, document: Document, catalogue: Catalogue, fixed: Endpoint, side: Side, detached: Wire | None = None
    ) -> None:
        self.fixed = fixed
        self.side: Side = side
        """Side of the fixed end: input or output."""
        self.detached = detached
        self._document = disconnect(document, [detached]) if detached else document
        self.catalogue = catalogue
        self._wires_by_target = {wire.target: wire for wire in self._document.wires}
        graph = WireGraph(self._document.wires)
        walk = graph.upstream if side == "output" else graph.downstream
        self._cycle_nodes, _ = walk(fixed.node)
        self.kind: PortType = _type_of(self._document, catalogue, fixed, side)

    @property
    def loose_side(self) -> Side:
        """Side of the port that the loose end needs."""
        return "input" if self.side == "output" else "output"

    def wire(self, other: Endpoint) -> Wire:
        return Wire(self.fixed, other) if self.side == "output" else Wire(other, self.fixed)

    def wire_at(self, target: Endpoint) -> Wire | None:
        """The wire of an input, which this one would replace."""
        return self._wires_by_target.get(target)

    def refusal(self, other: Endpoint, side: Side) -> str | None:
        """Why a port does not accept the wire; None if it does."""
        if side == self.side and other == self.fixed:
            return "A wire connects an output to an input."
        return refusal(self._document, self.catalogue, self.wire(other))

    def fitting_ports(self, name: str) -> frozenset[str]:
        """Keys of the matching ports of a node, such as "input.target". Fast: called for every node."""
        kind = known_type(self._document, self.catalogue, name)
        if kind is None or name in self._cycle_nodes:
            return frozenset()
        ports = ports_of(kind, self.loose_side)
        return frozenset(f"{self.loose_side}.{port.name}" for port in ports if port.type is self.kind)

    def best_port(self, name: str) -> str | None:
        """The port for a wire that is dropped on the body of a node; unconnected ports first."""
        fits = [port for port in self._ports(name) if f"{self.loose_side}.{port.name}" in self.fitting_ports(name)]
        free = [port for port in fits if self.loose_side == "output" or not self.wire_at(Endpoint(name, port.name))]
        return next((port.name for port in free or fits), None)

    def _ports(self, name: str) -> tuple[Port, ...]:
        kind = known_type(self._document, self.catalogue, name)
        return ports_of(kind, self.loose_side) if kind else ()


def ports_of(kind: NodeType, side: Side) -> tuple[Port, ...]:
    return kind.inputs if side == "input" else kind.outputs


def _type_of(document: Document, catalogue: Catalogue, end: Endpoint, side: Side) -> PortType:
    kind = known_type(document, catalogue, end.node)
    port = None if kind is None else kind.input(end.port) if side == "input" else kind.output(end.port)
    return port.type if port else PortType.TENSOR
