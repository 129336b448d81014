"""The edit of a fix as data that programs can apply to a project file, derived from the document before and after."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from studio.document.blocks.block_nodes import are_equal
from studio.document.document_difference import Difference, difference
from studio.document.model import Document, Node, Wire

Change: TypeAlias = dict[str, Any]
"""One of:

- ``{"remove": NODE}``, with its wires
- ``{"rename": NODE, "name": NEW}``
- ``{"insert": TYPE, "name": NODE, "params": {…}, "wire": [OUTPUT, INPUT], "ports": [IN, OUT]}``
- ``{"add": TYPE, "name": NODE, "params": {…}}``
- ``{"disconnect": [OUTPUT, INPUT]}`` and ``{"connect": [OUTPUT, INPUT]}``, each end as ``NODE.PORT``
- ``{"set": NODE, "param": PARAM, "value": VALUE}`` and ``{"clear": NODE, "param": PARAM}``
- ``{"change": NODE, FIELD: VALUE}`` for a field of the node, such as ``type``, ``frozen`` or ``trains``
- ``{"training": {SETTING: VALUE}}``
- ``{"block": NAME, "edits": [CHANGE, …]}``: changes of the graph of a definition
"""

_FIELDS = tuple(field for field in Node.__struct_fields__ if field not in ("at", "params"))
"""Fields of a node in a change record. Positions are not recorded; parameters have separate records."""
_fields = attrgetter(*_FIELDS)


def changes(old: Document, new: Document) -> tuple[Change, ...]:
    """The changes that turn one document into another, in order of application, without node positions."""
    return tuple(_changes(old, difference(old, new)))


def _changes(old: Document, found: Difference) -> Iterator[Change]:
    for name in found.removed:
        yield {"remove": name}
    for name, renamed in found.renamed.items():
        yield {"rename": name, "name": renamed}
    disconnected = [wire for wire in found.wires_removed if not {*found.removed, *found.renamed} & _nodes(wire)]
    connected = [wire for wire in found.wires_added if not set(found.renamed.values()) & _nodes(wire)]
    for name, node in found.added.items():
        attributes: Change = {"name": name, "params": dict(node.params)}
        insertion = _find_insertion(name, disconnected, connected)
        if insertion is None:
            yield {"add": node.type, **attributes}
            continue
        old_wire, first, second = insertion
        disconnected.remove(old_wire)
        connected = [wire for wire in connected if wire not in (first, second)]
        yield {
            "insert": node.type,
            **attributes,
            "wire": _ends(old_wire),
            "ports": [first.target.port, second.source.port],
        }
    for wire in disconnected:
        yield {"disconnect": _ends(wire)}
    for wire in connected:
        yield {"connect": _ends(wire)}
    for name, node in found.changed.items():
        yield from _node_changes(name, old.nodes[name], node)
    yield from _block_changes(old, found)
    if found.training is not None:
        fields = old.training.__struct_fields__
        pairs = {field: (getattr(old.training, field), getattr(found.training, field)) for field in fields}
        yield {"training": {field: after for field, (before, after) in pairs.items() if before != after}}


def _block_changes(old: Document, found: Difference) -> Iterator[Change]:
    for name, block in (found.blocks or {}).items():
        before = old.blocks.get(name)
        if before is not None and not are_equal(before, block):
            yield {
                "block": name,
                "edits": list(changes(Document(before.nodes, before.wires), Document(block.nodes, block.wires))),
            }


def _find_insertion(name: str, disconnected: list[Wire], connected: list[Wire]) -> tuple[Wire, Wire, Wire] | None:
    """The wire that a new node splits, and the two new wires; None if it splits none."""
    incoming = [wire for wire in connected if wire.target.node == name]
    outgoing = [wire for wire in connected if wire.source.node == name]
    if len(incoming) != 1 or len(outgoing) != 1:
        return None
    old_wire = Wire(incoming[0].source, outgoing[0].target)
    return (old_wire, incoming[0], outgoing[0]) if old_wire in disconnected else None


def _node_changes(name: str, old: Node, new: Node) -> Iterator[Change]:
    if _fields(old) != _fields(new):
        pairs = zip(_FIELDS, _fields(old), _fields(new), strict=True)
        changed = {field: after for field, before, after in pairs if before != after}
        yield {"change": name, **msgspec.to_builtins(changed)}
    if old.params is new.params:
        return
    for param in old.params:
        if param not in new.params:
            yield {"clear": name, "param": param}
    for param, value in new.params.items():
        if param not in old.params or old.params[param] != value:
            yield {"set": name, "param": param, "value": value}


def _nodes(wire: Wire) -> set[str]:
    return {wire.source.node, wire.target.node}


def _ends(wire: Wire) -> list[str]:
    return [str(wire.source), str(wire.target)]


__all__ = ["Change", "changes"]
