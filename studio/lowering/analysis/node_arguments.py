"""The arguments of a node: set by hand, taken from the wire, or default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.registry import Parameter
from engine.shape import Spec
from studio.document.model import Json
from studio.nodes.types import NodeType

LONGEST_VALUE = 60
"""Characters of a wrong value that a message repeats."""


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """What is wrong with one parameter. `message` is a sentence without the node's name, which goes before it."""

    code: str
    param: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeArguments:
    """Values by argument, in the order of the signature; those that a wire should give and does not yet are absent."""

    values: Mapping[str, Any]
    explicit: frozenset[str]
    """Set by hand."""
    inferred: frozenset[str]
    complaints: tuple[ArgumentProblem, ...] = ()
    waiting: bool = False
    """A wire has to say more before the node can be built."""


def resolve_arguments(
    node_type: NodeType, params: Mapping[str, Json], first_input: Spec | None, left: int | None = None
) -> NodeArguments:
    """All arguments of a node.

    Args:
        first_input: what its first input port gets, if that is known
        left: how much of the training is left for a schedule, if that is known
    """
    values: dict[str, Any] = {}
    explicit: set[str] = set()
    inferred: set[str] = set()
    complaints = [_unknown(node_type, name) for name in params if node_type.param(name) is None]
    waiting = False
    for parameter in node_type.params:
        name = parameter.name
        if name in params:
            problem = parameter.problem(params[name])
            if problem is not None:
                complaints.append(ArgumentProblem("bad-parameter", name, f"{name} {_short(problem)}."))
            else:
                values[name] = _value(parameter, params[name])
                explicit.add(name)
        elif parameter.from_input is not None:
            size = _size(first_input, parameter.from_input.axis)
            if size is None:
                waiting = True
            else:
                values[name] = size
                inferred.add(name)
        elif parameter.from_training:
            if left is None:
                waiting = True
            else:
                values[name] = left
                inferred.add(name)
        elif parameter.required:
            complaints.append(_missing(parameter))
        else:
            values[name] = parameter.default
    return NodeArguments(values, frozenset(explicit), frozenset(inferred), tuple(complaints), waiting)


def resolve_paths(node_type: NodeType, values: Mapping[str, Any], base: Path | None) -> Mapping[str, Any]:
    """The arguments with relative paths made to begin at `base`, the folder of the project file."""
    paths = [parameter.name for parameter in node_type.params if parameter.kind == "path"]
    if base is None or not any(values.get(name) for name in paths):
        return values
    return {
        name: str(_plain(base / Path(value).expanduser())) if name in paths and value else value
        for name, value in values.items()
    }


def _plain(path: Path) -> Path:
    """Remove the "/../" that joining a relative path leaves, for messages."""
    if ".." not in path.parts:
        return path
    shorter = Path(os.path.normpath(path))
    try:
        is_same = os.path.realpath(shorter) == os.path.realpath(path)  # not so behind a symbolic link
    except (OSError, ValueError):
        is_same = False
    return shorter if is_same else path


def _size(spec: Spec | None, axis: int) -> int | None:
    """The size of a dimension; None if the shape is unknown or has no such dimension, or if it is symbolic."""
    if spec is None or not -spec.ndim <= axis < spec.ndim:
        return None
    size = spec.shape[axis]
    return size if isinstance(size, int) else None


def _value(parameter: Parameter, value: Json) -> Any:
    """As the class expects it: JSON has no tuples."""
    if isinstance(value, list):
        return tuple(value)
    return float(value) if parameter.kind == "float" and isinstance(value, int) else value


def _missing(parameter: Parameter) -> ArgumentProblem:
    bounds = f" ({parameter.range})" if parameter.range is not None else ""
    meaning = f": {parameter.help}" if parameter.help else ""
    return ArgumentProblem("missing-parameter", parameter.name, f"needs {parameter.name}{meaning}{bounds}.")


def _unknown(node_type: NodeType, name: str) -> ArgumentProblem:
    known = ", ".join(parameter.name for parameter in node_type.params)
    has = f"it has {known}" if known else "it has none"
    return ArgumentProblem(
        "unknown-parameter", name, f"has no parameter {_short(repr(name))}; {has}. Remove the value."
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE * 2 else text[: LONGEST_VALUE * 2] + "…"
