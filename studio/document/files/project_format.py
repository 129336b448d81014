"""The text of a project file: one JSON object with one item per line, for diffs and merges.

Equal documents have equal text if their nodes have the same order, which is the order of creation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from studio.document import SUFFIX
from studio.document.document_errors import FileError
from studio.document.files.document_reader import read_document
from studio.document.files.json_values import JsonError, format_json
from studio.document.files.migrations import VERSION, migrate
from studio.document.files.project_schema import schema
from studio.document.files.strict_json import decode, parse
from studio.document.model import Block, Document, Frame, ImportedWeights, Node, TrainingSettings, Wire

__all__ = ["SUFFIX", "block_text", "dumps", "layout", "loads", "parse_object", "schema"]


def dumps(document: Document) -> str:
    """The text of a project file. Fields with default values are omitted."""
    return layout(document)


def loads(text: str | bytes, source: str = "text") -> Document:
    """Parse the text or bytes of a project file. Raises FileError with `source`, location and remedy."""
    try:
        return read_document(migrate(parse_object(text)))
    except JsonError as error:
        remedy = error.remedy or "Correct it in a text editor, or restore an earlier version of the file."
        raise FileError(source, error.location, error.problem, remedy) from None


def parse_object(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object of any format version. Raises JsonError."""
    value = parse(decode(text) if isinstance(text, bytes) else text)
    if not isinstance(value, dict):
        raise JsonError("", f"is not a Gradwire project: expected an object, got {format_json(value)}")
    return value  # pyright: ignore[reportUnknownVariableType]


def layout(document: Document, **wires: Iterable[Wire]) -> str:
    """The text of a document, with additional named lists of wires."""
    sections = [f'"gradwire": {VERSION}']
    if document.description:
        sections.append(f'"description": {_json(document.description)}')
    if training := _fields(document.training, TrainingSettings()):
        sections.append(f'"training": {_object(training, 1)}')
    sections += _graph(document, 1, wires)
    if document.blocks:
        defined = {name: block_text(block) for name, block in document.blocks.items()}
        sections.append(f'"blocks": {_object(defined, 1)}')
    if document.breakpoints:
        listed = {condition: _json(enabled) for condition, enabled in document.breakpoints.items()}
        sections.append(f'"breakpoints": {_object(listed, 1)}')
    if document.weights is not None:
        fields = _fields(document.weights, ImportedWeights(file=""))
        sections.append(f'"weights": {_object(fields, 1)}')
    return _lines("{", sections, "}", 0) + "\n"


def _graph(graph: Document | Block, depth: int, wires: Mapping[str, Iterable[Wire]]) -> list[str]:
    """The nodes, wires, reroute points and frames of a graph, with further lists of wires."""
    nodes = {name: _node(node, depth + 1) for name, node in graph.nodes.items()}
    lists = {
        title: _lines("[", (_json(str(wire)) for wire in listed), "]", depth)
        for title, listed in {"wires": graph.wires, **wires}.items()
    }
    sections = [f'"nodes": {_object(nodes, depth)}', *(f'"{title}": {text}' for title, text in lists.items())]
    if graph.routes:
        routes = {str(end): _json([_position(point) for point in graph.routes[end]]) for end in sorted(graph.routes)}
        sections.append(f'"routes": {_object(routes, depth)}')
    if graph.frames:
        frames = {name: _frame(frame, depth + 1) for name, frame in graph.frames.items()}
        sections.append(f'"frames": {_object(frames, depth)}')
    return sections


def block_text(block: Block) -> str:
    """The text of a definition within a project file."""
    plain = {"description": block.description, "tags": block.tags, "origin": block.origin}
    sections = [f'"{name}": {_json(msgspec.to_builtins(value))}' for name, value in plain.items() if value]
    if block.params:
        params = {name: _json([str(ref) for ref in refs]) for name, refs in block.params.items()}
        sections.append(f'"params": {_object(params, 3)}')
    return _lines("{", [*sections, *_graph(block, 3, {})], "}", 2)


def _node(node: Node, depth: int) -> str:
    fields = _fields(node, Node(type=""))
    if node.params:
        params = {name: _json(node.params[name]) for name in sorted(node.params)}
        fields["params"] = _object(params, depth + 1)
    if "at" in fields:
        fields["at"] = _json(_position(node.at))
    return _object(fields, depth)


def _frame(frame: Frame, depth: int) -> str:
    fields = _fields(frame, Frame())
    for pair in ("at", "size"):
        if pair in fields:
            fields[pair] = _json(_position(getattr(frame, pair)))
    return _object(fields, depth)


def _position(values: Iterable[float]) -> list[float]:
    """Coordinates, whole ones without a decimal point."""
    return [int(value) if float(value).is_integer() else value for value in values]


def _fields(struct: msgspec.Struct, plain: msgspec.Struct) -> dict[str, str]:
    """The fields in which `struct` differs from `plain`, as JSON."""
    fields = ((name, getattr(struct, name)) for name in struct.__struct_fields__)
    return {name: _json(msgspec.to_builtins(value)) for name, value in fields if value != getattr(plain, name)}


def _object(fields: Mapping[str, str], depth: int) -> str:
    return _lines("{", (f"{_json(name)}: {text}" for name, text in fields.items()), "}", depth)


def _lines(opening: str, items: Iterable[str], closing: str, depth: int) -> str:
    """Items on separate lines between brackets."""
    indent = "\n" + "  " * depth
    inner = f",{indent}  ".join(items)
    return f"{opening}{indent}  {inner}{indent}{closing}" if inner else f"{opening}{closing}"


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True)


def _json(value: Any) -> str:
    return _ENCODER.encode(value)
