"""Turn nodes into a block, and an instance of a block back into nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import check_block_name, instance_of, is_used, remove_block, view, with_graph
from studio.document.blocks.block_expansion import Expansion, Scope
from studio.document.blocks.instance_updates import update_instances
from studio.document.document_errors import EditError
from studio.document.frames import frames_of, shifted_frame
from studio.document.graph_walk import walk
from studio.document.model import Block, Document, Endpoint, Node, ParamRef, Wire
from studio.document.weight_sharing import check_together, users_of, with_renamed_owner
from studio.document.wire_routes import bounded, inner_routes, shifted_route

GAP = 232.0
"""Distance between a node and a port, or between two unpacked copies, in pixels at 100%."""
ROW = 64.0
"""Distance between two ports."""
GRID = 8.0


def group(
    document: Document,
    names: Iterable[str],
    block: str,
    *,
    inside: str | None = None,
    open_inputs: Sequence[Endpoint] = (),
    open_outputs: Sequence[Endpoint] = (),
) -> tuple[Document, str]:
    """Replace nodes by an instance of a new block made of them; also returns the name of the instance.

    Each output outside that nodes inside read becomes an input port, and each output inside that nodes outside read an
    output port. They are named after the ports of the nodes inside, and in the order of these nodes.

    Args:
        open_inputs: inputs without a wire that become ports, too
        open_outputs: outputs without a wire that become ports, too
        inside: the block that the nodes are in; None for nodes of the canvas. Its promoted parameters stay promoted.
    """
    if inside is None:
        return _grouped(document, names, block, open_inputs, open_outputs)
    chosen = set(names)
    after, instance = _grouped(view(document, inside), chosen, block, open_inputs, open_outputs)
    outer = document.blocks[inside]
    inner_params: dict[str, tuple[ParamRef, ...]] = {}
    outer_params: dict[str, tuple[ParamRef, ...]] = {}
    for param, refs in outer.params.items():
        if moved := tuple(ref for ref in refs if ref.node in chosen):
            inner_params[param] = moved
            refs = (*(ref for ref in refs if ref.node not in chosen), ParamRef(instance, param))
        outer_params[param] = refs
    defined = {
        **after.blocks,
        block: replace(after.blocks[block], params=inner_params),
        inside: with_graph(outer, after, params=outer_params),
    }
    return replace(document, blocks=defined), instance


def _grouped(
    document: Document,
    names: Iterable[str],
    block: str,
    open_inputs: Sequence[Endpoint],
    open_outputs: Sequence[Endpoint],
) -> tuple[Document, str]:
    chosen = _checked_selection(document, names)
    check_block_name(document, block)
    _check_convex(document, chosen)
    check_together(document.nodes, chosen)
    incoming = [wire for wire in document.wires if wire.target.node in chosen and wire.source.node not in chosen]
    outgoing = [wire for wire in document.wires if wire.source.node in chosen and wire.target.node not in chosen]
    names_used = naming.UniqueNames(chosen)
    order = {name: index for index, name in enumerate(chosen)}
    incoming.sort(key=lambda wire: (order[wire.target.node], wire.target.port))
    first_reader: dict[Endpoint, str] = {}
    for wire in incoming:
        first_reader.setdefault(wire.source, wire.target.port)
    inputs = {source: names_used.reserve(_port_name(port)) for source, port in first_reader.items()}
    unwired = {end: names_used.reserve(_port_name(end.port)) for end in open_inputs}
    sources = dict.fromkeys((*(wire.source for wire in outgoing), *open_outputs))
    outputs = {end: names_used.reserve(_port_name(end.port)) for end in sources}
    inner = [wire for wire in document.wires if wire.target.node in chosen and wire.source.node in chosen]
    inner += [Wire(Endpoint(inputs[wire.source], block_nodes.GIVEN), wire.target) for wire in incoming]
    inner += [Wire(Endpoint(port, block_nodes.GIVEN), end) for end, port in unwired.items()]
    inner += [Wire(source, Endpoint(port, block_nodes.TAKEN)) for source, port in outputs.items()]
    frames = frames_of(document, chosen)
    definition = Block(
        _with_ports(chosen, (*inputs.values(), *unwired.values()), outputs.values()),
        tuple(sorted(inner)),
        frames=frames,
        routes=inner_routes(document, chosen),
    )
    instance = naming.unique_name(naming.to_identifier(block), [name for name in document.nodes if name not in chosen])
    outer = [wire for wire in document.wires if wire.target.node not in chosen and wire.source.node not in chosen]
    outer += [Wire(source, Endpoint(instance, port)) for source, port in inputs.items()]
    outer += [Wire(Endpoint(instance, outputs[wire.source]), wire.target) for wire in outgoing]
    paths = {name: f"{instance}.{name}" for name in chosen}
    nodes: dict[str, Node] = {}
    for name, node in document.nodes.items():
        if name not in chosen:
            nodes[name] = _with_layers(node, paths)
        elif instance not in nodes:
            nodes[instance] = Node(block_nodes.type_of(block), at=_center(chosen.values()))
    defined = {**document.blocks, block: definition}
    left = {name: frame for name, frame in document.frames.items() if name not in frames}
    routes = inner_routes(document, document.nodes.keys() - chosen.keys())
    wires = tuple(sorted(outer))
    return replace(document, nodes=nodes, wires=wires, blocks=defined, frames=left, routes=routes), instance


def unpack(document: Document, instance: str, *, inside: str | None = None) -> tuple[Document, tuple[str, ...]]:
    """Replace an instance by the nodes of its definition; also returns their names.

    Copies of a repeated instance are put side by side. A definition without other instances is removed.

    Args:
        inside: the block that the instance is in; None for one on the canvas. Its promoted parameters stay promoted,
            except the number of copies.
    """
    if inside is None:
        document, names, block = _unpacked(document, instance)
    else:
        after, names, block = _unpacked(view(document, inside), instance)
        outer = document.blocks[inside]
        params = {param: _unpacked_refs(document, instance, block, refs, names) for param, refs in outer.params.items()}
        kept = {param: refs for param, refs in params.items() if refs}
        defined = {**document.blocks, inside: with_graph(outer, after, params=kept)}
        gone = dict.fromkeys(params.keys() - kept.keys())
        document = update_instances(replace(document, blocks=defined), inside, {}, gone)
    return document if is_used(document, block) else remove_block(document, block), tuple(names.values())


def _unpacked_refs(
    document: Document, instance: str, block: str, refs: tuple[ParamRef, ...], names: Mapping[str, str]
) -> tuple[ParamRef, ...]:
    """Promoted parameters of an instance, as those of the nodes that replace it in all its copies."""
    found: list[ParamRef] = []
    for ref in refs:
        if ref.node != instance:
            found.append(ref)
            continue
        for inner in document.blocks[block].params.get(ref.param, ()):
            copies = [name for path, name in names.items() if path.rpartition(".")[2] == inner.node]
            found += [ParamRef(name, inner.param) for name in copies]
    return tuple(found)


def _unpacked(document: Document, instance: str) -> tuple[Document, dict[str, str], str]:
    """The document without the instance, the names of its nodes by their paths, and the name of its block."""
    node, block, definition = instance_of(document, instance)
    if users := users_of(document.nodes, instance):
        raise EditError(f"{instance} and {users[0]} share weights. Use separate weights for them first.")
    expansion = Expansion(document, only=instance)
    copies = expansion.root.copies.get(instance)
    if copies is None:
        raise EditError(f"{instance} is muted, so it has no nodes to unpack. Unmute it first.")
    inner = {copy.prefix + name: copy for copy in copies for name in copy.nodes if not copy.is_boundary(name)}
    names_used = naming.UniqueNames(name for name in document.nodes if name != instance)
    paths = {path: names_used.reserve(path.removeprefix(copy.prefix)) for path, copy in inner.items()}
    flat = expansion.flat.nodes
    left, top = _center(flat[path] for path, copy in inner.items() if copy.index == 0)
    ends = [flat[path].at[0] for path in inner]
    width = max(ends, default=0.0) - min(ends, default=0.0) + GAP
    shifts = [(node.at[0] - left + copy.index * width, node.at[1] - top) for copy in copies]
    nodes: dict[str, Node] = {}
    for path, each in flat.items():
        if path in inner:
            dx, dy = shifts[inner[path].index]
            each = with_renamed_owner(each, paths)
            nodes[paths[path]] = replace(each, at=_bounded(each.at[0] + dx, each.at[1] + dy))
        else:
            nodes[path] = _with_layers(each, paths)
    ends_renamed = (Wire(_renamed(wire.source, paths), _renamed(wire.target, paths)) for wire in expansion.flat.wires)
    wires = tuple(sorted(ends_renamed))
    document = _with_unpacked_layout(document, instance, definition, copies, shifts, paths)
    return replace(document, nodes=nodes, wires=wires), paths, block


def _with_unpacked_layout(
    document: Document,
    instance: str,
    definition: Block,
    copies: Sequence[Scope],
    shifts: Sequence[tuple[float, float]],
    paths: Mapping[str, str],
) -> Document:
    """The document with the frames and reroute points of the copies of an instance, each moved by its shift."""
    routes = inner_routes(document, document.nodes.keys() - {instance})
    frames = dict(document.frames)
    names = naming.UniqueNames(frames)
    plain = [name for name in definition.nodes if not copies[0].is_boundary(name)]
    for copy, shift in zip(copies, shifts, strict=True):
        for end, points in inner_routes(definition, plain).items():
            routes[Endpoint(paths[copy.prefix + end.node], end.port)] = shifted_route(points, *shift)
        for name, frame in definition.frames.items():
            frames[names.reserve(name)] = shifted_frame(frame, *shift)
    return replace(document, frames=frames, routes=routes)


def _checked_selection(document: Document, names: Iterable[str]) -> dict[str, Node]:
    wanted = set(names)
    if not wanted:
        raise EditError("Nothing is selected. Select the nodes of the block first.")
    if unknown := wanted.difference(document.nodes):
        raise EditError(f"The project has no node {min(unknown)!r}.")
    chosen = {name: node for name, node in document.nodes.items() if name in wanted}
    port = next((name for name, node in chosen.items() if node.type in (block_nodes.INPUT, block_nodes.OUTPUT)), None)
    if port is not None:
        raise EditError(f"{port} is a port of this block and cannot be part of another. Select other nodes.")
    return chosen


def _check_convex(document: Document, chosen: Collection[str]) -> None:
    """Refuse a selection with a node outside that both depends on it and feeds it: the block would feed itself."""
    after: dict[str, list[str]] = {}
    for wire in document.wires:
        after.setdefault(wire.source.node, []).append(wire.target.node)
    start = [name for each in chosen for name in after.get(each, ()) if name not in chosen]
    behind = set(walk(start, lambda name: [] if name in chosen else after.get(name, [])))
    for wire in document.wires:
        if wire.target.node in chosen and wire.source.node in behind and wire.source.node not in chosen:
            raise EditError(
                f"{wire.source.node} is between two of these nodes, so the block would feed itself. Select it too."
            )


def _port_name(port: str) -> str:
    return port if naming.problem(port) is None else naming.to_identifier(port)


def _with_ports(chosen: Mapping[str, Node], inputs: Iterable[str], outputs: Iterable[str]) -> dict[str, Node]:
    left, top = _corner(chosen.values())
    right = max(node.at[0] for node in chosen.values())
    before = {
        name: Node(block_nodes.INPUT, at=_bounded(left - GAP, top + row * ROW)) for row, name in enumerate(inputs)
    }
    after = {
        name: Node(block_nodes.OUTPUT, at=_bounded(right + GAP, top + row * ROW)) for row, name in enumerate(outputs)
    }
    return {**before, **chosen, **after}


def _corner(nodes: Iterable[Node]) -> tuple[float, float]:
    """The top left corner of the positions of nodes."""
    corners = [node.at for node in nodes]
    return (min((x for x, _ in corners), default=0.0), min((y for _, y in corners), default=0.0))


def _bounded(x: float, y: float) -> tuple[float, float]:
    """A position within the bounds of coordinates."""
    return (bounded(x), bounded(y))


def _center(nodes: Iterable[Node]) -> tuple[float, float]:
    """The mean position of nodes, on the grid."""
    positions = [node.at for node in nodes]
    count = max(len(positions), 1)
    x, y = sum(x for x, _ in positions) / count, sum(y for _, y in positions) / count
    return _bounded(GRID * round(x / GRID), GRID * round(y / GRID))


def _with_layers(node: Node, paths: Mapping[str, str]) -> Node:
    """An optimizer whose layers have new paths, or the node itself."""
    if not paths.keys() & set(node.trains):
        return node
    return replace(node, trains=tuple(paths.get(name, name) for name in node.trains))


def _renamed(end: Endpoint, paths: Mapping[str, str]) -> Endpoint:
    return Endpoint(paths[end.node], end.port) if end.node in paths else end


__all__ = ["group", "unpack"]
