"""Edits: functions from document to document.

Nodes that an edit does not touch stay the identical objects, and an edit that changes nothing returns the
identical document; `difference` and the history rely on both. Edits that are not possible raise EditError.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.breakpoints.breakpoint_edits import remaining_breakpoints, renamed_breakpoints
from studio.document.document_errors import EditError
from studio.document.files.json_values import JsonError, equal_json, validated_copy
from studio.document.files.validation_messages import validation_problem
from studio.document.fit_records import checked_record, with_renamed_source
from studio.document.model import MAX_COORDINATE, Document, Endpoint, Json, Node, TrainingSettings, Wire
from studio.document.rename_rules import with_renamed_node
from studio.document.weight_sharing import calls_of, layer_of, separated, with_renamed_owner
from studio.document.wire_routes import remaining_routes, renamed_routes

# -- nodes ------------------------------------------------------------------------------------


def add(document: Document, name: str, node: Node) -> Document:
    """Add a node after the others."""
    return add_all(document, {name: node})


def add_all(document: Document, nodes: Mapping[str, Node]) -> Document:
    """Add nodes after the others."""
    for name in nodes:
        _check_new_name(document, name)
    return _with_nodes(document, {name: _checked_node(name, node) for name, node in nodes.items()})


def remove(document: Document, names: Iterable[str]) -> Document:
    """Remove nodes and their wires. Nodes that use weights of a removed node share them further."""
    removed = set(_existing(document, names))
    if not removed:
        return document
    nodes = {name: node for name, node in separated(document.nodes, removed).items() if name not in removed}
    kept = tuple(wire for wire in document.wires if wire.source.node not in removed and wire.target.node not in removed)
    document = replace(document, nodes=nodes, breakpoints=remaining_breakpoints(document.breakpoints, removed))
    if len(kept) == len(document.wires):
        return document
    return replace(document, wires=kept, routes=remaining_routes(document, kept))


def rename(document: Document, old: str, new: str) -> Document:
    """Rename a node. Its position in the order is kept; wires, optimizers and the followed metric use the new name."""
    _node(document, old)
    if new == old:
        return document
    _check_new_name(document, new)
    nodes = {new if name == old else name: _with_renamed_layer(node, old, new) for name, node in document.nodes.items()}
    wires = tuple(_renamed(wire, old, new) for wire in document.wires)
    touched = any(a is not b for a, b in zip(wires, document.wires, strict=True))
    training = _with_renamed_metric(document.training, old, new)
    breakpoints = renamed_breakpoints(document.breakpoints, old, new)
    weights = None if document.weights is None else with_renamed_node(document.weights, old, new)
    document = replace(document, nodes=nodes, training=training, breakpoints=breakpoints, weights=weights)
    if not touched:
        return document
    routes = renamed_routes(document.routes, {old: new})
    return replace(document, wires=tuple(sorted(wires)), routes=routes)


def move(document: Document, positions: Mapping[str, tuple[float, float]]) -> Document:
    """Move nodes to other positions."""
    changes: dict[str, Node] = {}
    for name, (x, y) in positions.items():
        node = _node(document, name)
        if node.at != (x, y):
            changes[name] = replace(node, at=_checked_position(name, (x, y)))
    return _with_nodes(document, changes)


def retype(document: Document, name: str, key: str, params: Mapping[str, Json]) -> Document:
    """Change the type and parameters of a node. Wires are kept; with another type, it gets separate weights."""
    node = _node(document, name)
    if key != node.type:
        nodes = separated(document.nodes, [name])
        new = _checked_node(name, replace(nodes[name], type=key, params=dict(params), fitted=None))
        return replace(document, nodes={**nodes, name: new})
    return _with_params(document, name, _checked_node(name, replace(node, params=dict(params))).params)


def set_param(document: Document, name: str, param: str, value: Json) -> Document:
    """Set a parameter, also of the nodes that share it with the node."""
    params = _params(document, name)
    value = _checked_value(f"{name}.{param}", value)
    if param in params and equal_json(params[param], value):
        return document
    return _with_params(document, name, {**params, param: value})


def clear_param(document: Document, name: str, param: str) -> Document:
    """Reset a parameter to its default or inferred value."""
    params = _params(document, name)
    return _with_params(document, name, {key: value for key, value in params.items() if key != param})


def set_flag(
    document: Document,
    names: Iterable[str],
    *,
    muted: bool | None = None,
    frozen: bool | None = None,
    recomputed: bool | None = None,
    collapsed: bool | None = None,
) -> Document:
    """Set or clear flags; None leaves a flag unchanged. Nodes that share all weights are frozen together."""
    given = {"muted": muted, "frozen": frozen, "recomputed": recomputed, "collapsed": collapsed}
    flags = {flag: value for flag, value in given.items() if value is not None}
    changes: dict[str, Node] = {}
    for name in _existing(document, names):
        node = document.nodes[name]
        if frozen is not None:
            same = (user for user in calls_of(document.nodes, name) if document.nodes[user].frozen != frozen)
            changes |= {user: replace(changes.get(user, document.nodes[user]), frozen=frozen) for user in same}
            node = changes.get(name, node)
        if any(getattr(node, flag) != value for flag, value in flags.items()):
            changes[name] = replace(node, **flags)
    return _with_nodes(document, changes)


def set_note(document: Document, name: str, note: str) -> Document:
    """Set the note of a node."""
    node = _node(document, name)
    if node.note == note:
        return document
    _checked_value(f"The note of {name}", note)
    return _with_nodes(document, {name: replace(node, note=note)})


def set_dismissed(document: Document, name: str, codes: Iterable[str]) -> Document:
    """Set the codes of the warnings and hints that are not reported for a node."""
    node, chosen = _node(document, name), tuple(dict.fromkeys(codes))
    return document if node.dismissed == chosen else _with_nodes(document, {name: replace(node, dismissed=chosen)})


def set_trains(document: Document, name: str, layers: Iterable[str]) -> Document:
    """Set the layers that an optimizer trains; empty for all layers that its loss depends on."""
    node, chosen = _node(document, name), tuple(dict.fromkeys(layers))
    return document if node.trains == chosen else _with_nodes(document, {name: replace(node, trains=chosen)})


def unique_name(document: Document, base: str) -> str:
    """An unused name derived from a type key, title or any text: "nn.Linear" → "linear", then "linear_2", …"""
    return naming.unique_name(naming.to_identifier(base), document.nodes)


# -- wires ------------------------------------------------------------------------------------


def connect(document: Document, wire: Wire) -> Document:
    """Add a wire. It replaces a wire that already leads to the same input."""
    for end in (wire.source, wire.target):
        _check_end(document, wire, end)
    if wire in document.wires:
        return document
    wires = [other for other in document.wires if other.target != wire.target]
    insort(wires, wire)
    return replace(document, wires=tuple(wires), routes=remaining_routes(document, wires))


def disconnect(document: Document, wires: Iterable[Wire]) -> Document:
    """Remove wires."""
    removed = set(wires)
    if unknown := removed.difference(document.wires):
        raise EditError(f"The project has no wire {min(unknown)}.")
    if not removed:
        return document
    kept = tuple(wire for wire in document.wires if wire not in removed)
    return replace(document, wires=kept, routes=remaining_routes(document, kept))


# -- the project ------------------------------------------------------------------------------


def set_training(document: Document, **changes: Any) -> Document:
    """Change training settings; the names are the fields of `TrainingSettings`."""
    for field in changes:
        if field not in TrainingSettings.__struct_fields__:
            known = ", ".join(TrainingSettings.__struct_fields__)
            raise EditError(f"There is no training setting {field!r}. Choose one of: {known}.")
    values = {**asdict(document.training), **changes}
    try:
        training = msgspec.convert(values, TrainingSettings)
    except msgspec.ValidationError as error:
        raise _edit_error(validation_problem(error, values, TrainingSettings, "training")) from None
    return document if training == document.training else replace(document, training=training)


def set_description(document: Document, description: str) -> Document:
    """Set the description."""
    _checked_value("The description", description)
    return document if description == document.description else replace(document, description=description)


# -- shared checks -------------------------------------------------------------------


def _node(document: Document, name: str) -> Node:
    try:
        return document.nodes[name]
    except KeyError:
        raise EditError(f"The project has no node {name!r}.") from None


def _params(document: Document, name: str) -> dict[str, Json]:
    """The parameters of a node, which may be those of another one."""
    _node(document, name)
    return document.nodes[layer_of(document.nodes, name)].params


def _with_params(document: Document, name: str, params: dict[str, Json]) -> Document:
    layer = layer_of(document.nodes, name)
    node = document.nodes[layer]
    return (
        document
        if equal_json(params, node.params)
        else _with_nodes(document, {layer: checked_record(replace(node, params=params))})
    )


def _existing(document: Document, names: Iterable[str]) -> Collection[str]:
    listed = tuple(names)
    for name in listed:
        _node(document, name)
    return listed


def _with_nodes(document: Document, changes: Mapping[str, Node]) -> Document:
    return replace(document, nodes={**document.nodes, **changes}) if changes else document


def _check_new_name(document: Document, name: str) -> None:
    if (problem := naming.problem(name)) is not None:
        raise EditError(f"The name {name!r} {problem}.")
    if name in document.nodes:
        raise EditError(f"There is already a node {name!r}. Choose another name.")


def _check_end(document: Document, wire: Wire, end: Endpoint) -> None:
    if end.node not in document.nodes:
        raise EditError(f"The wire {wire} cannot be drawn: there is no node {end.node!r}.")
    if not end.port.isidentifier():
        raise EditError(f"The wire {wire} cannot be drawn: {end.port!r} is not the name of a port.")


def _checked_value(location: str, value: object) -> Json:
    try:
        return validated_copy(value)
    except JsonError as error:
        raise EditError(f"{location}{error.location} {error.problem}.") from None


def _edit_error(error: JsonError) -> EditError:
    return EditError(f"{error.location} {error.problem}. {error.remedy}".rstrip())


def _checked_node(name: str, node: Node) -> Node:
    """Return a copy of the node with validated fields and copied parameters."""
    params = {param: _checked_value(f"{name}.{param}", value) for param, value in node.params.items()}
    fields: dict[str, Any] = {**asdict(node), "at": _checked_position(name, node.at)}
    del fields["params"], fields["fitted"]
    for field in ("type", "note"):
        _checked_value(f"The {field} of {name}", fields[field])
    try:
        return replace(msgspec.convert(fields, Node), params=params, fitted=node.fitted)
    except msgspec.ValidationError as error:
        raise _edit_error(validation_problem(error, fields, Node, name)) from None


def _checked_position(name: str, at: tuple[float, float]) -> tuple[float, float]:
    x, y = (float(coordinate) for coordinate in at)
    if not (abs(x) <= MAX_COORDINATE and abs(y) <= MAX_COORDINATE):  # written so that NaN fails
        raise EditError(
            f"Node {name!r} cannot be at ({x:g}, {y:g}): coordinates range from {-MAX_COORDINATE:g} to "
            f"{MAX_COORDINATE:g}."
        )
    return x, y


def _with_renamed_layer(node: Node, old: str, new: str) -> Node:
    """The node, with a renamed layer in `trains` and a renamed owner."""
    trains = tuple(block_nodes.renamed_path(path, {old: new}) for path in node.trains)
    node = node if trains == node.trains else replace(node, trains=trains)
    return with_renamed_source(with_renamed_owner(node, {old: new}), old, new)


def _with_renamed_metric(training: TrainingSettings, old: str, new: str) -> TrainingSettings:
    """The settings, following a metric under its new name. The metric "loss" belongs to no node."""
    prefix, _, metric = training.follow.partition("_")
    return replace(training, follow=f"{prefix}_{new}") if metric == old != "loss" else training


def _renamed(wire: Wire, old: str, new: str) -> Wire:
    if old not in (wire.source.node, wire.target.node):
        return wire
    ends = (Endpoint(new if end.node == old else end.node, end.port) for end in (wire.source, wire.target))
    return Wire(*ends)
