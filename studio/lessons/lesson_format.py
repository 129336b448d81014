"""The text of a lesson file: one JSON object with one item per line, for diffs and merges.

Texts of several lines are lists of lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec
from msgspec.structs import asdict

from studio.document.document_errors import FileError
from studio.document.files.document_reader import read_document
from studio.document.files.json_values import JsonError, format_json, validated_copy
from studio.document.files.migrations import migrate
from studio.document.files.project_format import dumps as project_text
from studio.document.files.strict_json import decode, parse
from studio.document.files.validation_messages import validation_problem
from studio.lessons.lesson import Choice, Lesson, LessonContent, Step
from studio.lessons.solution_edits import check_edit

VERSION = 1
"""The current format version."""
_VERSION_FIELD, _PROJECT = "gradlesson", "project"
LONG = ("text", "explanation")
"""Texts that are written as lists of lines if they have several."""


def loads(text: str | bytes, source: str = "text", key: str = "") -> Lesson:
    """Parse the text or bytes of a lesson file. Raises FileError with `source`, location and remedy."""
    try:
        return _read(_object(text), key)
    except JsonError as error:
        remedy = error.remedy or "Correct it in a text editor, or ask the author for the file again."
        raise FileError(source, error.location, error.problem, remedy) from None


def dumps(lesson: Lesson) -> str:
    """The text of a lesson file. Fields with default values are omitted."""
    content = cast("dict[str, Any]", msgspec.to_builtins(_content(lesson)))
    task = content.pop("task", None)
    steps = content.pop("steps")
    sections = [f'"{_VERSION_FIELD}": {VERSION}']
    sections += [f'"{name}": {_short_lines(value, 1)}' for name, value in content.items() if value]
    sections.append(f'"steps": {_lines("[", (_step(step, 2) for step in steps), "]", 1)}')
    if task is not None:
        sections.append(f'"task": {_step(task, 1)}')
    project = project_text(lesson.document).rstrip().replace("\n", "\n  ")
    sections.append(f'"{_PROJECT}": {project}')
    return _lines("{", sections, "}", 0) + "\n"


def _object(text: str | bytes) -> dict[str, Any]:
    value = parse(decode(text) if isinstance(text, bytes) else text)
    if not isinstance(value, dict):
        raise JsonError("", f"is not a Gradwire lesson: expected an object, got {format_json(value)}")
    return cast("dict[str, Any]", value)


def _read(file: dict[str, Any], key: str) -> Lesson:
    _check_version(file)
    if _PROJECT not in file:
        raise JsonError("", f'has no field "{_PROJECT}"', "Add the start project.")
    content = {name: value for name, value in file.items() if name not in (_VERSION_FIELD, _PROJECT)}
    content = _joined(content)
    try:
        read = msgspec.convert(content, LessonContent)
    except msgspec.ValidationError as error:
        raise validation_problem(error, content, LessonContent, "") from None
    _check_steps(read)
    return Lesson(key=key, document=_project(file[_PROJECT]), **asdict(read))


def _check_version(file: Mapping[str, Any]) -> None:
    version = file.get(_VERSION_FIELD)
    if version is None:
        raise JsonError("", "is not a Gradwire lesson", f'A lesson has a field "{_VERSION_FIELD}" with its version.')
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise JsonError(_VERSION_FIELD, f"must be a format version from 1 to {VERSION}, not {format_json(version)}")
    if version > VERSION:
        problem = f"was written by a newer Gradwire (format {version}; this one reads up to {VERSION})"
        raise JsonError("", problem, "Update Gradwire to open it.")


def _project(raw: object) -> Any:
    if not isinstance(raw, dict):
        raise JsonError(_PROJECT, f"must be a project, not {format_json(raw)}")
    try:
        return read_document(migrate(cast("dict[str, Any]", raw)))
    except JsonError as error:
        location = f"{_PROJECT}.{error.location}" if error.location else _PROJECT
        raise JsonError(location, error.problem, error.remedy) from None


def _check_steps(content: LessonContent) -> None:
    """Raise JsonError for what the types cannot say: unique ids, valid edits, and values within bounds."""
    steps = [(f"steps[{index}]", step) for index, step in enumerate(content.steps)]
    if content.task is not None:
        steps.append(("task", content.task))
    seen: set[str] = set()
    for location, step in steps:
        if step.id in seen:
            raise JsonError(f"{location}.id", f"{format_json(step.id)} occurs twice", "Rename one of the two.")
        seen.add(step.id)
        if isinstance(step.prediction, Choice) and (step.prediction.right or 0) >= len(step.prediction.options):
            problem = f"is {step.prediction.right}, but there are {len(step.prediction.options)} options"
            raise JsonError(f"{location}.prediction.right", problem, "Set it to the index of an option, from 0.")
        for index, edit in enumerate(step.solution):
            check_edit(edit, f"{location}.solution[{index}]")
        for index, condition in enumerate(step.conditions):
            for name, value in cast("dict[str, Any]", msgspec.to_builtins(condition)).items():
                _check_value(value, f"{location}.conditions[{index}].{name}")


def _check_value(value: object, location: str) -> None:
    try:
        validated_copy(value)
    except JsonError as error:
        raise JsonError(location + error.location, error.problem, error.remedy) from None


def _joined(content: dict[str, Any]) -> dict[str, Any]:
    """The content with texts that are lists of lines as one text."""
    steps = content.get("steps")
    if isinstance(steps, list):
        content = {**content, "steps": [_joined_step(step) for step in cast("list[object]", steps)]}
    return {**content, "task": _joined_step(content["task"])} if "task" in content else content


def _joined_step(step: object) -> object:
    if not isinstance(step, dict):
        return step
    fields = cast("dict[str, Any]", step)
    return {name: _joined_text(value) if name in LONG else value for name, value in fields.items()}


def _joined_text(value: object) -> object:
    lines = cast("list[object]", value) if isinstance(value, list) else []
    return "\n".join(map(str, lines)) if lines and all(isinstance(line, str) for line in lines) else value


def _content(lesson: Lesson) -> LessonContent:
    return LessonContent(**{name: getattr(lesson, name) for name in LessonContent.__struct_fields__})


def _step(step: dict[str, Any], depth: int) -> str:
    ordered = {name: step[name] for name in Step.__struct_fields__ if name in step}
    return _lines("{", (f'"{name}": {_field(name, value, depth + 1)}' for name, value in ordered.items()), "}", depth)


def _field(name: str, value: Any, depth: int) -> str:
    if name in LONG and "\n" in value:
        return _short_lines(value.split("\n"), depth)
    return _short_lines(value, depth)


def _short_lines(value: Any, depth: int) -> str:
    """A value on one line, or one line for each item of a list or an object."""
    if isinstance(value, dict):
        return _lines("{", (f"{_json(name)}: {_json(item)}" for name, item in value.items()), "}", depth)
    items = cast("list[Any]", value) if isinstance(value, (list, tuple)) else []
    if items:
        return _lines("[", map(_json, items), "]", depth)
    return _json(value)


def _lines(opening: str, items: Iterable[str], closing: str, depth: int) -> str:
    indent = "\n" + "  " * depth
    inner = f",{indent}  ".join(items)
    return f"{opening}{indent}  {inner}{indent}{closing}" if inner else f"{opening}{closing}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


__all__ = ["LONG", "VERSION", "dumps", "loads"]
