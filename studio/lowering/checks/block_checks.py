"""Problems of blocks: what a definition may contain, and how its instances use it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import partial

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import edit_block
from studio.document.blocks.block_expansion import MAX_DEPTH, MAX_NODES, Expansion, Scope
from studio.document.blocks.block_grouping import unpack
from studio.document.located_edits import clear_param_at
from studio.document.model import Endpoint, Json
from studio.lowering.analysis.block_types import INSIDE
from studio.lowering.analysis.scope_graphs import ScopeGraph
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import NodeType, Role

_LONGEST = 60
"""Characters of a value in a message."""


def block_problems(expansion: Expansion, graphs: Sequence[ScopeGraph]) -> Iterator[Problem]:
    """Problems of definitions and instances, placed at the first instance that has them."""
    if expansion.is_truncated:
        yield _too_many_nodes(expansion)
    for each in graphs:
        first = each.scopes[0]
        if each.block in expansion.recursive:
            yield _recursive(expansion, each)
        for name, node_type in each.graph.types.items():
            yield from _misplaced(each, first, name, node_type)
    for each in graphs:
        yield from _unequal_wiring(expansion, each)
        yield from _unequal_syntax(each)
        for scope in each.scopes:
            for name in scope.copies:
                yield from _instance_problems(scope, name, each.graph.types[name])


def _too_many_nodes(expansion: Expansion) -> Problem:
    """Blocks that are too large, at the instance on the canvas with the most copies."""
    nodes = expansion.document.nodes
    copies = {name: block_nodes.repeat_count(node) for name, node in nodes.items() if block_nodes.name_of(node)}
    most = max(copies, key=lambda name: copies[name], default=None)
    message = (
        f"The blocks would expand to more than {MAX_NODES:,} nodes, or are more than {MAX_DEPTH} deep. "
        "Use fewer or smaller repetitions."
    )
    if most is None or copies[most] == 1:
        return Problem("error", "too-many-nodes", message)
    return Problem("error", "too-many-nodes", message, node=most, fix=_clear(most, block_nodes.REPEAT))


def _recursive(expansion: Expansion, each: ScopeGraph) -> Problem:
    """A block that contains itself, at the instance in its definition that leads back to it."""
    blocks = expansion.document.blocks
    for name, node in each.graph.document.nodes.items():
        if each.block not in block_nodes.reachable_blocks(blocks, {name: node}):
            continue
        inner = each.scopes[0].prefix + name
        message = f"The block {each.block} contains itself in {inner}, so it would never end. Remove {inner}."
        ports = each.graph.types[name].inputs
        remove = quick_fixes.bypass(name, ports[0].name) if ports else quick_fixes.remove([name], "")
        fix = Fix(f"Remove {name}", partial(edit_block, name=each.block, edit=remove.edit))
        return Problem("error", "recursive-block", message, node=inner, fix=fix)
    message = f"The block {each.block} contains itself, so it would never end. Remove the inner instance."
    return Problem("error", "recursive-block", message, node=each.scopes[0].instance_path)


def _unequal_wiring(expansion: Expansion, each: ScopeGraph) -> Iterator[Problem]:
    """Instances without a wire at a port that an operation reads and that other instances connect.

    A layer gets None in its place, but an operation such as cat computes with all its inputs.
    """
    for port in block_nodes.input_ports(each.graph.document.nodes) if each.block else ():
        end = Endpoint(port, block_nodes.GIVEN)
        if not any(each.graph.types[reader.node].role is Role.OPERATION for reader in each.graph.readers(end)):
            continue
        unfed = [scope for scope in each.scopes if expansion.source(scope, end) is None]
        if unfed and len(unfed) < len(each.scopes):
            path = unfed[0].instance_path
            message = f"{path} needs a wire at {port}, because other instances of {each.block} connect it. Connect it."
            yield Problem("error", "missing-wire", message, node=path, port=port)


def _unequal_syntax(each: ScopeGraph) -> Iterator[Problem]:
    """Parameters that determine ports or syntax, which one class cannot have with several values."""
    for name, node in each.graph.document.nodes.items() if each.block else ():
        node_type = each.graph.types[name]
        for parameter in node_type.params:
            key = parameter.name
            has_ports = key in node_type.structural and node_type.input(key) is None
            if not (has_ports or parameter.grammar is not None):
                continue
            values = [scope.nodes[name].params.get(key) for scope in each.scopes]
            expected = node.params.get(key) if has_ports else values[0]
            other = next((scope for scope, value in zip(each.scopes, values, strict=True) if value != expected), None)
            if other is not None:
                path = other.instance_path
                found, shared = (
                    _shown(parameter.default if value is None else value)
                    for value in (other.nodes[name].params.get(key), expected)
                )
                message = (
                    f"{path} sets {key} of {name} to {found}, but the code of the block {each.block} needs one value "
                    f"for all instances, {shared}. Make {path} unique."
                )
                yield Problem("error", "bad-parameter", message, node=path)


def _shown(value: Json) -> str:
    """A value on one line of at most `_LONGEST` characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _misplaced(each: ScopeGraph, first: Scope, name: str, node_type: NodeType) -> Iterator[Problem]:
    path = first.prefix + name
    if each.block and node_type.role not in INSIDE:
        message = f"{path} cannot be inside a block, which holds layers, operations and other blocks. Move it out."
        yield Problem("error", "misplaced-node", message, node=path, fix=_moved_out(each, first, name))
    if not each.block and node_type.role is Role.PORT:
        message = f"{path} is a port of a block, but it is not inside one. Remove it."
        fix = quick_fixes.remove([name], f"Remove {name}")
        yield Problem("error", "misplaced-node", message, node=path, fix=fix)
    if each.block and node_type.key == block_nodes.OUTPUT and Endpoint(name, block_nodes.TAKEN) not in first.sources:
        message = f"The output {name} of the block {each.block} has no wire. Connect an output to it, or remove it."
        yield Problem("error", "missing-wire", message, node=path, port=block_nodes.TAKEN)


