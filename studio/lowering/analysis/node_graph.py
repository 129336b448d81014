"""The graph of a document: node types, connections and topological order, without parameters."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from studio.document.blocks import block_nodes
from studio.document.blocks.block_expansion import Expansion
from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint, Node, Wire
from studio.document.weight_sharing import params_of
from studio.lowering.analysis.block_types import BlockTypes, WiredInputs, known_type
from studio.nodes.catalogue import Catalogue, placeholder
from studio.nodes.types import NodeType, Port, PortType, Role


class NodeGraph:
    """The graph of a document. Valid while wires, node names, types and muted flags are unchanged; see `fits`.

    Args:
        expansion: for a flat graph, what it was made from
    """

    def __init__(self, document: Document, catalogue: Catalogue, expansion: Expansion | None = None) -> None:
        self.document = document
        self._expansion = expansion
        self.catalogue = catalogue
        self.types: dict[str, NodeType] = _types(document, BlockTypes(document.blocks, catalogue))
        self.muted = frozenset(name for name, node in document.nodes.items() if node.muted)
        self.stray: list[Wire] = []
        """Invalid wires: a missing end, different port types, or a second wire at an input."""
        self.input_sources: dict[str, dict[str, Endpoint]] = {name: {} for name in self.types}
        """The connected output, by node and input port."""
        self.outgoing_wires: dict[str, list[Wire]] = defaultdict(list)
        """The wires from each node's outputs."""
        for wire in document.wires:
            self._add(wire)
        self._upstream: dict[tuple[str, ...], set[str]] = {}
        self._unmuted: dict[Endpoint, Endpoint | None] = {}
        self.order: list[str] = self._sorted()
        """Topological order, otherwise that of the document. Nodes of a cycle and those after it are absent."""

    # -- queries

    def fits(self, document: Document, catalogue: Catalogue) -> bool:
        """Whether another document has the same graph, for example after a parameter was set."""
        if catalogue is not self.catalogue or document.wires is not self.document.wires:
            return False
        if document.blocks is not self.document.blocks and any(map(block_nodes.name_of, document.nodes.values())):
            return False
        nodes, other_nodes = self.document.nodes, document.nodes
        if len(nodes) != len(other_nodes):
            return False
        return all(
            name == old_name and (node is old or self._is_similar(name, old, node))
            for (old_name, old), (name, node) in zip(nodes.items(), other_nodes.items(), strict=True)
        )

    def _is_similar(self, name: str, old: Node, node: Node) -> bool:
        """Whether two versions of a node have the same ports."""
        structural = self.types[name].structural
        return (
            node.type == old.type
            and node.muted == old.muted
            and node.shares == old.shares
            and all(node.params.get(param) == old.params.get(param) for param in structural)
        )

    def with_role(self, role: Role) -> list[str]:
        """Nodes with a role that are not muted, in document order."""
        return self._by_role[role]

    def with_key(self, keys: Iterable[str]) -> list[str]:
        """Nodes of some types that are not muted, type by type."""
        return [name for key in keys for name in self._by_key.get(key, ())]

    def source(self, name: str, port: str) -> Endpoint | None:
        """The output whose value reaches an input, through muted nodes; None if there is none."""
        end = self.input_sources[name].get(port)
        return None if end is None else self.unmuted(end)

    def unmuted(self, end: Endpoint) -> Endpoint | None:
        """The output whose value an output has: itself unless its node is muted; None if there is none."""
        if end.node not in self.muted:
            return end
        if end not in self._unmuted:
            path = list(walk([end], self._bypass_source))
            last = path[-1] if path[-1].node not in self.muted else None
            self._unmuted.update(dict.fromkeys(path, self._unmuted.get(path[-1], last)))
        return self._unmuted[end]

    def sources(self, name: str) -> Mapping[str, Endpoint]:
        """`source` of all connected input ports."""
        if not self.muted:
            return self.input_sources[name]
        return {port: end for port in self.input_sources[name] if (end := self.source(name, port)) is not None}

    def upstream(self, names: list[str]) -> set[str]:
        """These nodes and all nodes they depend on, without muted ones."""
        key = tuple(names)
        if key not in self._upstream:
            reached = walk(names, lambda name: [end.node for end in self.sources(name).values()])
            self._upstream[key] = set(reached)
        return self._upstream[key]

    def readers(self, end: Endpoint) -> list[Endpoint]:
        """The inputs that an output's value reaches, through muted nodes."""
        return self._readers.get(end, [])

    def free_outputs(self, port_type: PortType) -> list[Endpoint]:
        """Unconnected outputs of a type."""
        return self._free[port_type]

    @cached_property
    def cyclic(self) -> list[str]:
        """The nodes of a cycle in wire order; empty if there is none."""
        remaining = set(self.types).difference(self.order)
        name, path = next(iter(sorted(remaining)), None), dict[str, int]()
        while name is not None and name not in path:
            path[name] = len(path)
            name = next((end.node for end in self.input_sources[name].values() if end.node in remaining), None)
        return [] if name is None else list(reversed(list(path)[path[name] :]))

    @cached_property
    def optimized(self) -> list[str]:
        """The optimizers that have a loss, in order."""
        return [name for name in self.with_role(Role.OPTIMIZER) if self.sources(name)]

    @cached_property
    def needed(self) -> set[str]:
        """Nodes that a run uses: those that connected optimizers and metrics depend on, otherwise all connected nodes.

        Includes nodes of unknown type that read from a used node, because they may be metrics or schedules.
        All instances of a block are one class, so what one of them needs is needed in all that the run uses.
        """
        used = self._used()
        while self._expansion is not None and (more := self._expansion.same_nodes(used) - used - self.muted):
            used = self.upstream([*used, *more])
        return used

    def _used(self) -> set[str]:
        """The nodes that connected optimizers and metrics depend on."""
        if self.optimized:
            metrics = [name for name in self.with_role(Role.METRIC) if self.sources(name)]
            schedules = [name for name in self.with_role(Role.SCHEDULER) if self.driven_by(name) in self.optimized]
            used = self.upstream([*self.optimized, *metrics, *schedules])
            unknown = self.with_role(Role.UNKNOWN)
            reading = [name for name in unknown if any(end.node in used for end in self.sources(name).values())]
            return self.upstream([*self.optimized, *metrics, *schedules, *reading]) if reading else used
        wired = {end.node for wire in self.document.wires for end in (wire.source, wire.target)}
        return {name for name in self.types if name in wired and name not in self.muted}

    def driven_by(self, schedule: str) -> str | None:
        """The optimizer whose learning rate a schedule sets, through earlier schedules."""
        chain = walk([schedule], self._before_schedule)
        return next((name for name in chain if self.types[name].role is Role.OPTIMIZER), None)

    def _before_schedule(self, name: str) -> list[str]:
        ends = list(self.sources(name).values())[:1] if self.types[name].role is Role.SCHEDULER else []
        return [end.node for end in ends]

    def _bypass_source(self, end: Endpoint) -> list[Endpoint]:
        """The output whose value a muted node passes through; empty if it is cached or there is none."""
        if end.node not in self.muted or end in self._unmuted:
            return []
        input_port = bypass_input(self.types[end.node], end.port)
        source = None if input_port is None else self.input_sources[end.node].get(input_port)
        return [] if source is None else [source]

    # -- construction

    def _add(self, wire: Wire) -> None:
        output, input_port = port_of(self.types, wire.source, "output"), port_of(self.types, wire.target, "input")
        is_occupied = input_port is not None and wire.target.port in self.input_sources[wire.target.node]
        if output is None or input_port is None or output.type is not input_port.type or is_occupied:
            self.stray.append(wire)
            return
        self.input_sources[wire.target.node][wire.target.port] = wire.source
        self.outgoing_wires[wire.source.node].append(wire)

    def _sorted(self) -> list[str]:
        index_of = {name: index for index, name in enumerate(self.types)}
        names = list(self.types)
        unsorted_inputs = {name: len(inputs) for name, inputs in self.input_sources.items()}
        ready = [index_of[name] for name, count in unsorted_inputs.items() if count == 0]
        order: list[str] = []
        while ready:
            name = names[heapq.heappop(ready)]
            order.append(name)
            for wire in self.outgoing_wires.get(name, ()):
                unsorted_inputs[wire.target.node] -= 1
                if unsorted_inputs[wire.target.node] == 0:
                    heapq.heappush(ready, index_of[wire.target.node])
        return order

    @cached_property
    def _by_role(self) -> dict[Role, list[str]]:
        by_role: dict[Role, list[str]] = {role: [] for role in Role}
        for name, node_type in self.types.items():
            if name not in self.muted:
                by_role[node_type.role].append(name)
        return by_role

    @cached_property
    def _by_key(self) -> dict[str, list[str]]:
        by_key: dict[str, list[str]] = {}
        for name, node_type in self.types.items():
            if name not in self.muted:
                by_key.setdefault(node_type.key, []).append(name)
        return by_key

    @cached_property
    def _free(self) -> dict[PortType, list[Endpoint]]:
        free: dict[PortType, list[Endpoint]] = {port_type: [] for port_type in PortType}
        for name, node_type in self.types.items():
            for port in node_type.outputs if name not in self.muted else ():
                if not self.readers(end := Endpoint(name, port.name)):
                    free[port.type].append(end)
        return free

    @cached_property
    def _readers(self) -> dict[Endpoint, list[Endpoint]]:
        readers: dict[Endpoint, list[Endpoint]] = defaultdict(list)
        for name in self.types:
            if name not in self.muted:
                for port, end in self.sources(name).items():
                    readers[end].append(Endpoint(name, port))
        return readers


