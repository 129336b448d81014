"""Apply an edit of the flat graph, such as a quick fix, to the document with blocks."""

from __future__ import annotations

import dataclasses
from functools import partial

from msgspec.structs import replace

from studio.document.blocks.block_edits import Edit, edit_block
from studio.document.blocks.block_expansion import Expansion, Scope
from studio.document.blocks.block_locations import Location, Step
from studio.document.document_difference import Difference, difference
from studio.document.document_errors import EditError
from studio.document.located_edits import clear_at, set_at
from studio.document.model import Document, Node
from studio.document.wire_routes import remaining_routes

_FLAGS = ("type", "muted", "frozen", "recomputed", "collapsed", "note", "dismissed", "at")
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


def _with_inner(document: Document, scope: Scope, name: str, old: Node, new: Node) -> Document:
    location = _location(scope)
    for param in [*old.params, *(param for param in new.params if param not in old.params)]:
        if param not in new.params:
            document = clear_at(document, location, name, param)
        elif param not in old.params or old.params[param] != new.params[param]:
            document = set_at(document, location, name, param, new.params[param])
    flags = {flag: getattr(new, flag) for flag in _FLAGS if getattr(new, flag) != getattr(old, flag)}
    if flags:
        document = edit_block(document, scope.block, partial(_with_fields, name=name, fields=flags))
    return document


def _location(scope: Scope) -> Location:
    return () if scope.parent is None else (*_location(scope.parent), Step(scope.instance, scope.index))


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


__all__ = ["edit_flat"]
