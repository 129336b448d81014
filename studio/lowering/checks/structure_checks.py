"""Problems with node names, node types and wires."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace

from engine import fit, nn
from studio.document import node_names
from studio.document.blocks import block_nodes
from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint, Wire
from studio.lowering.analysis.node_graph import NodeGraph, port_of
from studio.lowering.checks.parameters.upstream_causes import LOSS_OR_METRIC
from studio.lowering.checks.sharing_checks import owner_problems
from studio.lowering.connection_rules import refusal
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import NodeType, Role

IN_MODEL = frozenset({Role.LAYER})
IN_TASK = frozenset({Role.LOSS, Role.METRIC, Role.OPTIMIZER, Role.SCHEDULER})

RESERVED = {
    **dict.fromkeys(IN_MODEL, frozenset({*dir(nn.Module()), *dir(type(nn.Module))})),
    **dict.fromkeys(
        IN_TASK,
        frozenset(
            {*dir(fit.Task), *dir(type(fit.Task)), "model", "device", "seed", "batches", "stream", "_found_attributes"}
        ),
    ),
}
"""Attributes of the generated classes that node names must not override, by role."""


MAX_CANDIDATES = 8
"""Maximum number of unused outputs for which a source is suggested."""


def scope_problems(graph: NodeGraph) -> Iterator[Problem]:
    """Problems of the canvas or of one definition."""
    yield from _names(graph)
    yield from _unknown_types(graph)
    yield from _stray_wires(graph)
    yield from owner_problems(graph)
    if graph.cyclic:
        yield _cycle(graph)


def wiring_problems(graph: NodeGraph) -> Iterator[Problem]:
    """Inputs without a wire and nodes that are not used, in the flat graph."""
    for name in graph.types:
        if name not in graph.muted:
            yield from _missing_wires(graph, name)
            yield from _unused(graph, name)


def _names(graph: NodeGraph) -> Iterator[Problem]:
    for name, node_type in graph.types.items():
        problem = node_names.problem(name)
        if problem is not None:
            message = f"The name {name[: node_names.MAX_LENGTH]!r} {problem}. Rename the node."
            yield Problem("error", "bad-name", message, node=name, fix=quick_fixes.rename(name, name))
        elif name in RESERVED.get(node_type.role, ()):
            owner = "every module" if node_type.role in IN_MODEL else "every training task"
            message = f"{name} is also a method or attribute of {owner}. Rename the node."
            yield Problem("error", "reserved-name", message, node=name, fix=quick_fixes.rename(name, f"{name}_node"))


def _unknown_types(graph: NodeGraph) -> Iterator[Problem]:
    for name, node_type in graph.types.items():
        if node_type.category == "unknown":
            if (used := block_nodes.name_of(graph.document.nodes[name])) is not None:
                yield _unknown_block(graph, name, used)
                continue
            keys = {each.key.lower(): each.key for each in graph.catalogue}
            matches = [
                keys[key] for key in difflib.get_close_matches(node_type.key[:100].lower(), keys, n=1, cutoff=0.8)
            ]
            remedy = (
                f"Did you mean {matches[0]}?"
                if matches
                else "Remove it, or open the file with the version of Gradwire that wrote it."
            )
            message = (
                f"{name} has the type {node_type.key[:100]}, which this version of Gradwire does not have. {remedy}"
            )
            fix = (
                quick_fixes.retype(name, matches[0])
                if matches and matches[0].lower() == node_type.key.lower()
                else None
            )
            yield Problem("error", "unknown-type", message, node=name, fix=fix)


def _unknown_block(graph: NodeGraph, name: str, used: str) -> Problem:
    near = difflib.get_close_matches(used, graph.document.blocks, n=1)
    remedy = f"Did you mean {near[0]}?" if near else "Remove the node, or add the block to the project."
    fix = quick_fixes.retype(name, block_nodes.type_of(near[0])) if near else None
    message = f"{name} uses the block {used[:100]}, which the project does not define. {remedy}"
    return Problem("error", "unknown-block", message, node=name, fix=fix)


def _stray_wires(graph: NodeGraph) -> Iterator[Problem]:
    for wire in graph.stray:
        end = wire.target if wire.target.node in graph.types else wire.source
        node = end.node if end.node in graph.types else None
        reason, other = _stray_reason(graph, wire), _needless_wire(graph, wire)
        message = f"The wire {wire} is not valid. {reason} Remove {'the wire' if other is None else other}."
        fix = quick_fixes.unwire(wire)
        if other is not None:
            fix = replace(quick_fixes.unwire(other), title=f"Remove {other}")
        yield Problem("error", "stray-wire", message, node=node, port=end.port, wire=wire, fix=fix)


def _needless_wire(graph: NodeGraph, wire: Wire) -> Wire | None:
    """The wire at the same input, if without `wire` an output would have no reader, but not without that one."""
    if wire.source.node not in graph.types or graph.readers(wire.source):
        return None
    end = graph.input_sources.get(wire.target.node, {}).get(wire.target.port)
    if end is None or len(graph.readers(end)) < 2:
        return None
    return Wire(end, wire.target)


def _stray_reason(graph: NodeGraph, wire: Wire) -> str:
    others = tuple(other for other in graph.document.wires if other.target.node == wire.target.node)
    valid = tuple(other for other in others if other not in graph.stray)
    unconnected = Document(nodes=graph.document.nodes, wires=valid, blocks=graph.document.blocks)
    return (
        refusal(unconnected, graph.catalogue, wire)
        or f"{wire.target} already gets {graph.input_sources[wire.target.node][wire.target.port]}."
    )


def _cycle(graph: NodeGraph) -> Problem:
    path = graph.cyclic
    listed = path if len(path) <= 8 else [*path[:4], "…", *path[-3:]]
    cycle = " → ".join([*listed, path[0]])
    fix, wire = _broken_cycle(graph, path)
    message = f"{cycle} is a cycle, so none of its nodes can be computed first. Remove one of its wires."
    return Problem("error", "cycle", message, node=wire.target.node, wire=wire, fix=fix)


def _broken_cycle(graph: NodeGraph, path: list[str]) -> tuple[Fix | None, Wire]:
    """A fix that breaks a cycle, and the wire that closes it.

    It removes a wire that its node does not require, or else a node that also reads a value from outside the cycle.
    """
    following = (*path[1:], path[0])
    wires = [
        next(wire for wire in graph.outgoing_wires[name] if wire.target.node == target)
        for name, target in zip(path, following, strict=True)
    ]
    for wire in wires:
        port = port_of(graph.types, wire.target, "input")
        if port is not None and port.optional:
            return quick_fixes.unwire(wire), wire
    for wire in wires:
        name = wire.target.node
        outside = [port for port, end in graph.input_sources[name].items() if end.node not in path]
        if len(outside) == 1 and len(graph.types[name].outputs) == 1:
            return quick_fixes.bypass(name, outside[0]), wire
    return None, wires[-1]


# -- ports ------------------------------------------------------------------------------------


def _missing_wires(graph: NodeGraph, name: str) -> Iterator[Problem]:
    node_type, sources = graph.types[name], graph.sources(name)
    if len(sources) == len(node_type.inputs):
        return
    params = graph.document.nodes[name].params
    missing = [
        port
        for port in node_type.inputs
        if not port.optional and port.name not in sources and params.get(port.name) is None
    ]
    is_apart = len(missing) == len(node_type.inputs) and not _has_readers(graph, name)
    if is_apart and not graph.input_sources[name] and name not in graph.needed:
        yield _unconnected_node(graph, name)
        return
    for port in missing:
        end = Endpoint(name, port.name)
        muted = graph.input_sources[name].get(port.name)
        if muted is not None:
            message = (
                f"{end} gets no value because {muted.node} is muted. Unmute {muted.node}, or connect another output."
            )
            yield Problem(
                "error", "muted-source", message, node=muted.node, affected=name, fix=quick_fixes.unmute(muted.node)
            )
            continue
        note = f" ({port.help})" if port.help else ""
        candidate = _likely_source(graph, end)
        fix = None if candidate is None else quick_fixes.wire_up(candidate, end)
        or_set = "" if node_type.param(port.name) is None else f", or set {port.name} to a number"
        message = f"{end} is not connected{note}. Connect {candidate or 'an output'} to it{or_set}."
        yield Problem("error", "missing-wire", message, node=name, port=port.name, fix=fix)


def _unconnected_node(graph: NodeGraph, name: str) -> Problem:
    """A node without wires; an error only if a run requires it."""
    end = Endpoint(name, graph.types[name].inputs[0].name)
    candidate = _likely_source(graph, end)
    fix = quick_fixes.remove([name], f"Remove {name}")
    fix = fix if candidate is None else quick_fixes.wire_up(candidate, end)
    message = f"{name} has no wires, so it is not part of the run. Connect it, or remove it."
    return Problem("warning", "not-wired", message, node=name, fix=fix)


def _likely_source(graph: NodeGraph, end: Endpoint) -> Endpoint | None:
    """The most likely source of an input: the target output of the loader, or the only unused output of the type.

    Targets are suggested only where a loss or metric compares with them: a network that reads them learns nothing.
    """
    port = port_of(graph.types, end, "input")
    loaders = graph.with_role(Role.LOADER)
    if end.port == "target" and len(loaders) == 1:
        return Endpoint(loaders[0], "target")
    unused = [] if port is None else graph.free_outputs(port.type)
    if len(unused) > MAX_CANDIDATES:
        return None
    downstream = set(walk([end.node], lambda name: [wire.target.node for wire in graph.outgoing_wires.get(name, ())]))
    compares = graph.types[end.node].role in LOSS_OR_METRIC
    targets = () if compares else {Endpoint(name, "target") for name in loaders}
    candidates = [output for output in unused if output.node not in downstream and output not in targets]
    return candidates[0] if len(candidates) == 1 else None


def _has_readers(graph: NodeGraph, name: str) -> bool:
    return any(graph.readers(Endpoint(name, port.name)) for port in graph.types[name].outputs)


def _unused(graph: NodeGraph, name: str) -> Iterator[Problem]:
    """Unused nodes, reported once the graph has an optimizer."""
    node_type = graph.types[name]
    if (
        not graph.optimized
        or name in graph.needed
        or _has_readers(graph, name)
        or not _is_connected(graph, name, node_type)
    ):
        return
    reason = (
        "is connected to no optimizer" if node_type.role in (Role.LOSS, Role.LOSS_SUM) else "has an unconnected output"
    )
    message = f"{name} {reason}, so it is not part of the run. Connect its output, or remove it."
    fix = _added_loss(graph, name) if node_type.role is Role.LOSS else _without_branch(graph, name)
    yield Problem("warning", "unused", message, node=name, fix=fix)


def _without_branch(graph: NodeGraph, name: str) -> Fix | None:
    """A fix that removes a layer and the nodes before it that nothing else reads."""
    if graph.types[name].role not in (Role.LAYER, Role.OPERATION) or "." in name:
        return None
    branch = {name: None}
    for before in reversed(graph.order):
        read = [wire.target.node for wire in graph.outgoing_wires.get(before, ())]
        is_inner = graph.types[before].role in (Role.LAYER, Role.OPERATION) and "." not in before
        if is_inner and before not in graph.needed and read and all(each in branch for each in read):
            branch[before] = None
    before = len(branch) - 1
    title = f"Remove {name}" + (f" and {before} node{'' if before == 1 else 's'} before it" if before else "")
    return quick_fixes.remove(branch, title)


def _added_loss(graph: NodeGraph, name: str) -> Fix | None:
    """A fix that adds this loss to the loss of the only optimizer."""
    if len(graph.optimized) != 1:
        return None
    optimizer = graph.optimized[0]
    current_loss = graph.input_sources[optimizer].get("loss")
    if current_loss is None:
        return None
    unused = None
    if graph.types[current_loss.node].role is Role.LOSS_SUM:
        ends = (Endpoint(current_loss.node, port.name) for port in graph.types[current_loss.node].inputs)
        unused = next((end for end in ends if end.port not in graph.input_sources[current_loss.node]), None)
        if unused is None:
            return None
    return quick_fixes.add_loss(Endpoint(name, graph.types[name].outputs[0].name), optimizer, current_loss, unused)


def _is_connected(graph: NodeGraph, name: str, node_type: NodeType) -> bool:
    return all(port.optional for port in node_type.inputs) or bool(graph.sources(name))
