"""The reference of lesson files, of the shipped lessons, and of the terms that lessons explain."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any, get_args

from site_pages.problems import EDITS
from site_pages.project_file import documented, schema_table
from studio.lessons import conditions, lesson
from studio.lessons.glossary import GLOSSARY, PAGE
from studio.lessons.lesson_files import shipped_lesson, shipped_lessons
from studio.lessons.lesson_format import dumps
from studio.lessons.lesson_schema import lesson_schema
from studio.reference.markdown import escaped, fence, joined, table

EXAMPLE = "tensors-and-shapes"
ACTIONS = (
    ('{"run": {SETTING: VALUE}}', "change settings of the run and press Run"),
    ('{"resume": EPOCHS}', "resume the last run until it has trained for a total number of epochs"),
    ('{"predict": ANSWER}', "answer the question: an index of an option, a number, or a course"),
    ('{"select": NODE}', "select a node"),
)
"""Entries of a solution besides the edits of fixes."""


def pages() -> Iterator[tuple[str, str]]:
    yield "reference/lesson-file.md", _lesson_file()
    yield PAGE, _terms()


def _lesson_file() -> str:
    schema = lesson_schema()
    parts = schema["$defs"]
    rows = [
        (f"`{each.key}`", f"{each.minutes} min", escaped(f"{each.title}: {each.goal}")) for each in shipped_lessons()
    ]
    first = json.loads(dumps(shipped_lesson(EXAMPLE)))["steps"][2]
    return joined(
        [
            "# Lesson file",
            (
                "Write `.gradlesson` files, or read them with programs. A lesson is one JSON object: steps, and the "
                "project that they start from. [Write a lesson](../how-to/lessons.md) shows how to make one."
            ),
            fence("sh", "gradwire schema --lesson\ngradwire lesson check tensors-and-shapes"),
            "## Properties",
            schema_table(schema, documented(lesson.LessonContent) | {"project": "The start project."}),
            "## A step",
            "`text` and `explanation` are a text, or a list of lines.",
            schema_table(parts["Step"], documented(lesson.Step)),
            "A step of a shipped lesson:",
            fence("json", json.dumps(first, indent=2, ensure_ascii=False)),
            "## Predictions",
            *_kinds(parts, get_args(lesson.Prediction), "kind"),
            "## Conditions",
            (
                "A node is a name, a path such as `encoder.fc`, or `@TYPE` for any node of a type; a port `NODE.PORT`. "
                "Every condition can have `goal` and `feedback`, which replace the derived texts."
            ),
            *_kinds(parts, get_args(conditions.Condition), "check"),
            "## Solutions",
            "Entries of `solution`, in order. `gradwire lesson student` removes them.",
            table(("Entry", "Description"), [(f"`{edit}`", text) for edit, text in (*EDITS, *ACTIONS)]),
            "## Shipped lessons",
            table(("Name", "Time", "Goal: you can …"), rows),
        ]
    )


def _kinds(parts: dict[str, Any], classes: tuple[type, ...], tag: str) -> Iterator[str]:
    for each in classes:
        part = parts[each.__name__]
        fields = {name: value for name, value in part["properties"].items() if name not in (tag, "goal", "feedback")}
        yield f"### {part['properties'][tag]['enum'][0]}"
        yield escaped(inspect.getdoc(each) or "")
        yield schema_table({**part, "properties": fields}, documented(each))


def _terms() -> str:
    rows = [
        (f'<a id="{term.lower().replace(" ", "-")}"></a>{escaped(term)}', escaped(text))
        for term, text in GLOSSARY.items()
    ]
    return joined(
        [
            "# Terms of deep learning",
            (
                "Look up the terms that lessons and tutorials use. Terms that have a specific meaning in Gradwire are "
                "in the [glossary](glossary.md)."
            ),
            fence("sh", "gradwire lesson show tensors-and-shapes    # the terms of a lesson"),
            table(("Term", "Meaning"), rows),
        ]
    )


__all__ = ["pages"]
