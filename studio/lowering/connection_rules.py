"""Rules for connecting ports. Evaluated for every port while a wire is dragged, so each takes a few lookups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint, Wire
from studio.lowering.analysis.node_graph import node_type
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType, Port, PortType

CARRIES = {
    PortType.SAMPLES: "samples",
    PortType.TENSOR: "a tensor",
    PortType.LOSS: "a loss",
    PortType.OPTIMIZER: "an optimizer",
}


def refusal(document: Document, catalogue: Catalogue, wire: Wire) -> str | None:
    """Why a wire is not allowed, for its tooltip; None if it is. An existing wire at the input is replaced."""
    source, target = wire.source, wire.target
    for end in (source, target):
        if end.node not in document.nodes:
            return f"The project has no node {end.node}."
    if source.node == target.node:
        return f"{source.node} cannot be connected to itself."
    giver = _type(document, catalogue, source.node)
    taker = _type(document, catalogue, target.node)
    output, way_in = giver.output(source.port), taker.input(target.port)
    if output is None and giver.category != "unknown":
        return _no_port(giver, source, "output", giver.outputs)
    if way_in is None and taker.category != "unknown":
        return _no_port(taker, target, "input", taker.inputs)
    if output is None or way_in is None:
        unknown = source.node if output is None else target.node
        return f"{unknown} has an unknown type. Its wires are kept, but no new ones can be added."
    if output.type is not way_in.type:
        carried, taken = CARRIES[output.type], CARRIES[way_in.type]
        return f"{source} provides {carried} but {target} expects {taken}.{_hint(output, way_in)}"
    if target.node in _UPSTREAM.of(document, source.node):
        return f"{target.node} already feeds {source.node}, so this wire would close a cycle."
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """The last upstream query and its result."""

    wires: tuple[Wire, ...]
    feeding: Mapping[str, set[str]]
    node: str
    upstream: frozenset[str]


class _Upstream:
    """Upstream nodes of a node. Caches the last result, as a drag queries one node thousands of times."""

    def __init__(self) -> None:
        self._last = _Asked((), {}, "", frozenset())

    def of(self, document: Document, name: str) -> frozenset[str]:
        last = self._last
        if document.wires is last.wires and name == last.node:
            return last.upstream
        feeding = last.feeding if document.wires is last.wires else _feeding(document)
        found = frozenset(walk([name], lambda one: feeding.get(one, ())))
        self._last = _Asked(document.wires, feeding, name, found)
        return found


_UPSTREAM = _Upstream()


def _feeding(document: Document) -> Mapping[str, set[str]]:
    feeding: dict[str, set[str]] = defaultdict(set)
    for wire in document.wires:
        feeding[wire.target.node].add(wire.source.node)
    return feeding


def _type(document: Document, catalogue: Catalogue, name: str) -> NodeType:
    known = catalogue.get(document.nodes[name].type)
    return known if known is not None else node_type(document, catalogue, name)


def _no_port(found: NodeType, end: Endpoint, side: str, ports: tuple[Port, ...]) -> str:
    other = found.input(end.port) if side == "output" else found.output(end.port)
    if other is not None:
        direction = "from an output to an input"
        return f"{end} is {'an input' if side == 'output' else 'an output'}. Wires go {direction}."
    names = ", ".join(port.name for port in ports)
    return f"{end.node} has no {side} {end.port}; it has {names}." if names else f"{end.node} has no {side}s."


def _hint(output: Port, way_in: Port) -> str:
    """Hint about the missing node between two port types."""
    pair = (output.type, way_in.type)
    if pair == (PortType.SAMPLES, PortType.TENSOR):
        return " Insert a loader between them to make batches."
    if pair == (PortType.TENSOR, PortType.LOSS):
        return " Insert a loss between them."
    if pair == (PortType.LOSS, PortType.OPTIMIZER):
        return " Insert an optimizer between them."
    return ""
