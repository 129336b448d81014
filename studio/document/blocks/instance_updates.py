"""Instances follow their definition: renamed and removed ports and promoted parameters, at any depth."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from studio.document.blocks import block_nodes
from studio.document.model import Block, Document, Endpoint, Node, ParamRef, Routes, Wire

Changes = Mapping[str, str | None]
"""New names by old names; None for what is removed."""


def update_instances(document: Document, name: str, ports: Changes, params: Changes) -> Document:
    """Rename ports and parameters at all instances of a block, and remove wires and values of those that are gone.

    A parameter that another block promotes from an instance follows, too.
    """
    users = [key for key, block in document.blocks.items() if name in block_nodes.used_blocks(block.nodes)]
    before = {key: document.blocks[key] for key in users}
    after = {key: _updated_block(block, name, ports, params) for key, block in before.items()}
    instances = _instances(document.nodes, name)
    document = replace(
        document,
        nodes=_updated_nodes(document.nodes, instances, params),
        wires=_updated_wires(document.wires, instances, ports),
        routes=_updated_routes(document, instances, ports),
        blocks={**document.blocks, **after},
    )
    for key in users:
        if gone := before[key].params.keys() - after[key].params.keys():
            document = update_instances(document, key, {}, dict.fromkeys(gone))
    return document


def _instances(nodes: Mapping[str, Node], name: str) -> set[str]:
    return {key for key, node in nodes.items() if block_nodes.name_of(node) == name}


def _updated_block(block: Block, name: str, ports: Changes, params: Changes) -> Block:
    instances = _instances(block.nodes, name)
    promoted: dict[str, tuple[ParamRef, ...]] = {}
    for param, refs in block.params.items():
        names = [(ref, params.get(ref.param, ref.param) if ref.node in instances else ref.param) for ref in refs]
        if kept := tuple(ParamRef(ref.node, new) for ref, new in names if new is not None):
            promoted[param] = kept
    return replace(
        block,
        nodes=_updated_nodes(block.nodes, instances, params),
        wires=_updated_wires(block.wires, instances, ports),
        routes=_updated_routes(block, instances, ports),
        params=promoted,
    )


def _updated_nodes(nodes: dict[str, Node], instances: Collection[str], params: Changes) -> dict[str, Node]:
    changed = {key: _updated_node(nodes[key], params) for key in instances if params.keys() & nodes[key].params.keys()}
    return {**nodes, **changed} if changed else nodes


def _updated_node(node: Node, params: Changes) -> Node:
    names = {param: params.get(param, param) for param in node.params}
    return replace(node, params={new: node.params[old] for old, new in names.items() if new is not None})


def _updated_wires(wires: tuple[Wire, ...], instances: Collection[str], ports: Changes) -> tuple[Wire, ...]:
    if not instances or not ports:
        return wires
    updated = [_updated_wire(wire, instances, ports) for wire in wires]
    return tuple(sorted(wire for wire in updated if wire is not None))


def _updated_routes(graph: Document | Block, instances: Collection[str], ports: Changes) -> Routes:
    """The reroute points of the wires that remain."""
    if not graph.routes or not instances or not ports:
        return graph.routes
    updated = {wire.target: _updated_wire(wire, instances, ports) for wire in graph.wires}
    return {wire.target: points for end, points in graph.routes.items() if (wire := updated[end]) is not None}


def _updated_wire(wire: Wire, instances: Collection[str], ports: Changes) -> Wire | None:
    ends: list[Endpoint] = []
    for end in (wire.source, wire.target):
        port = ports.get(end.port, end.port) if end.node in instances else end.port
        if port is None:
            return None
        ends.append(end if port == end.port else Endpoint(end.node, port))
    return wire if ends == [wire.source, wire.target] else Wire(*ends)
