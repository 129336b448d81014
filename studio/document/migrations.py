"""From the file formats of earlier versions to the present one, one step a version.

A step rewrites what it knows and passes on everything else untouched, damage included: the reader of the present
format reports that better. Steps are never changed once released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from studio.document.json_values import JsonError, shown

Migration: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

VERSION = 2
"""The format that is written."""


def migrate(file: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file in the present format. Raises JsonError if its version is unknown."""
    version = _version(file)
    content = dict(file)
    for step in range(version, VERSION):
        content = {**MIGRATIONS[step](content), "gradwire": step + 1}
    return content


def _version(file: Mapping[str, Any]) -> int:
    if "gradwire" not in file:
        raise JsonError("", "is not a Gradwire project", 'A project has a field "gradwire" with the format\'s version.')
    version = file["gradwire"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise JsonError("gradwire", f"must be a format version from 1 to {VERSION}, not {shown(version)}")
    if version > VERSION:
        problem = f"was written by a newer Gradwire (format {version}; this one reads up to {VERSION})"
        raise JsonError("", problem, "Update Gradwire to open it.")
    return version


def _wires_as_text(file: dict[str, Any]) -> dict[str, Any]:
    """Format 1 had wires as [node, port, node, port], and `position` for `at`."""
    return {
        **file,
        "nodes": _each(file.get("nodes"), lambda node: _renamed_field(node, "position", "at")),
        "wires": _each(file.get("wires"), _wire_text),
    }


MIGRATIONS: Mapping[int, Migration] = {1: _wires_as_text}
"""By the version that a step starts from."""


def _each(items: object, function: Callable[[object], object]) -> object:
    if isinstance(items, dict):
        return {name: function(item) for name, item in cast("dict[str, object]", items).items()}
    if isinstance(items, list):
        return [function(item) for item in cast("list[object]", items)]
    return items


def _renamed_field(node: object, old: str, new: str) -> object:
    if not isinstance(node, dict) or old not in node or new in node:
        return cast("object", node)
    return {new if key == old else key: value for key, value in cast("dict[str, object]", node).items()}


def _wire_text(wire: object) -> object:
    match wire:
        case [str(node), str(port), str(to), str(input)]:
            return f"{node}.{port} -> {to}.{input}"
        case _:
            return wire
