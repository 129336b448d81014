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

PORT_DESCRIPTIONS = {
    PortType.SAMPLES: "samples",
    PortType.TENSOR: "a tensor",
    PortType.LOSS: "a loss",
    PortType.OPTIMIZER: "an optimizer",
}


def refusal(document: Document, catalogue: Catalogue, wire: Wire) -> str | None:
    """The reason why a wire is not allowed, for its tooltip; None if it is. It may replace a wire at the input."""
    source, target = wire.source, wire.target
    for end in (source, target):
        if end.node not in document.nodes:
            return f"The project has no node {end.node}."
    if source.node == target.node:
        return f"{source.node} cannot be connected to itself."
    source_type = node_type(document, catalogue, source.node)
    target_type = node_type(document, catalogue, target.node)
    output, input_port = source_type.output(source.port), target_type.input(target.port)
    if output is None and source_type.category != "unknown":
        return _no_port(source_type, source, "output", source_type.outputs)
    if input_port is None and target_type.category != "unknown":
        return _no_port(target_type, target, "input", target_type.inputs)
    if output is None or input_port is None:
        unknown = source.node if output is None else target.node
        return f"{unknown} has an unknown type. Its wires are kept, but no new ones can be added."
    if output.type is not input_port.type:
        provided, accepted = PORT_DESCRIPTIONS[output.type], PORT_DESCRIPTIONS[input_port.type]
        return f"{source} provides {provided} but {target} expects {accepted}.{_hint(output, input_port)}"
    if target.node in _UPSTREAM.of(document, source.node):
        return f"{target.node} already feeds {source.node}, so this wire would close a cycle."
    return None


@dataclass(frozen=True, slots=True)
class _UpstreamQuery:
    """The last upstream query and its result."""

    wires: tuple[Wire, ...]
    sources: Mapping[str, set[str]]
    node: str
    upstream: frozenset[str]


class _Upstream:
    """Upstream nodes of a node. Caches the last result, as a drag queries one node thousands of times."""

    def __init__(self) -> None:
        self._last = _UpstreamQuery((), {}, "", frozenset())

    def of(self, document: Document, name: str) -> frozenset[str]:
        last = self._last
        if document.wires is last.wires and name == last.node:
            return last.upstream
        sources = last.sources if document.wires is last.wires else _sources_by_node(document)
        upstream = frozenset(walk([name], lambda node: sources.get(node, ())))
        self._last = _UpstreamQuery(document.wires, sources, name, upstream)
        return upstream


_UPSTREAM = _Upstream()


def _sources_by_node(document: Document) -> Mapping[str, set[str]]:
    sources: dict[str, set[str]] = defaultdict(set)
    for wire in document.wires:
        sources[wire.target.node].add(wire.source.node)
    return sources


def _no_port(owner: NodeType, end: Endpoint, side: str, ports: tuple[Port, ...]) -> str:
    opposite = owner.input(end.port) if side == "output" else owner.output(end.port)
    if opposite is not None:
        direction = "from an output to an input"
        return f"{end} is {'an input' if side == 'output' else 'an output'}. Wires go {direction}."
    names = ", ".join(port.name for port in ports)
    return f"{end.node} has no {side} {end.port}; it has {names}." if names else f"{end.node} has no {side}s."


def _hint(output: Port, input_port: Port) -> str:
    """Hint about the missing node between two port types."""
    pair = (output.type, input_port.type)
    if pair == (PortType.SAMPLES, PortType.TENSOR):
        return " Insert a loader between them to make batches."
    if pair == (PortType.TENSOR, PortType.LOSS):
        return " Insert a loss between them."
    if pair == (PortType.LOSS, PortType.OPTIMIZER):
        return " Insert an optimizer between them."
    return ""
