"""The edits of a solution: the JSON form of fixes, and the actions run, resume, predict and select."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from studio.document import edits
from studio.document.blocks.block_edits import edit_block
from studio.document.document_errors import EditError
from studio.document.files.document_reader import read_wire
from studio.document.files.json_values import JsonError, format_json, validated_copy
from studio.document.located_edits import clear_param_at, set_param_at
from studio.document.model import Document, Endpoint, Json, Node, Wire

Edit = Mapping[str, Json]

FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "set": (("param", "value"), ()),
    "clear": (("param",), ()),
    "change": ((), ("type", "muted", "frozen", "recomputed", "note", "trains", "shares")),
    "connect": ((), ()),
    "disconnect": ((), ()),
    "insert": (("name", "wire", "ports"), ("params",)),
    "add": (("name",), ("params", "at")),
    "remove": ((), ()),
    "rename": (("name",), ()),
    "training": ((), ()),
    "block": (("edits",), ()),
    "run": ((), ()),
    "resume": ((), ()),
    "predict": ((), ()),
    "select": ((), ()),
}
"""By the field that names the edit: its required and its optional further fields."""

ACTIONS = ("run", "resume", "predict", "select")
"""Entries of a solution that do not change the document."""
_SPACING = 232.0
"""Horizontal distance of an inserted node from the one before it."""


def kind_of(edit: Edit) -> str:
    """The field that names the edit: "set", "run", …"""
    return next(name for name in FIELDS if name in edit)


def check_edit(edit: object, location: str) -> None:
    """Raise JsonError unless this is an edit or an action of a solution."""
    if not isinstance(edit, dict):
        raise JsonError(location, f"must be an object, not {format_json(edit)}")
    fields = cast("dict[str, Any]", edit)
    kind = next((name for name in FIELDS if name in fields), None)
    if kind is None:
        raise JsonError(location, f"is not a known edit: {format_json(fields)}", f"Use one of: {', '.join(FIELDS)}.")
    required, optional = FIELDS[kind]
    for name in fields:
        if name not in (kind, *required, *optional):
            raise JsonError(f"{location}.{name}", f'is not a field of "{kind}"', "Remove it.")
    for name in required:
        if name not in fields:
            raise JsonError(location, f'has no field "{name}"', "Add it.")
    try:
        validated_copy(fields)
    except JsonError as error:
        raise JsonError(location + error.location, error.problem, error.remedy) from None


def apply_edit(document: Document, edit: Edit) -> Document:
    """Apply an edit to a document; actions leave it unchanged, but settings of a run are set. Raises EditError."""
    values = cast("dict[str, Any]", edit)
    match kind_of(edit):
        case "set":
            return set_param_at(document, str(values["set"]), str(values["param"]), values["value"])
        case "clear":
            return clear_param_at(document, str(values["clear"]), str(values["param"]))
        case "change":
            return _changed(document, str(values["change"]), values)
        case "connect":
            return edits.connect(document, _wire(values["connect"]))
        case "disconnect":
            return edits.disconnect(document, [_wire(values["disconnect"])])
        case "insert":
            return _inserted(document, values)
        case "add":
            return edits.add(document, str(values["name"]), _new_node(values, str(values["add"])))
        case "remove":
            return edits.remove(document, [str(values["remove"])])
        case "rename":
            return edits.rename(document, str(values["rename"]), str(values["name"]))
        case "training" | "run" as kind:
            settings = values[kind]
            if not isinstance(settings, dict):
                raise EditError(f'"{kind}" must be an object of training settings, not {format_json(settings)}.')
            return edits.set_training(document, **cast("dict[str, Any]", settings))
        case "block":
            return edit_block(document, str(values["block"]), lambda view: _all(view, values["edits"]))
        case _:
            return document


def _all(document: Document, listed: Any) -> Document:
    for index, edit in enumerate(listed):
        try:
            check_edit(edit, f"edits[{index}]")
        except JsonError as error:
            raise EditError(f"{error}.") from None
        document = apply_edit(document, edit)
    return document


def _changed(document: Document, name: str, values: dict[str, Any]) -> Document:
    if name not in document.nodes:
        raise EditError(f"The project has no node {name!r}.")
    node = document.nodes[name]
    flags = {flag: values[flag] for flag in ("muted", "frozen", "recomputed") if flag in values}
    document = edits.set_flag(document, [name], **flags)
    if "type" in values:
        document = edits.retype(document, name, str(values["type"]), node.params)
    if "trains" in values:
        document = edits.set_trains(document, name, values["trains"])
    if "note" in values:
        document = edits.set_note(document, name, values["note"])
    if "shares" in values:
        shared = msgspec.structs.replace(document.nodes[name], shares=str(values["shares"]))
        document = msgspec.structs.replace(document, nodes={**document.nodes, name: shared})
    return document


def _inserted(document: Document, values: dict[str, Any]) -> Document:
    wire = _wire(values["wire"])
    if wire not in document.wires:
        raise EditError(f"The project has no wire {wire}.")
    ports = cast("list[str]", values["ports"])
    x, y = document.nodes[wire.source.node].at
    name = str(values["name"])
    document = edits.add(document, name, _new_node({"at": (x + _SPACING / 2, y + 96), **values}, str(values["insert"])))
    document = edits.connect(document, Wire(wire.source, Endpoint(name, ports[0])))
    return edits.connect(document, Wire(Endpoint(name, ports[1]), wire.target))


def _new_node(values: dict[str, Any], key: str) -> Node:
    try:
        return msgspec.convert({"type": key, **{k: values[k] for k in ("params", "at") if k in values}}, Node)
    except msgspec.ValidationError as error:
        raise EditError(f"The node {values['name']!r} is invalid: {error}.") from None


def _wire(ends: object) -> Wire:
    match ends:
        case [str(source), str(target)]:
            try:
                return read_wire(f"{source} -> {target}", "")
            except JsonError as error:
                raise EditError(f"A wire {error.problem}.") from None
        case _:
            raise EditError(f"A wire must be [OUTPUT, INPUT], not {format_json(ends)}.")


__all__ = ["ACTIONS", "FIELDS", "Edit", "apply_edit", "check_edit", "kind_of"]
