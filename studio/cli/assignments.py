"""``--set NODE.PARAM=VALUE``: override parameters and types of nodes, and training settings, for one command."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import msgspec
import msgspec.inspect
from msgspec.structs import replace

from engine.registry import LONGEST_VALUE, Parameter
from studio.cli.error_output import InputError
from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_locations import all_nodes, graph_at, locate
from studio.document.located_edits import set_param_at
from studio.document.model import Document, Json, TrainingSettings
from studio.document.training_settings import TRAINING_SETTINGS
from studio.lowering.analysis.block_types import known_type
from studio.lowering.parameter_text import InvalidTextError, read
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType, Role

_FORM = (
    "expected NODE.PARAM=VALUE, for example adam.lr=0.001, or NODE=TYPE to replace a node's type, for example "
    "adam=optim.SGD"
)
_MAX_SUGGESTED = 1000
"""Nodes among which a similar name is searched."""


def apply_assignments(
    document: Document, catalogue: Catalogue, assignments: Iterable[str], *, label: str | None = None
) -> Document:
    """Apply assignments to a document. Raises InputError that names the assignment and the allowed values.

    Args:
        label: replaces "--set ASSIGNMENT" in error messages
    """
    for text in assignments:
        key, equals, value = (part.strip() for part in text.partition("="))
        name, dot, param = key.rpartition(".") if "." in key else (key, "", "")
        prefix = label or f"--set {_quote(text)}"
        if not (equals and name) or bool(dot) != bool(param) or not (dot or name in document.nodes):
            raise InputError(f"{prefix}: {_FORM}.")
        if not dot:
            document = _change_type(document, catalogue, name, value, prefix)
        elif name == "training" and name not in document.nodes:
            document = replace(document, training=_set_training(document.training, param, value, prefix))
        elif param == "trains" and _node_type(document, catalogue, name, prefix).role is Role.OPTIMIZER:
            document = edits.set_trains(document, name, _layer_names(value))
        else:
            node_type, declared = _find_parameter(document, catalogue, name, param, prefix)
            per_copy = node_type.role is Role.BLOCK and param != block_nodes.REPEAT
            document = set_param_at(document, name, param, parse_value(declared, value, prefix, per_copy=per_copy))
    return document


def parameter_at(document: Document, catalogue: Catalogue, key: str) -> Parameter | None:
    """The declaration of "NODE.param"; None if there is no such parameter."""
    path, _, param = key.rpartition(".")
    try:
        location, name = locate(document, path)
    except KeyError:
        return None
    node_type = known_type(graph_at(document, location), catalogue, name)
    return None if node_type is None else node_type.param(param)


def parse_value(parameter: Parameter, text: str, label: str, *, per_copy: bool = False) -> Json:
    """Parse the text of a value. Relative paths refer to the working folder.

    Args:
        per_copy: accept one value for each copy of a repeated block, as in "16 | 32"
    """
    if parameter.optional and not text:
        return None
    try:
        value: Json = read(parameter, text, per_copy=per_copy)
    except InvalidTextError as error:
        raise InputError(f"{label}: {parameter.name} {error}.") from None
    return str(Path(value).expanduser().absolute()) if parameter.kind == "path" and isinstance(value, str) else value


def _layer_names(value: str) -> list[str]:
    """Names of the layers that an optimizer trains; empty for "all", the layers that its loss depends on."""
    listed = [name.strip() for name in value.split(",") if name.strip()]
    return [] if listed == ["all"] else listed


def _set_training(training: TrainingSettings, setting: str, value: str, label: str) -> TrainingSettings:
    """Training settings with one changed value."""
    settings = msgspec.to_builtins(training)
    if setting not in settings:
        raise InputError(f"{label}: there is no training setting {_quote(setting)}. {_suggest(setting, settings)}")
    new_value = None if value.lower() in ("", "none", "null") else value
    try:
        return msgspec.convert({**settings, setting: new_value}, TrainingSettings, strict=False)
    except msgspec.ValidationError:
        raise InputError(
            f"{label}: training.{setting} must be {TRAINING_SETTINGS[setting].allowed}, not {_quote(value)}."
        ) from None


def _change_type(document: Document, catalogue: Catalogue, name: str, key: str, label: str) -> Document:
    """Change the type of a node. Wires, and parameters that the new type also has, are kept."""
    new = _find_type(catalogue, key, label)
    wired = [(wire.target.port, new.input) for wire in document.wires if wire.target.node == name]
    wired += [(wire.source.port, new.output) for wire in document.wires if wire.source.node == name]
    for port, find_port in wired:
        if find_port(port) is None:
            raise InputError(f"{label}: {new.title} has no port {port!r}, but {name} has a wire there.")
    declared = {each.name: each for each in new.params}
    kept = {
        param: value
        for param, value in document.nodes[name].params.items()
        if param in declared and declared[param].problem(value) is None
    }
    return edits.retype(document, name, new.key, kept)


def _find_type(catalogue: Catalogue, key: str, label: str) -> NodeType:
    """Find a node type by key, or by a unique last part: "optim.SGD" or "SGD"."""
    keys = [each.key for each in catalogue]
    matching = [candidate for candidate in keys if candidate.rpartition(".")[2] == key]
    found = catalogue.get(matching[0] if len(matching) == 1 else key)
    if found is None:
        close = matching or difflib.get_close_matches(
            key, [*keys, *(candidate.rpartition(".")[2] for candidate in keys)], n=1
        )
        hint = f"Did you mean {close[0]!r}?" if close else "Run `gradwire nodes` for a list."
        raise InputError(f"{label}: there is no node type {_quote(key)}. {hint}")
    return found


def _find_parameter(
    document: Document, catalogue: Catalogue, name: str, param: str, label: str
) -> tuple[NodeType, Parameter]:
    node_type = _node_type(document, catalogue, name, label)
    declared = node_type.param(param)
    if declared is None:
        names = [each.name for each in node_type.params]
        raise InputError(
            f"{label}: {node_type.title} {name!r} has no parameter {_quote(param)}. {_suggest(param, names)}"
        )
    return node_type, declared


def _node_type(document: Document, catalogue: Catalogue, path: str, label: str) -> NodeType:
    try:
        location, name = locate(document, path)
    except KeyError:
        known = (each for each, _ in islice(all_nodes(document), _MAX_SUGGESTED))
        names = known if "." in path else document.nodes
        raise InputError(f"{label}: the project has no node {_quote(path)}. {_suggest(path, names)}") from None
    graph = graph_at(document, location)
    node_type = known_type(graph, catalogue, name)
    if node_type is None:
        raise InputError(f"{label}: {path!r} has the unknown type {graph.nodes[name].type!r}.")
    return node_type


def _quote(text: str) -> str:
    """Quote user input, shortened."""
    return repr(text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…")


def _suggest(name: str, names: Iterable[str]) -> str:
    names = list(names)
    close = difflib.get_close_matches(name[:LONGEST_VALUE], names, n=1)
    return (
        f"Did you mean {close[0]!r}?" if close else f"Choose one of: {', '.join(names)}." if names else "It has none."
    )
