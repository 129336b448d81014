"""The arguments of a node: set by the user, inferred from a wire or from the training, or default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.registry import Parameter
from engine.relative_sizes import relative_size
from engine.shape import Spec
from studio.document.model import Json
from studio.nodes.types import NodeType

MAX_VALUE_CHARACTERS = 60
"""Maximum length of an invalid value in a message, in characters."""


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """A problem with one parameter. The node's name precedes `message` to form a sentence."""

    code: str
    param: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeArguments:
    """Values by argument, in the order of the signature. Arguments that cannot be inferred yet are absent."""

    values: Mapping[str, Any]
    explicit: frozenset[str]
    """Arguments set by the user."""
    inferred: frozenset[str]
    problems: tuple[ArgumentProblem, ...] = ()
    is_incomplete: bool = False
    """Whether an argument cannot be inferred yet, because a shape or the training length is unknown."""


def resolve_arguments(
    node_type: NodeType, params: Mapping[str, Json], first_input: Spec | None, remaining: int | None = None
) -> NodeArguments:
    """All arguments of a node.

    Args:
        first_input: tensor at the first input port, if known
        remaining: epochs or steps that remain for a schedule, if known
    """
    values: dict[str, Any] = {}
    explicit: set[str] = set()
    inferred: set[str] = set()
    problems = [_unknown(node_type, name) for name in params if node_type.param(name) is None]
    is_incomplete = False
    for parameter in node_type.params:
        name = parameter.name
        if name in params:
            value, problem = params[name], parameter.problem(params[name])
            if problem is None and parameter.relative_to is not None and isinstance(value, str):
                size = _size(first_input, parameter.relative_to.axis)
                if size is None:
                    is_incomplete = True
                    continue
                value = relative_size(value, size)
                problem = parameter.problem(value)
            if problem is not None:
                problems.append(ArgumentProblem("bad-parameter", name, f"{name} {_shorten(problem)}."))
            else:
                values[name] = _value(parameter, value)
                explicit.add(name)
        elif parameter.from_input is not None:
            size = _size(first_input, parameter.from_input.axis)
            if size is None:
                is_incomplete = True
            else:
                values[name] = size
                inferred.add(name)
        elif parameter.from_training:
            if remaining is None:
                is_incomplete = True
            else:
                values[name] = remaining
                inferred.add(name)
        elif parameter.required:
            problems.append(_missing(parameter))
        else:
            values[name] = parameter.default
    return NodeArguments(values, frozenset(explicit), frozenset(inferred), tuple(problems), is_incomplete)


def resolve_paths(node_type: NodeType, values: Mapping[str, Any], base: Path | None) -> Mapping[str, Any]:
    """Resolve relative paths in arguments against `base`, the folder of the project file."""
    paths = [parameter.name for parameter in node_type.params if parameter.kind == "path"]
    if base is None or not any(values.get(name) for name in paths):
        return values
    return {
        name: str(_normalized(base / Path(value).expanduser())) if name in paths and value else value
        for name, value in values.items()
    }


def _normalized(path: Path) -> Path:
    """Remove "/../" from a joined path, to shorten messages."""
    if ".." not in path.parts:
        return path
    shorter = Path(os.path.normpath(path))
    try:
        is_same = os.path.realpath(shorter) == os.path.realpath(path)  # false after a symbolic link
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
    """Convert a JSON value to the type that the class expects: lists become tuples."""
    if isinstance(value, list):
        return tuple(value)
    if parameter.kind != "float" or not isinstance(value, (int, float)):
        return value
    return int(value) if parameter.keeps_integers and float(value).is_integer() else float(value)


def _missing(parameter: Parameter) -> ArgumentProblem:
    bounds = f" ({parameter.range})" if parameter.range is not None else ""
    meaning = f": {parameter.help}" if parameter.help else ""
    return ArgumentProblem("missing-parameter", parameter.name, f"needs {parameter.name}{meaning}{bounds}.")


def _unknown(node_type: NodeType, name: str) -> ArgumentProblem:
    names = ", ".join(parameter.name for parameter in node_type.params)
    listed = f"it has {names}" if names else "it has none"
    return ArgumentProblem(
        "unknown-parameter", name, f"has no parameter {_shorten(repr(name))}; {listed}. Remove the value."
    )


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_VALUE_CHARACTERS * 2 else text[: MAX_VALUE_CHARACTERS * 2] + "…"
