"""The command `nodes`: the catalogue of node types, as JSON or as text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from engine.registry import Parameter
from studio.cli.error_output import print_json, print_text
from studio.cli.shared_options import Json
from studio.nodes.catalogue import catalogue
from studio.nodes.types import NodeType, Port


def nodes(as_json: Json = False) -> None:
    if as_json:
        for node_type in catalogue():
            print_json(node_record(node_type))
    else:
        for text in node_lines(catalogue()):
            print_text(text)


def node_record(node_type: NodeType) -> dict[str, Any]:
    """A node type as a JSON object. Bounds use JSON Schema's names."""
    return {
        "key": node_type.key,
        "title": node_type.title,
        "category": node_type.category,
        "group": node_type.group,
        "summary": node_type.summary,
        "help": node_type.help,
        "inputs": [_port_record(port) for port in node_type.inputs],
        "outputs": [_port_record(port) for port in node_type.outputs],
        "params": [_parameter_record(parameter) for parameter in node_type.params],
        "tags": list(node_type.tags),
        "was": list(node_type.was),
    }


def node_lines(types: Iterable[NodeType]) -> Iterator[str]:
    """Lines of text, grouped by category."""
    ordered = sorted(types, key=lambda node_type: (node_type.category, node_type.group))
    width = max((len(node_type.key) for node_type in ordered), default=0)
    for (category, group), members in itertools.groupby(ordered, lambda one: (one.category, one.group)):
        yield f"{category}: {group}" if group.lower() != category else category
        yield from (f"  {node_type.key:{width}}  {node_type.summary}" for node_type in members)


def _port_record(port: Port) -> dict[str, Any]:
    return {"name": port.name, "type": port.type.value, "optional": port.optional, "help": port.help}


def _parameter_record(parameter: Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {"name": parameter.name, "type": parameter.kind, "required": parameter.required}
    if not parameter.required:
        found["default"] = parameter.default
    if parameter.range is not None:
        bounds = parameter.range
        named = {
            "minimum": bounds.ge,
            "exclusiveMinimum": bounds.gt,
            "maximum": bounds.le,
            "exclusiveMaximum": bounds.lt,
        }
        found.update({name: bound for name, bound in named.items() if bound is not None})
    if parameter.choices:
        found["choices"] = list(parameter.choices)
    if parameter.path is not None:
        found["path"] = {"kind": parameter.path.kind, "suffixes": list(parameter.path.suffixes)}
    return {
        **found,
        "optional": parameter.optional,
        "inferred": parameter.from_input is not None or parameter.from_training,
        "help": parameter.help,
    }
