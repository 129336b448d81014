"""Edits of the canvas that combine several document edits into one undo step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from studio.document import edits
from studio.document.frames import change_frame, nodes_in
from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint, Json, Node, Wire
from studio.document.wire_routes import inner_routes
from studio.lowering.analysis.block_types import known_type
from studio.lowering.analysis.library_types import defined
from studio.lowering.analysis.node_graph import bypass_input
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType, Port, PortType, Role
from studio.ui.canvas.frames.frame_geometry import around
from studio.ui.canvas.geometry import Box, bounds, snap_up
from studio.ui.canvas.layout.push_nodes import WIRE_LENGTH, push_right, shifted_clear_of
from studio.ui.canvas.wires.pending_wire import PendingWire

Params = Mapping[str, Json]
NO_PARAMS: Params = MappingProxyType({})


def add_node(
    document: Document, kind: NodeType, at: tuple[float, float], params: Params = NO_PARAMS, *, name: str = ""
) -> tuple[Document, str]:
    """Add a node named `name`, or with a fresh name derived from its title, and the definition that it needs."""
    name = name or edits.unique_name(document, kind.title)
    document, key = defined(document, kind)
    return edits.add(document, name, Node(key, dict(params), at=at)), name


def add_wired_node(
    document: Document, kind: NodeType, at: tuple[float, float], pending: PendingWire, params: Params = NO_PARAMS
) -> tuple[Document, str]:
    """Add a node at the loose end of a wire, and the wire if a port matches."""
    base = edits.disconnect(document, [pending.detached]) if pending.detached else document
    document, name = add_node(base, kind, at, params)
    port = matching_port(
        kind.inputs if pending.loose_side == "input" else kind.outputs, pending.kind, pending.fixed.port
    )
    if port is not None:
        document = edits.connect(document, pending.wire(Endpoint(name, port.name)))
    return document, name


def matching_port(ports: Iterable[Port], kind: PortType, name: str) -> Port | None:
    """The port of a type with the name of the other end, or else the first one of the type."""
    fitting = [port for port in ports if port.type is kind]
    return next((port for port in fitting if port.name == name), next(iter(fitting), None))


def wire_to_follower(document: Document, catalogue: Catalogue, name: str, kind: NodeType) -> Wire | None:
    """The wire from a node to a new node of `kind`, with an empty target name.

    It leads from the first output, or from one with the name of an input; unconnected ones first.
    """
    source_type = known_type(document, catalogue, name)
    if source_type is None:
        return None
    connected = {wire.source for wire in document.wires if wire.source.node == name}
    found: list[Wire] = []
    for index, output in enumerate(source_type.outputs):
        port = matching_port(kind.inputs, output.type, output.name)
        if port is not None and (index == 0 or port.name == output.name):
            found.append(Wire(Endpoint(name, output.name), Endpoint("", port.name)))
    return min(found, key=lambda wire: wire.source in connected, default=None)


def target_source(
    document: Document, catalogue: Catalogue, report: Report, kind: NodeType, name: str
) -> Endpoint | None:
    """The output with the targets of a new loss or metric after a node: that of the only loader before it.

    None if there are several, or if a classification would get numbers, or another loss class numbers.
    """
    port = kind.input("target")
    if port is None or kind.category not in ("loss", "metric"):
        return None
    before: dict[str, list[str]] = {}
    for wire in document.wires:
        before.setdefault(wire.target.node, []).append(wire.source.node)
    loaders = [
        each
        for each in walk([name], lambda node: before.get(node, []))
        if (found := known_type(document, catalogue, each)) is not None and found.role is Role.LOADER
    ]
    info = report.nodes.get(loaders[0]) if len(loaders) == 1 else None
    spec = None if info is None else info.outputs.get(port.name)
    is_classification = kind.learns == "classes" or kind.group == "Classification"
    if spec is None or spec.dtype.name.startswith("int") != is_classification:
        return None
    return Endpoint(loaders[0], port.name)


def onward_wires(document: Document, wire: Wire, kind: NodeType, name: str) -> tuple[list[Wire], list[Wire]]:
    """The wires from the source of `wire` that a new node at its end takes over: those before, and those after.

    None if the node has no output of the same type, such as a loss.
    """
    source = next((port for port in kind.inputs if port.name == wire.target.port), None)
    output = next((port for port in kind.outputs if source is not None and port.type is source.type), None)
    if output is None:
        return [], []
    before = [each for each in document.wires if each.source == wire.source]
    return before, [Wire(Endpoint(name, output.name), each.target) for each in before]


def insertion_wires(document: Document, catalogue: Catalogue, name: str, wire: Wire) -> tuple[Wire, Wire] | None:
    """The two wires that replace `wire` when a node is inserted; None if no ports match or it has wires."""
    kind = known_type(document, catalogue, name)
    if kind is None or any(name in (w.source.node, w.target.node) for w in document.wires):
        return None
    return insertion_wires_for_type(document, catalogue, kind, name, wire)


def insertion_wires_for_type(
    document: Document, catalogue: Catalogue, kind: NodeType, name: str, wire: Wire
) -> tuple[Wire, Wire] | None:
    """Like `insertion_wires`, for a node that is not in the document yet."""
    source = known_type(document, catalogue, wire.source.node)
    port = source.output(wire.source.port) if source else None
    if port is None:
        return None
    input_port = next((p for p in kind.inputs if p.type is port.type), None)
    output_port = next((p for p in kind.outputs if p.type is port.type), None)
    if input_port is None or output_port is None:
        return None
    return Wire(wire.source, Endpoint(name, input_port.name)), Wire(Endpoint(name, output_port.name), wire.target)


def insert_into_wire(document: Document, wire: Wire, pair: tuple[Wire, Wire]) -> Document:
    """Replace a wire by two wires."""
    document = edits.disconnect(document, [wire])
    for new in pair:
        document = edits.connect(document, new)
    return document


def positions_after_insertion(
    document: Document, boxes: Mapping[str, Box], box: Box, name: str, wires: Sequence[Wire]
) -> dict[str, tuple[float, float]]:
    """Positions of a node inserted into wires of one source, and of the nodes that it pushes to the right."""
    others = {other: other_box for other, other_box in boxes.items() if other != name}
    source = others[wires[0].source.node]
    forwards = [wire for wire in wires if others[wire.target.node].left >= source.right]
    if forwards and box.left < source.right + WIRE_LENGTH:
        box = box.moved(snap_up(source.right + WIRE_LENGTH) - box.left, 0)
    box = shifted_clear_of(box, others.values())
    ahead = {wire.target.node: WIRE_LENGTH for wire in forwards}
    return {name: (box.left, box.top), **push_right(others, box, name, ahead=ahead, wires=node_pairs(document))}


def node_pairs(document: Document) -> list[tuple[str, str]]:
    """The source and target nodes of the wires."""
    return [(wire.source.node, wire.target.node) for wire in document.wires]


def remove_and_reconnect(document: Document, catalogue: Catalogue, names: Iterable[str]) -> Document:
    """Remove nodes and connect their inputs to their outputs, as for muted nodes."""
    for name in names:
        kind = known_type(document, catalogue, name)
        new_wires: list[Wire] = []
        for wire in document.wires:
            if wire.source.node != name or kind is None:
                continue
            input_name = bypass_input(kind, wire.source.port)
            source = next((w.source for w in document.wires if w.target == Endpoint(name, input_name or "")), None)
            if source is not None:
                new_wires.append(Wire(source, wire.target))
        document = edits.remove(document, [name])
        for new_wire in new_wires:
            document = edits.connect(document, new_wire)
    return document


def move_nodes(document: Document, positions: Mapping[str, tuple[float, float]]) -> Document:
    """Move nodes that still exist."""
    return edits.move(document, {name: at for name, at in positions.items() if name in document.nodes})


def lay_out(document: Document, positions: Mapping[str, tuple[float, float]], boxes: Mapping[str, Box]) -> Document:
    """Move nodes as a layout does: their frames follow, and the wires among them lose their reroute points.

    Args:
        boxes: boxes of the nodes before
    """
    framed = {
        name: members
        for name, frame in document.frames.items()
        if (members := nodes_in(document, frame)) and all(member in positions for member in members)
    }
    kept = document.routes.keys() - inner_routes(document, positions).keys()
    document = move_nodes(document, positions)
    for name, members in framed.items():
        moved = (boxes[member].moved(*_offset(boxes[member], positions[member])) for member in members)
        if (inner := bounds(moved)) is not None:
            box = around(inner)
            document = change_frame(document, name, at=(box.left, box.top), size=(box.width, box.height))
    if len(kept) < len(document.routes):
        document = replace(document, routes={end: points for end, points in document.routes.items() if end in kept})
    return document


def _offset(box: Box, at: tuple[float, float]) -> tuple[float, float]:
    return at[0] - box.left, at[1] - box.top


def toggle_flag(document: Document, names: Iterable[str], flag: str) -> Document:
    """Set a flag on all nodes, or clear it if all have it."""
    chosen = [name for name in names if name in document.nodes]
    value = not all(getattr(document.nodes[name], flag) for name in chosen)
    return edits.set_flag(document, chosen, **{flag: value})
