"""Apply an edit of the flat graph, such as a quick fix, to the document with blocks."""

from __future__ import annotations

import dataclasses
from functools import partial

from msgspec.structs import replace

from studio.document import blocks, edits
from studio.document.block_edits import Edit, edit_block, promoted_as
from studio.document.block_expansion import Expansion, Scope
from studio.document.document_difference import Difference, difference
from studio.document.document_errors import EditError
from studio.document.model import Document, Json, Node, ParamRef
from studio.document.wire_routes import remaining_routes

_FLAGS = ("type", "muted", "frozen", "recomputed", "collapsed", "note", "at")
"""Fields of a node besides its parameters."""


def edit_flat(document: Document, edit: Edit, expansion: Expansion | None = None) -> Document:
    """Apply an edit of the flat graph.

    A promoted parameter of an inner node is set at the instance; everything else changes the definition, so that all
    instances follow. Raises EditError if the edit changes wires or the set of nodes inside a block.

    Args:
        expansion: that of the document, if it is known
    """
    expansion = expansion or Expansion(document)
    before = expansion.flat
    if before is document:
        return edit(document)
    changed = difference(before, edit(before))
    document = _with_structure(document, changed)
    for path, node in changed.changed.items():
        scope, name = expansion.locate(path)
        if scope.parent is None:
            document = replace(document, nodes={**document.nodes, name: node})
        else:
            document = _with_inner(document, scope, name, before.nodes[path], node)
    return document


def clear_param_at(document: Document, path: str, param: str) -> Document:
    """Clear a parameter of a node or instance by its path in the flat graph."""
    try:
        scope, name = Expansion(document).locate(path)
    except (KeyError, IndexError):
        raise EditError(f"The project has no node {path!r}.") from None
    return _cleared(document, scope, name, param) if param in scope.nodes[name].params else document


def _with_inner(document: Document, scope: Scope, name: str, old: Node, new: Node) -> Document:
    for param in [*old.params, *(param for param in new.params if param not in old.params)]:
        if param not in new.params:
            document = _cleared(document, scope, name, param)
        elif param not in old.params or old.params[param] != new.params[param]:
            document = _set(document, scope, name, param, new.params[param])
    flags = {flag: getattr(new, flag) for flag in _FLAGS if getattr(new, flag) != getattr(old, flag)}
    if flags:
        document = edit_block(document, scope.block, partial(_with_fields, name=name, fields=flags))
    return document


def _set(document: Document, scope: Scope, name: str, param: str, value: Json) -> Document:
    """Set a parameter of a node in a scope: at the instance if it is promoted, otherwise in the graph."""
    if scope.parent is None:
        return edits.set_param(document, name, param, value)
    promoted = promoted_as(document.blocks[scope.block], ParamRef(name, param))
    if promoted is None:
        return edit_block(document, scope.block, partial(edits.set_param, name=name, param=param, value=value))
    each = blocks.values_per_copy(scope.parent.nodes[scope.instance].params.get(promoted))
    if each is not None and scope.index < len(each):
        value = {blocks.EACH: [*each[: scope.index], value, *each[scope.index + 1 :]]}
    return _set(document, scope.parent, scope.instance, promoted, value)


def _cleared(document: Document, scope: Scope, name: str, param: str) -> Document:
    """Clear a parameter of a node in a scope, where it is set."""
    if scope.parent is None:
        return edits.clear_param(document, name, param)
    promoted = promoted_as(document.blocks[scope.block], ParamRef(name, param))
    if promoted is not None and promoted in scope.parent.nodes[scope.instance].params:
        return _cleared(document, scope.parent, scope.instance, promoted)
    return edit_block(document, scope.block, partial(edits.clear_param, name=name, param=param))


def _with_structure(document: Document, changed: Difference) -> Document:
    """Nodes and wires of the canvas; those inside a block cannot be changed in this way."""
    touched = {*changed.removed, *changed.renamed}
    for wire in (*changed.wires_removed, *changed.wires_added):
        touched |= {wire.source.node, wire.target.node}
    if inner := sorted(path for path in touched if "." in path):
        raise EditError(f"{inner[0]} is inside a block. Open the block and make this change there.")
    if taken := sorted(changed.added.keys() & document.nodes.keys()):
        raise EditError(f"There is already a node {taken[0]!r}.")
    own = dataclasses.replace(changed, changed={})
    if not own:
        return document
    after = own.apply(document)
    return replace(after, routes=remaining_routes(document, after.wires))


def _with_fields(view: Document, name: str, fields: dict[str, object]) -> Document:
    return replace(view, nodes={**view.nodes, name: replace(view.nodes[name], **fields)})


__all__ = ["clear_param_at", "edit_flat"]
