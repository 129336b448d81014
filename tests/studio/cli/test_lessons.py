"""The commands `lesson …`."""

from __future__ import annotations

import json
from pathlib import Path

from studio.document import edits
from studio.document.files import project_files
from studio.lessons.lesson_files import load, shipped_lesson, shipped_lessons

NAME = "tensors-and-shapes"


def test_list_and_show(gradwire) -> None:
    lessons = shipped_lessons()
    assert [line["key"] for line in gradwire("lesson", "list", "--json").lines] == [each.key for each in lessons]
    assert len(gradwire("lesson", "list").out.splitlines()) == len(lessons)
    [shown] = gradwire("lesson", "show", NAME, "--json").lines
    assert shown["terms"]["tensor"] and shown["pages"]["tensor"] == "reference/terms.md#tensor"
    assert "Your turn" in gradwire("lesson", "show", NAME).out
    unknown = gradwire("lesson", "show", "tensor-and-shapes")
    assert unknown.code == 2 and "Did you mean" in unknown.err


def test_check_finds_what_an_author_did_wrong(gradwire, tmp_path: Path) -> None:
    assert gradwire("lesson", "check", NAME).code == 0
    student = tmp_path / "student.gradlesson"
    assert gradwire("lesson", "student", NAME, student).code == 0
    assert all(not step.solution for step in load(student).all_steps)
    assert gradwire("lesson", "student", NAME, student).code == 2, "it exists"
    without = gradwire("lesson", "check", student)
    assert without.code == 2 and "no solution" in without.err
    content = json.loads((tmp_path / "student.gradlesson").read_text())
    content["terms"]["tensr"] = ""
    content["locked"] = ["nothing"]
    content["steps"][0] |= {"nodes": ["gone"], "solution": [{"select": "table"}], "hints": []}
    content["steps"][2]["solution"] = [{"predict": 1}, {"set": "total", "param": "dim", "value": [1]}]
    student.write_text(json.dumps(content))
    broken = gradwire("lesson", "check", student)
    assert broken.code == 1
    for expected in ('"tensr" is not in the glossary', 'locked node "nothing"', '"gone"', "no hints", "Set dim to 0"):
        assert expected in broken.err


def test_check_says_what_a_students_project_reaches(gradwire, tmp_path: Path) -> None:
    lesson = shipped_lesson(NAME)
    project = tmp_path / "student.gradwire"
    project_files.save(lesson.document, project)
    *steps, last = gradwire("lesson", "check", NAME, "--project", project, "--json").lines
    assert not last["done"] and not any(step["done"] for step in steps)
    assert "table" not in [step["step"] for step in steps], "nothing is selected in a file"
    document = edits.set_param(lesson.document, "total", "dim", [0])
    project_files.save(document, project)
    result = gradwire("lesson", "check", NAME, "--project", project)
    assert result.code == 1 and "Add along a dimension: done" in result.out
    assert gradwire("lesson", "check", NAME, "--project", tmp_path / "none.gradwire").code == 2


def test_the_schema_of_lessons_fits_the_shipped_ones(gradwire) -> None:
    schema = json.loads(gradwire("schema", "--lesson").out)
    assert {"gradlesson", "steps", "project"} <= set(schema["properties"])
    assert "Step" in schema["$defs"] and "NodeExists" in schema["$defs"]


def test_code_of_a_lesson_file_runs_only_if_it_is_trusted(gradwire, tmp_path: Path) -> None:
    path, project = tmp_path / "code.gradlesson", tmp_path / "student.gradwire"
    content = {
        "gradlesson": 1,
        "title": "Code",
        "goal": "write code",
        "minutes": 1,
        "steps": [
            {
                "id": "own",
                "title": "Add 3",
                "text": "Add 3.",
                "conditions": [{"check": "value", "output": "own.output", "equals": 5}],
                "hints": ["It does not add 3."],
                "solution": [{"set": "own", "param": "source", "value": "def own(x):\n    return x + 3"}],
            }
        ],
        "project": {
            "gradwire": 3,
            "nodes": {
                "number": {"type": "nn.ConstantTensor", "params": {"size": [1], "values": [2]}},
                "own": {"type": "studio.Python", "params": {"source": "def own(x):\n    return x - 3"}},
            },
            "wires": ["number.output -> own.x"],
        },
    }
    path.write_text(json.dumps(content))
    untrusted = gradwire("lesson", "check", path)
    assert untrusted.code == 3 and "own contains Python code" in untrusted.err and "--trust" in untrusted.err
    trusted = gradwire("lesson", "check", path, "--trust")
    assert trusted.code == 0 and "own: sound" in trusted.out
    lesson = load(path)
    solved = edits.set_param(lesson.document, "own", "source", "def own(x):\n    return 3 + x")
    project_files.save(solved, project)
    assert gradwire("lesson", "check", path, "--project", project).code == 3
    assert gradwire("lesson", "check", path, "--project", project, "--trust").code == 0