def bypass_input(node_type: NodeType, output: str) -> str | None:
    """The input that a muted node passes to an output: the first of the same type."""
    port = node_type.output(output)
    return next(
        (input_port.name for input_port in node_type.inputs if port is not None and input_port.type is port.type), None
    )


def port_of(types: Mapping[str, NodeType], end: Endpoint, side: str) -> Port | None:
    """The port at one end of a wire, if both node and port exist."""
    node_type = types.get(end.node)
    if node_type is None:
        return None
    return node_type.input(end.port) if side == "input" else node_type.output(end.port)


def node_type(document: Document, catalogue: Catalogue, name: str) -> NodeType:
    """The type of one node; for an unknown type a placeholder with the ports that the wires mention."""
    found_type = known_type(document, catalogue, name)
    if found_type is not None and not found_type.keeps_wired_ports:
        return found_type
    ports = _placeholders(document, BlockTypes(document.blocks, catalogue), {name})[name]
    return ports if found_type is None else replace(found_type, inputs=ports.inputs, outputs=ports.outputs)


def _types(document: Document, types: BlockTypes) -> dict[str, NodeType]:
    wired = WiredInputs()
    found_type = {name: types.type_of(node) for name, node in document.nodes.items()}
    for name, found in found_type.items():
        if found is not None and found.adapt is not None:
            found_type[name] = found.adapt(found, params_of(document.nodes, name), wired.of(document, name))
    unclear = {name for name, found in found_type.items() if found is not None and found.keeps_wired_ports}
    for name, ports in _placeholders(document, types, unclear).items() if unclear else ():
        found = found_type[name]
        found_type[name] = found and replace(found, inputs=ports.inputs, outputs=ports.outputs)
    unfound_type = {name for name, found in found_type.items() if found is None}
    placeholders = _placeholders(document, types, unfound_type) if unfound_type else {}
    return {name: placeholders[name] if found is None else found for name, found in found_type.items()}


def _placeholders(document: Document, types: BlockTypes, unknown: set[str]) -> dict[str, NodeType]:
    inputs: dict[str, dict[str, PortType]] = {name: {} for name in unknown}
    outputs: dict[str, dict[str, PortType]] = {name: {} for name in unknown}
    for wire in document.wires:
        if wire.target.node in unknown:
            inputs[wire.target.node][wire.target.port] = _other_type(document, types, wire.source, "output")
        if wire.source.node in unknown:
            outputs[wire.source.node][wire.source.port] = _other_type(document, types, wire.target, "input")
    return {name: placeholder(document.nodes[name].type, inputs[name], outputs[name]) for name in unknown}


def _other_type(document: Document, types: BlockTypes, end: Endpoint, side: str) -> PortType:
    """The port type of a wire, from the end whose node type is known."""
    node = document.nodes.get(end.node)
    found_type = None if node is None else types.type_of(node)
    port = None if found_type is None else port_of({end.node: found_type}, end, side)
    return PortType.TENSOR if port is None else port.type
