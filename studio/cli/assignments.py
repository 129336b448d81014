"""``--set NODE.param=value``: parameters of a project, and settings of its training, changed for one run."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from engine.registry import Parameter
from studio.cli.problems import InputError
from studio.document import edits
from studio.document.model import Document, Json, Training
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType

_BOOLS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def assign(document: Document, catalogue: Catalogue, assignments: Iterable[str]) -> Document:
    """The document with every assignment made. Raises InputError that names the assignment and what would fit."""
    for text in assignments:
        place, equals, value = text.partition("=")
        name, dot, param = place.strip().partition(".")
        if not (equals and dot and name and param):
            raise InputError(f"--set {text!r}: write it as NODE.param=value, for instance --set adam.lr=0.001.")
        if name == "training" and name not in document.nodes:
            document = msgspec.structs.replace(document, training=_set(document.training, param, value.strip(), text))
            continue
        node_type = _node_type(document, catalogue, name, text)
        declared = node_type.param(param)
        if declared is None:
            known = [each.name for each in node_type.params]
            raise InputError(
                f"--set {text!r}: {node_type.title} {name!r} has no parameter {param!r}. {_hint(param, known)}"
            )
        document = edits.set_param(document, name, param, parse(declared, value.strip(), text))
    return document


def parse(parameter: Parameter, value: str, text: str) -> Json:
    """The value that a text stands for. Paths are taken from the working folder."""
    if parameter.optional and value.lower() in ("", "none", "null"):
        return None
    try:
        parsed = _parsed(parameter, value)
    except ValueError:
        problem = parameter.problem(value) or "is of the wrong type"
    else:
        problem = parameter.problem(parsed)
        if problem is None:
            return parsed
    raise InputError(f"--set {text!r}: {parameter.name} {problem}.")


def _set(training: Training, setting: str, value: str, text: str) -> Training:
    """With another value for a setting of the project's training."""
    settings = msgspec.to_builtins(training)
    if setting not in settings:
        raise InputError(f"--set {text!r}: training has no setting {setting!r}. {_hint(setting, settings)}")
    given = None if value.lower() in ("", "none", "null") else value
    try:
        return msgspec.convert({**settings, setting: given}, Training, strict=False)
    except msgspec.ValidationError as error:
        problem = str(error).partition(" - at ")[0]
        raise InputError(f"--set {text!r}: {problem[:1].lower()}{problem[1:]}.") from None


def _node_type(document: Document, catalogue: Catalogue, name: str, text: str) -> NodeType:
    node = document.nodes.get(name)
    if node is None:
        raise InputError(f"--set {text!r}: the project has no node {name!r}. {_hint(name, document.nodes)}")
    node_type = catalogue.get(node.type)
    if node_type is None:
        raise InputError(f"--set {text!r}: {name!r} has the type {node.type!r}, which this version does not know.")
    return node_type


def _parsed(parameter: Parameter, value: str) -> Json:
    """Raises ValueError for a text that is no value of this kind."""
    match parameter.kind:
        case "bool":
            if value.lower() not in _BOOLS:
                raise ValueError(value)
            return _BOOLS[value.lower()]
        case "int":
            return int(value)
        case "float":
            return float(value)
        case "ints" | "floats":
            number = int if parameter.kind == "ints" else float
            items = [number(item) for item in value.strip("()[] ").rstrip(",").split(",")]
            return items if "," in value else items[0]
        case "choice":
            return next((choice for choice in parameter.choices if str(choice) == value), value)
        case "path":
            return str(Path(value).expanduser().absolute()) if value else value
        case "str":
            return value


def _hint(wrong: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(wrong, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"It has: {', '.join(known)}." if known else "It has none."
