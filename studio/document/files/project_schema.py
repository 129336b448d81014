"""JSON Schema of the file format, for editors and other tools; derived from the model."""

from __future__ import annotations

from typing import Any

import msgspec

from studio.document.files.migrations import VERSION
from studio.document.model import (
    MAX_BREAKPOINTS,
    MAX_COORDINATE,
    BlockOrigin,
    Frame,
    ImportedWeights,
    Node,
    TrainingSettings,
)

_NAME = r"[^\s.]+"
_END = rf"{_NAME}\.{_NAME}"
_NAMES = {"pattern": rf"^{_NAME}$", "maxLength": 100}


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a `.gradwire` file in the present format.

    It cannot say that wires lead to nodes of the file, that an input has one wire, or what an identifier is.
    """
    types = (Node, TrainingSettings, BlockOrigin, Frame, ImportedWeights)
    (node, training, origin, frame, weights), parts = msgspec.json.schema_components(
        types, ref_template="#/$defs/{name}"
    )
    coordinate = {"type": "number", "minimum": -MAX_COORDINATE, "maximum": MAX_COORDINATE}
    graph = {
        "nodes": {
            "description": "Nodes by name, which is a Python identifier.",
            "type": "object",
            "propertyNames": _NAMES,
            "additionalProperties": node,
        },
        "wires": {
            "description": 'From outputs to inputs: "node.port -> node.port".',
            "type": "array",
            "items": {"type": "string", "pattern": rf"^{_END} -> {_END}$"},
            "uniqueItems": True,
        },
        "routes": {
            "description": 'Points that wires are drawn through, by the input "node.port" at the end of the wire.',
            "type": "object",
            "propertyNames": {"pattern": rf"^{_END}$"},
            "additionalProperties": {
                "type": "array",
                "items": {"type": "array", "items": coordinate, "minItems": 2, "maxItems": 2},
                "minItems": 1,
            },
        },
        "frames": {
            "description": "Frames behind nodes, and comments, by name.",
            "type": "object",
            "propertyNames": _NAMES,
            "additionalProperties": frame,
        },
    }
    block = {
        "type": "object",
        "properties": {
            "description": {"type": "string", "default": ""},
            "tags": {"description": "Further words for searches.", "type": "array", "items": {"type": "string"}},
            "origin": origin,
            "params": {
                "description": 'Promoted parameters by name: the parameters "node.param" that each sets.',
                "type": "object",
                "propertyNames": _NAMES,
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "string", "pattern": rf"^{_END}$"},
                    "minItems": 1,
                },
            },
            **graph,
        },
        "required": ["nodes", "wires"],
        "additionalProperties": False,
    }
    content = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Gradwire project",
        "type": "object",
        "properties": {
            "gradwire": {"const": VERSION, "description": "Version of the format."},
            "description": {"type": "string", "default": ""},
            "training": training,
            **graph,
            "blocks": {
                "description": 'Definitions of blocks by name; a node of type "block.NAME" is an instance.',
                "type": "object",
                "propertyNames": _NAMES,
                "additionalProperties": block,
            },
            "breakpoints": {
                "description": "Conditions at which a training pauses, and whether each is enabled.",
                "type": "object",
                "additionalProperties": {"type": "boolean"},
                "maxProperties": MAX_BREAKPOINTS,
            },
            "weights": weights,
        },
        "required": ["gradwire", "nodes", "wires"],
        "additionalProperties": False,
        "$defs": parts,
    }
    return msgspec.json.decode(msgspec.json.encode(content))  # defaults that are tuples become lists
