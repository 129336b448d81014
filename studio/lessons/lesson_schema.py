"""JSON Schema of lesson files, for editors and other tools; derived from the model."""

from __future__ import annotations

from typing import Any

import msgspec

from studio.document.files.project_schema import schema as project_schema
from studio.lessons.lesson import LessonContent
from studio.lessons.lesson_format import LONG, VERSION


def lesson_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a `.gradlesson` file in the present format.

    It cannot say that ids of steps are unique, and that nodes exist.
    """
    (content,), parts = msgspec.json.schema_components((LessonContent,), ref_template="#/$defs/{name}")
    project = project_schema()
    parts = {**project.pop("$defs"), **parts}
    fields = dict(parts.pop(content["$ref"].rpartition("/")[2]))
    step = parts["Step"]["properties"]
    for name in LONG:
        lines = {"type": "array", "items": {"type": "string"}}
        described = {key: step[name][key] for key in ("description",) if key in step[name]}
        step[name] = {**described, "anyOf": [{"type": "string"}, lines]}
    project.pop("$schema")
    version = {"const": VERSION, "description": "Version of the format."}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **fields,
        "title": "Gradwire lesson",
        "description": "A lesson: steps, and the project that they start from.",
        "properties": {"gradlesson": version, **fields["properties"], "project": project},
        "required": ["gradlesson", *fields["required"], "project"],
        "$defs": parts,
    }
    return msgspec.json.decode(msgspec.json.encode(schema))  # defaults that are tuples become lists


__all__ = ["lesson_schema"]
