"""Convert JSON values of a project file in the current format to a document. Raises JsonError with the access path."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, TypeVar, cast

import msgspec

from studio.document import node_names as naming
from studio.document.breakpoints.condition_parser import parse_condition
from studio.document.breakpoints.condition_tokens import ConditionError
from studio.document.files.json_values import JsonError, format_json, validated_copy
from studio.document.files.strict_json import child_path
from studio.document.files.validation_messages import unknown_field, validation_problem
from studio.document.model import (
    MAX_BREAKPOINTS,
    Block,
    BlockOrigin,
    Coordinate,
    Document,
    Endpoint,
    Frame,
    ImportedWeights,
    Node,
    ParamRef,
    Routes,
    TrainingSettings,
    Wire,
)
from studio.document.rename_rules import pattern_problem, rule_problem

T = TypeVar("T")

FIELDS = (
    "gradwire",
    "description",
    "training",
    "nodes",
    "wires",
    "routes",
    "frames",
    "blocks",
    "breakpoints",
    "weights",
)
"""Fields of a project file, in this order. Nodes and wires are required."""
BLOCK_FIELDS = ("description", "tags", "origin", "params", "nodes", "wires", "routes", "frames")
"""Fields of a definition, in this order. Nodes and wires are required."""


def read_document(file: Mapping[str, Any]) -> Document:
    """Convert a migrated file to a document."""
    _check_fields(file, FIELDS, "")
    nodes = read_nodes(_required(file, "nodes"))
    wires = read_wires(_required(file, "wires"), nodes)
    return Document(
        nodes=nodes,
        wires=wires,
        training=_convert(file.get("training", {}), TrainingSettings, "training"),
        description=_convert(file.get("description", ""), str, "description"),
        blocks=_blocks(file.get("blocks", {})),
        frames=_frames(file.get("frames", {}), "frames"),
        routes=_routes(file.get("routes", {}), wires, "routes"),
        breakpoints=_breakpoints(file.get("breakpoints", {})),
        weights=_weights(file["weights"]) if "weights" in file else None,
    )


def read_nodes(raw: object, field: str = "nodes") -> dict[str, Node]:
    """Nodes by name, in the file's order."""
    if not isinstance(raw, dict):
        raise JsonError(field, f"must be an object of nodes by name, not {format_json(raw)}")
    return {name: _node(child_path(field, name), name, value) for name, value in cast("dict[str, object]", raw).items()}


def _blocks(raw: object) -> dict[str, Block]:
    if not isinstance(raw, dict):
        raise JsonError("blocks", f"must be an object of blocks by name, not {format_json(raw)}")
    return {name: _block(name, value) for name, value in cast("dict[str, object]", raw).items()}


def _block(name: str, raw: object) -> Block:
    location = child_path("blocks", name)
    _check_name(name, location)
    if not isinstance(raw, dict):
        raise JsonError(location, f"must be an object with nodes and wires, not {format_json(raw)}")
    file = cast("dict[str, Any]", raw)
    _check_fields(file, BLOCK_FIELDS, location)
    nodes = read_nodes(_required(file, "nodes", location), f"{location}.nodes")
    wires = read_wires(_required(file, "wires", location), nodes, field=f"{location}.wires")
    return Block(
        nodes=nodes,
        wires=wires,
        params=_promoted(file.get("params", {}), nodes, f"{location}.params"),
        description=_convert(file.get("description", ""), str, f"{location}.description"),
        tags=_convert(file.get("tags", ()), tuple[str, ...], f"{location}.tags"),
        origin=_convert(file["origin"], BlockOrigin, f"{location}.origin") if "origin" in file else None,
        frames=_frames(file.get("frames", {}), f"{location}.frames"),
        routes=_routes(file.get("routes", {}), wires, f"{location}.routes"),
    )


def _frames(raw: object, location: str) -> dict[str, Frame]:
    if not isinstance(raw, dict):
        raise JsonError(location, f"must be an object of frames by name, not {format_json(raw)}")
    frames: dict[str, Frame] = {}
    for name, value in cast("dict[str, object]", raw).items():
        at = child_path(location, name)
        _check_name(name, at, "Rename it.")
        frames[name] = _convert(value, Frame, at)
    return frames


def _breakpoints(raw: object) -> dict[str, bool]:
    location = "breakpoints"
    if not isinstance(raw, dict):
        raise JsonError(location, f"must be an object of true or false by condition, not {format_json(raw)}")
    found = cast("dict[str, object]", raw)
    if len(found) > MAX_BREAKPOINTS:
        raise JsonError(location, f"has {len(found)} breakpoints; the maximum is {MAX_BREAKPOINTS}")
    for condition, enabled in found.items():
        at = child_path(location, condition)
        try:
            parse_condition(condition)
        except ConditionError as error:
            raise JsonError(at, f"is no condition: {error}", "Correct it, or remove it.") from None
        if not isinstance(enabled, bool):
            raise JsonError(at, f"must be true or false, not {format_json(enabled)}")
    return cast("dict[str, bool]", raw)


