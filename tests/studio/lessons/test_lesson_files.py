"""Lesson files: reading, writing, and errors of damaged ones."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from studio.document.document_errors import FileError
from studio.lessons.lesson import Lesson, student
from studio.lessons.lesson_files import load, save, shipped_lesson, shipped_lessons
from studio.lessons.lesson_format import dumps, loads
from studio.lessons.lesson_schema import lesson_schema

FIRST = "01-tensors-and-shapes"


def test_shipped_lessons_keep_their_text_when_they_are_saved(tmp_path: Path) -> None:
    lessons = shipped_lessons()
    assert FIRST in [lesson.key for lesson in lessons]
    for lesson in lessons:
        path = tmp_path / f"{lesson.key}.gradlesson"
        save(lesson, path)
        assert load(path) == lesson
        assert path.read_text(encoding="utf-8") == dumps(lesson)


def test_a_students_lesson_has_no_solution_but_its_conditions() -> None:
    lesson = shipped_lesson("tensors-and-shapes")
    without = student(lesson)
    assert '"solution"' not in dumps(without)
    assert [step.conditions for step in without.all_steps] == [step.conditions for step in lesson.all_steps]
    assert without.document == lesson.document


def _damaged(**changes: Any) -> str:
    content = json.loads(dumps(shipped_lesson(FIRST)))
    for path, value in changes.items():
        *outer, last = path.split("__")
        target = content
        for name in outer:
            target = target[int(name) if name.isdecimal() else name]
        if value is None:
            del target[last]
        else:
            target[last] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"gradlesson": 2}, "was written by a newer Gradwire"),
        ({"gradlesson": None}, "is not a Gradwire lesson"),
        ({"project": None}, 'has no field "project"'),
        ({"project__nodes__table__type": 3}, "project.nodes.table"),
        ({"colour": "red"}, "colour"),
        ({"steps__1__id": "table"}, 'steps[1].id: "table" occurs twice'),
        (
            {"steps__0__conditions": [{"check": "telepathy"}]},
            "steps[0].conditions[0].check must be one of 'node', 'parameter', ",
        ),
        ({"steps__0__conditions": [{"check": "run", "resumd": True}]}, "Did you mean resumed?"),
        ({"steps__0__conditions": [{"check": "run", "x": 1}]}, "choose one of: goal, feedback, settings, params,"),
        (
            {"steps__0__conditions": [{"check": "value", "output": "a.b", "statistic": "max "}]},
            "must be one of 'value',",
        ),
        ({"steps__0__conditions": [{"check": "run", "least_graph_breaks": -1}]}, "≥ 0"),
        (
            {"steps__0__prediction": {"kind": "choice", "question": "?", "options": ["a", "b"], "right": 2}},
            "steps[0].prediction.right is 2, but there are 2 options",
        ),
        ({"steps__0__prediction": {"kind": "choise", "question": "?"}}, "must be one of 'choice', 'number', 'curve'"),
        ({"steps__0__conditions": [{"check": "selected"}]}, 'has no field "node"'),
        ({"steps__0__solution": [{"exec": "import os"}]}, "steps[0].solution[0] is not a known edit"),
        ({"steps__0__solution": [{"set": "table", "param": "size"}]}, 'has no field "value"'),
        ({"steps__0__text": 3}, "steps[0].text must be text"),
        ({"minutes": 0}, "minutes must be a whole number ≥ 1"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(FileError) as error:
        loads(_damaged(**changes), "lesson")
    assert expected in str(error.value).replace(":", "") or expected in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"gradlesson": true}', "[" * 1000])
def test_text_that_is_no_lesson_is_refused(text: str) -> None:
    with pytest.raises(FileError):
        loads(text, "lesson")


def test_an_unknown_lesson_is_answered_with_a_name() -> None:
    with pytest.raises(FileError, match="Did you mean"):
        shipped_lesson("tensors-and-shape")


def test_a_lesson_needs_no_task() -> None:
    lesson = shipped_lesson(FIRST)
    content = json.loads(dumps(lesson))
    del content["task"]
    read = loads(json.dumps(content))
    assert isinstance(read, Lesson) and read.all_steps == read.steps


def test_shipped_lessons_fit_the_json_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(lesson_schema())
    for lesson in shipped_lessons():
        validator.validate(json.loads(dumps(lesson)))
    assert not validator.is_valid(json.loads(_damaged(steps__0__conditions=[{"check": "telepathy"}])))


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_is_refused_or_read(seed: int) -> None:
    """No value anywhere in the file raises anything but FileError."""
    random = Random(seed)
    content: Any = json.loads(dumps(shipped_lesson(FIRST)))
    for _ in range(3):
        target: Any = content
        while isinstance(target, (dict, list)) and target:
            keys = list(target) if isinstance(target, dict) else list(range(len(target)))
            key = random.choice(keys)
            if not isinstance(target[key], (dict, list)) or not target[key] or random.random() < 0.2:
                target[key] = random.choice([None, -1, 1e300, "", "@x", [], {}, [[]], True, {"check": "run"}])
                break
            target = target[key]
    try:
        assert loads(json.dumps(content)).steps
    except FileError as error:
        assert str(error).endswith(".")