def _moved_out(each: ScopeGraph, first: Scope, name: str) -> Fix | None:
    """A fix that removes a node without wires from a block, or that replaces the instance by its nodes."""
    graph = each.graph
    if not graph.sources(name) and not graph.outgoing_wires.get(name):
        remove = partial(edits.remove, names=[name])
        return Fix(f"Remove {name}", partial(edit_block, name=each.block, edit=remove))
    instance = first.instance_path
    if len(each.scopes) > 1 or "." in instance:
        return None
    return Fix(f"Unpack {instance}", lambda document: unpack(document, instance)[0])


def _instance_problems(scope: Scope, name: str, node_type: NodeType) -> Iterator[Problem]:
    path, node = scope.prefix + name, scope.nodes[name]
    count = block_nodes.repeat_count(node)
    for param, value in node.params.items():
        parameter = node_type.param(param)
        if parameter is None:
            yield _unknown(path, node_type, param)
            continue
        each = block_nodes.values_per_copy(value)
        if each is not None and param != block_nodes.REPEAT and len(each) != count:
            message = f"{path}: {param} has {len(each)} values for {count} copies. Give one value per copy."
            yield Problem("error", "bad-parameter", message, node=path, fix=_clear(path, param))
        elif param == block_nodes.REPEAT and (problem := parameter.problem(value)) is not None:
            yield Problem("error", "bad-parameter", f"{path}: {param} {problem}.", node=path, fix=_clear(path, param))
    if count > 1 and not (node_type.inputs and node_type.outputs):
        message = f"{path} is repeated, but its block has no input and output that could join the copies."
        yield Problem("error", "bad-parameter", message, node=path, fix=_clear(path, block_nodes.REPEAT))


def _clear(path: str, param: str) -> Fix:
    """Clear a parameter of an instance; those of inner nodes are checked with these nodes."""
    return Fix(f"Reset {param}", lambda document: clear_param_at(document, path, param))


def _unknown(path: str, node_type: NodeType, param: str) -> Problem:
    known = [parameter.name for parameter in node_type.params]
    near = difflib.get_close_matches(param, known, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    message = f"{path} has no parameter {param[:60]!r}; its block has {', '.join(known)}. Remove the value.{meant}"
    return Problem("error", "unknown-parameter", message, node=path, fix=_clear(path, param))


__all__ = ["block_problems"]