def _weights(raw: object) -> ImportedWeights:
    found = _convert(raw, ImportedWeights, "weights")
    for index, rule in enumerate(found.rename):
        if problem := rule_problem(rule):
            raise JsonError(f"weights.rename[{index}]", problem, "Correct the rule, or remove it.")
    for index, pattern in enumerate(found.transpose):
        if problem := pattern_problem(pattern):
            raise JsonError(f"weights.transpose[{index}]", problem, "Correct it, or remove it.")
    return found


def _routes(raw: object, wires: tuple[Wire, ...], location: str) -> Routes:
    if not isinstance(raw, dict):
        raise JsonError(location, f"must be an object of points by input, not {format_json(raw)}")
    targets = {str(wire.target): wire.target for wire in wires}
    routes: Routes = {}
    for name, points in cast("dict[str, object]", raw).items():
        at = child_path(location, name)
        if name not in targets:
            raise JsonError(at, "is not an input with a wire", "Remove it or add the wire.")
        routes[targets[name]] = _convert(points, tuple[tuple[Coordinate, Coordinate], ...], at)
        if not routes[targets[name]]:
            raise JsonError(at, "has no points", "Remove it.")
    return routes


def _promoted(raw: object, nodes: Container[str], location: str) -> dict[str, tuple[ParamRef, ...]]:
    promoted: dict[str, tuple[ParamRef, ...]] = {}
    used: dict[ParamRef, str] = {}
    for name, listed in _convert(raw, dict[str, list[str]], location).items():
        at = child_path(location, name)
        _check_name(name, at)
        refs = tuple(_param_ref(text, nodes, f"{at}[{index}]") for index, text in enumerate(listed))
        if not refs:
            raise JsonError(at, "sets no parameter", 'List parameters such as "hidden.out_features", or remove it.')
        if (again := next((ref for ref in refs if ref in used), None)) is not None:
            raise JsonError(at, f'sets "{again}", which {used[again]} sets too', "Remove one of the two.")
        used |= dict.fromkeys(refs, name)
        promoted[name] = refs
    return promoted


def _param_ref(text: str, nodes: Container[str], location: str) -> ParamRef:
    node, _, param = text.partition(".")
    if not param.isidentifier():
        raise JsonError(location, f'must be a parameter such as "hidden.out_features", not {format_json(text)}')
    if node not in nodes:
        raise JsonError(location, f'names a node "{node}" that is not in the block', "Remove it or add the node.")
    return ParamRef(node, param)


def read_wires(raw: object, nodes: Container[str], *, field: str = "wires") -> tuple[Wire, ...]:
    """Wires between `nodes`, sorted."""
    if not isinstance(raw, list):
        raise JsonError(field, f"must be a list of wires, not {format_json(raw)}")
    wires: dict[Endpoint, Wire] = {}
    for index, text in enumerate(cast("list[object]", raw)):
        location = f"{field}[{index}]"
        wire = read_wire(text, location)
        for end in (wire.source, wire.target):
            if end.node not in nodes:
                problem = f'the file has no node "{end.node}", which the wire "{wire}" connects'
                raise JsonError(location, problem, "Remove the wire or add the node.")
        if (other := wires.setdefault(wire.target, wire)) is not wire:
            if other == wire:
                raise JsonError(location, f'the wire "{wire}" occurs twice', "Remove one of the two.")
            problem = f'the input "{wire.target}" has two wires, from "{other.source}" and from "{wire.source}"'
            raise JsonError(location, problem, "An input takes one wire: remove the other.")
    return tuple(sorted(wires.values()))


def read_wire(text: object, location: str) -> Wire:
    """One wire, without checking that its nodes exist."""
    match [tuple(end.split(".")) for end in text.split(" -> ")] if isinstance(text, str) else None:
        case [(node, port), (to, input)] if port.isidentifier() and input.isidentifier():
            return Wire(Endpoint(node, port), Endpoint(to, input))
        case _:
            raise JsonError(location, f'must be a wire such as "hidden.output -> relu.input", not {format_json(text)}')


def _node(location: str, name: str, raw: object) -> Node:
    _check_name(name, location)
    node = _convert(raw, Node, location)
    for param, value in node.params.items():
        try:
            validated_copy(value)
        except JsonError as error:
            raise JsonError(
                child_path(f"{location}.params", param) + error.location, error.problem, error.remedy
            ) from None
    return node


def _check_name(name: str, location: str, remedy: str = "Rename it, also in the wires.") -> None:
    if (problem := naming.problem(name)) is not None:
        raise JsonError(location, f"the name {format_json(name)} {problem}", remedy)


def _check_fields(file: Mapping[str, Any], known: tuple[str, ...], location: str) -> None:
    for field in file:
        if field not in known:
            raise unknown_field(child_path(location, field), known)


def _required(file: Mapping[str, Any], field: str, location: str = "") -> object:
    if field not in file:
        raise JsonError(location, f'has no field "{field}"', "Restore an earlier version of the file.")
    return file[field]


def _convert(raw: object, type: type[T], location: str) -> T:
    try:
        return msgspec.convert(raw, type)
    except msgspec.ValidationError as error:
        raise validation_problem(error, raw, type, location) from None
