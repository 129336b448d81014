"""Migrations of project files from earlier format versions to the current one, one step per version.

A step changes only the fields it knows. Everything else, including damage, is kept, because the reader of the current
format reports errors better. Released steps never change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from studio.document.files.json_values import JsonError, format_json

Migration: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

VERSION = 3
"""The current format version."""


def migrate(file: Mapping[str, Any]) -> dict[str, Any]:
    """Migrate the content of a file to the current format. Raises JsonError if its version is unknown."""
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
        raise JsonError("gradwire", f"must be a format version from 1 to {VERSION}, not {format_json(version)}")
    if version > VERSION:
        problem = f"was written by a newer Gradwire (format {version}; this one reads up to {VERSION})"
        raise JsonError("", problem, "Update Gradwire to open it.")
    return version


def _wires_as_text(file: dict[str, Any]) -> dict[str, Any]:
    """Format 1 stores wires as [node, port, node, port], and `at` as `position`."""
    return {
        **file,
        "nodes": _each(file.get("nodes"), lambda node: _renamed_field(node, "position", "at")),
        "wires": _each(file.get("wires"), _wire_text),
    }


SEQUENCE_TYPES = frozenset(
    f"nn.{name}"
    for name in (
        *("RNN", "LSTM", "GRU"),
        *("MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"),
    )
)


def _batches_second(file: dict[str, Any]) -> dict[str, Any]:
    """Format 3 adds definitions of blocks. Without `batch_first`, sequence layers now take batches first."""
    return {**file, "nodes": _each(file.get("nodes"), _batch_second)}


def _batch_second(node: object) -> object:
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, object]", node)
    key, params = fields.get("type"), fields.get("params", {})
    if not isinstance(key, str) or key not in SEQUENCE_TYPES or not isinstance(params, dict) or "batch_first" in params:
        return fields
    return {**fields, "params": {**cast("dict[str, object]", params), "batch_first": False}}


MIGRATIONS: Mapping[int, Migration] = {1: _wires_as_text, 2: _batches_second}
"""Migration step by the version it starts from."""


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
