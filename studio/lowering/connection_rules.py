"""Whether a wire may be drawn. Asked for every port while a wire is being dragged, so each answer is a few lookups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from studio.document.graph_walk import walk
from studio.document.model import Document, End, Wire
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
    """Why a wire cannot be, in a sentence or two for its tooltip; None where it fits. A wire at its input gives way."""
    source, target = wire.source, wire.target
    for end in (source, target):
        if end.node not in document.nodes:
            return f"There is no node {end.node}."
    if source.node == target.node:
        return f"{source.node} cannot feed itself."
    giver = _type(document, catalogue, source.node)
    taker = _type(document, catalogue, target.node)
    output, way_in = giver.output(source.port), taker.input(target.port)
    if output is None and giver.category != "unknown":
        return _no_port(giver, source, "output", giver.outputs)
    if way_in is None and taker.category != "unknown":
        return _no_port(taker, target, "input", taker.inputs)
    if output is None or way_in is None:
        unknown = source.node if output is None else target.node
        return f"{unknown} is of an unknown type: it keeps its wires, but takes no new ones."
    if output.type is not way_in.type:
        carried, taken = CARRIES[output.type], CARRIES[way_in.type]
        return f"{source} carries {carried}, but {target} takes {taken}.{_hint(output, way_in)}"
    if target.node in _UPSTREAM.of(document, source.node):
        return f"{target.node} already feeds {source.node}: this wire would close a loop."
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """The last question about what lies upstream, and its answer."""

    wires: tuple[Wire, ...]
    feeding: Mapping[str, set[str]]
    node: str
    upstream: frozenset[str]


class _Upstream:
    """All nodes before one node. Keeps the last answer: a drag asks about one node some thousand times."""

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


def _no_port(found: NodeType, end: End, side: str, ports: tuple[Port, ...]) -> str:
    other = found.input(end.port) if side == "output" else found.output(end.port)
    if other is not None:
        direction = "from an output to an input"
        return f"{end} is {'an input' if side == 'output' else 'an output'}: a wire goes {direction}."
    names = ", ".join(port.name for port in ports)
    return f"{end.node} has no {side} {end.port}; it has {names}." if names else f"{end.node} has no {side}s."


def _hint(output: Port, way_in: Port) -> str:
    """The node that is missing between two types."""
    pair = (output.type, way_in.type)
    if pair == (PortType.SAMPLES, PortType.TENSOR):
        return " Put a loader between them, which makes batches of samples."
    if pair == (PortType.TENSOR, PortType.LOSS):
        return " Put a loss between them."
    if pair == (PortType.LOSS, PortType.OPTIMIZER):
        return " Put an optimizer between them."
    return ""
