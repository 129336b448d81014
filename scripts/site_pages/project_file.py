"""The reference of project files and training settings, from the document model."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.system.syntax import parse_source
from studio.document import model
from studio.document.files.project_schema import schema
from studio.reference.markdown import code, fence, joined, table

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = {
    "nodes": {
        "hidden": {
            "type": "block.dense",
            "params": {"repeat": 3, "width": {"each": [64, 32, 16]}},
        }
    },
    "blocks": {
        "dense": {
            "params": {"width": ["linear.out_features"]},
            "nodes": {
                "input": {"type": "port.Input"},
                "linear": {"type": "nn.Linear"},
                "relu": {"type": "nn.ReLU"},
                "output": {"type": "port.Output"},
            },
            "wires": ["input.output -> linear.input", "linear.output -> relu.input", "relu.output -> output.input"],
        }
    },
}
"""A block and an instance, without the rest of the file."""
EXAMPLE = ROOT / "examples" / "digits_mlp.gradwire"


def pages() -> Iterator[tuple[str, str]]:
    project_schema = schema()
    yield (
        "reference/project-file.md",
        joined(
            [
                "# Project file",
                (
                    "Read and write `.gradwire` files with your own programs. A project is one JSON object, laid "
                    "out so that a change of one node is a change of a few lines. Its JSON Schema:"
                ),
                fence("sh", "gradwire schema"),
                "## Properties",
                schema_table(project_schema, {"training": "Training settings.", "description": "Free text."}),
                "## A node",
                "The key in `nodes` is the node's name: a Python identifier, used as attribute of the generated class.",
                schema_table(project_schema["$defs"]["Node"], documented(model.Node)),
                "## A block",
                (
                    "A definition in `blocks` is a graph that nodes of type `block.NAME`, its instances, stand for. "
                    "Nodes of type `port.Input` and `port.Output` are the ports. A block contains layers, operations "
                    "and instances of other blocks, and becomes a `Module` class."
                ),
                schema_table(project_schema["properties"]["blocks"]["additionalProperties"], documented(model.Block)),
                "An instance sets promoted parameters, and `repeat` for copies in a row, each with other weights:",
                fence("json", json.dumps(BLOCKS, indent=2)),
                "## A frame",
                (
                    "The key in `frames` is the frame's name, a Python identifier. Frames, and the reroute points in "
                    "`routes`, are layout: they have no effect on the computation."
                ),
                schema_table(project_schema["$defs"]["Frame"], documented(model.Frame)),
                "## Training settings",
                "Set them in the inspector when no node is selected, or for one run with `--set training.NAME=VALUE`.",
                schema_table(project_schema["$defs"]["TrainingSettings"], documented(model.TrainingSettings)),
                "## Example",
                fence("json", EXAMPLE.read_text(encoding="utf-8")),
                "## JSON Schema",
                '??? note "Show the schema"\n\n' + _indented(fence("json", json.dumps(project_schema, indent=2))),
            ]
        ),
    )


def documented(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields of a class."""
    [tree] = parse_source(inspect.getsource(cls)).body
    assert isinstance(tree, ast.ClassDef)
    docstrings: dict[str, str] = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            docstrings[field.target.id] = " ".join(str(after.value.value).split())
    return docstrings


def schema_table(structure: Mapping[str, Any], helps: Mapping[str, str]) -> str:
    """A table of the properties of an object in a JSON Schema."""
    rows = [
        (
            code(name),
            _type(content),
            "**required**" if name in structure.get("required", ()) else _default(content),
            _bounds(content),
            content.get("description") or helps.get(name, ""),
        )
        for name, content in structure["properties"].items()
    ]
    return table(("Name", "Type", "Default", "Bounds", "Meaning"), rows)


def _type(content: Mapping[str, Any]) -> str:
    if "$ref" in content:
        return "object"
    if "enum" in content:
        return "choice"
    if "const" in content:
        return code(json.dumps(content["const"]))
    if "anyOf" in content:
        return " or ".join(dict.fromkeys(map(_type, content["anyOf"])))
    return str(content.get("type", ""))


def _default(content: Mapping[str, Any]) -> str:
    return code(json.dumps(content["default"])) if "default" in content else ""


def _bounds(content: Mapping[str, Any]) -> str:
    choices = next((one["enum"] for one in (content, *content.get("anyOf", ())) if "enum" in one), ())
    if choices:
        return ", ".join(code(json.dumps(one)) for one in choices)
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [one for part in (content, *content.get("anyOf", ())) for one in _bounds_of(part, signs)]
    return " and ".join(bounds)


def _bounds_of(content: Mapping[str, Any], signs: Mapping[str, str]) -> Iterator[str]:
    for key, sign in signs.items():
        if key in content:
            bound = content[key]
            yield f"{sign} {bound:,}" if isinstance(bound, int) else f"{sign} {bound:g}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())
