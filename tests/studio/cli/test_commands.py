from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.document.files.project_files import load
from studio.document.files.project_format import schema
from studio.document.files.project_templates import templates
from studio.nodes.catalogue import catalogue


def test_check(gradwire, project: Path) -> None:
    result = gradwire("check", project)
    assert (result.code, result.err) == (0, "")
    assert "no errors, no warnings, 19,210 parameters" in result.out
    [line] = gradwire("check", project, "--json").lines
    assert (line["event"], line["errors"], line["parameters"]) == ("checked", 0, 19210)
    assert line["wires"]["flatten.output -> hidden.input"] == "N×64 float32"


def test_check_names_what_is_wrong(gradwire, project: Path) -> None:
    content = json.loads(project.read_text())
    content["nodes"]["hidden"]["params"] = {"out_features": 0}
    content["nodes"]["dropout"]["params"] = {"p": 2}
    project.write_text(json.dumps(content))
    result = gradwire("check", project)
    assert result.code == 2
    assert f"error: {project}: " in result.err
    assert result.err.count("error: ") == 2
    *problems, last = gradwire("check", project, "--json").lines
    assert {problem["node"] for problem in problems} == {"hidden", "dropout"}
    assert all(problem["event"] == "problem" and problem["severity"] == "error" for problem in problems)
    assert last["errors"] == 2
    run = gradwire("run", project, "--json")
    assert run.code == 2
    assert {line["event"] for line in run.lines} == {"failed"}


def test_check_tells_equal_problems_once_to_people_and_each_to_programs(gradwire, project: Path) -> None:
    content = json.loads(project.read_text())
    for name in ("one", "two", "three", "four"):
        content["nodes"][name] = {"type": "nn.ReLU"}
    project.write_text(json.dumps(content))
    result = gradwire("check", project)
    assert (result.code, result.err.count("warning: ")) == (0, 1)
    assert "This also applies to two, three, four." in result.err
    assert "1 warning" in result.out
    *problems, last = gradwire("check", project, "--json").lines
    assert [problem["node"] for problem in problems] == ["one", "two", "three", "four"]
    assert last["warnings"] == 4


BAD = {
    "missing.gradwire": None,
    "empty.gradwire": b"",
    "truncated.gradwire": b'{"gradwire": 2, "nodes": {"a": {"type": "nn.Rel',
    "foreign.gradwire": b"\x89PNG\r\n\x1a\n",
    "other.gradwire": b'{"hello": 1}',
    "newer.gradwire": b'{"gradwire": 999}',
    "unknown.gradwire": b'{"gradwire": 2, "nodes": {"a": {"type": "nn.ReLU", "colour": 1}}}',
    "typeless.gradwire": b'{"gradwire": 2, "nodes": {"a": {}}}',
    "nan.gradwire": b'{"gradwire": 2, "nodes": {"a": {"type": "nn.ReLU", "at": [NaN, 0]}}}',
    "huge.gradwire": b'{"gradwire": 2, "nodes": {"a": {"type": "nn.Dropout", "params": {"p": 1e999}}}}',
    "deep.gradwire": b'{"gradwire": 2, "nodes": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "twice.gradwire": b'{"gradwire": 2, "nodes": {"a": {"type": "nn.ReLU"}, "a": {"type": "nn.ReLU"}}}',
    "cycle.gradwire": b'{"gradwire": 2, "nodes": {"a": {"type": "nn.ReLU"}}, "wires": ["a.output -> a.input"]}',
    "nowhere.gradwire": b'{"gradwire": 2, "nodes": {"a": {"type": "nn.ReLU"}}, "wires": ["b.output -> a.input"]}',
    "nothing.gradwire": b'{"gradwire": 2, "nodes": {}}',
}


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize("name", BAD)
def test_bad_files(gradwire, tmp_path: Path, command: str, name: str) -> None:
    path = tmp_path / name
    content = BAD[name]
    if content is not None:
        path.write_bytes(content)
    result = gradwire(command, path, "--json")
    assert result.code == 2
    assert "Traceback" not in result.err + result.out
    assert any(line["event"] in ("failed", "problem") and line["message"] for line in result.lines)
    plain = gradwire(command, path)
    assert plain.code == 2
    assert all(text.startswith("error: ") and str(path) in text for text in plain.err.splitlines() if text)
    assert {each.name for each in tmp_path.iterdir()} <= {name}, "nothing is left behind"


def test_nodes(gradwire) -> None:
    lines = {line["key"]: line for line in gradwire("nodes", "--json").lines}
    assert set(lines) == {node_type.key for node_type in catalogue()}
    linear = lines["nn.Linear"]
    assert [port["type"] for port in linear["inputs"] + linear["outputs"]] == ["tensor", "tensor"]
    params = {param["name"]: param for param in linear["params"]}
    assert params["in_features"]["inferred"]
    assert params["out_features"]["minimum"] == 1
    assert params["bias"]["default"] is True
    assert all(param["help"] for line in lines.values() for param in line["params"])
    assert all(line["summary"] for line in lines.values())
    text = gradwire("nodes").out
    assert all(key in text for key in lines)


def test_schema(gradwire) -> None:
    assert json.loads(gradwire("schema").out) == schema()


def test_templates(gradwire) -> None:
    keys = [each.key for each in templates()]
    assert [line["key"] for line in gradwire("templates", "--json").lines] == keys
    assert [line.split()[0] for line in gradwire("templates").out.splitlines()] == keys


def test_new(gradwire, tmp_path: Path) -> None:
    path = tmp_path / "mine.gradwire"
    assert gradwire("new", "digits-mlp", "-o", path).code == 0
    assert "digits" in load(path).nodes
    path.write_text("mine")
    result = gradwire("new", "digits-mlp", "-o", path)
    assert (result.code, path.read_text()) == (2, "mine")
    assert "--force" in result.err
    assert gradwire("new", "digits-mlp", "-o", path, "--force").code == 0
    assert gradwire("check", path).code == 0
    unknown = gradwire("new", "ghost", "-o", tmp_path / "x.gradwire")
    assert unknown.code == 2
    assert "Choose one of: digits-mlp" in unknown.err
    assert "Did you mean digits-cnn?" in gradwire("new", "digits-cn", "-o", tmp_path / "x.gradwire").err
    assert "project files end in .gradwire" in gradwire("new", "digits-mlp", "-o", tmp_path / "x.json").err
    assert sorted(path.name for path in tmp_path.glob("x.*")) == []
    nowhere = gradwire("new", "digits-mlp", "-o", tmp_path / "no" / "x.gradwire")
    assert (nowhere.code, nowhere.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    "arguments",
    [["bogus"], ["run"], ["run", "x", "--bogus"], ["run", "x", "--epochs", "-1"], ["run", "x", "--seed", "a"]],
)
def test_wrong_usage(gradwire, arguments: list[str]) -> None:
    result = gradwire(*arguments)
    assert result.code == 2
    assert "Traceback" not in result.err
    assert result.err.startswith("error: ") and "Usage: gradwire" in result.err
    assert result.out == ""
    [record] = gradwire(*arguments, "--json").lines
    assert (record["event"], record["code"]) == ("failed", "bad-usage")
    assert result.err.startswith(f"error: {record['message']}\n")


def test_a_wrong_device(gradwire, project: Path) -> None:
    result = gradwire("run", project, "--device", "tpu")
    assert (result.code, result.err) == (2, "error: --device must be auto, cpu or cuda, not 'tpu'.\n")


def test_help_and_version(gradwire) -> None:
    assert "Train a project" in gradwire("run", "--help").out
    assert gradwire("--version").out.startswith("gradwire ")


def test_help_names_arguments_without_braces_types_and_ranges(gradwire) -> None:
    lines = gradwire("runs", "show", "--help").out.splitlines()
    assert lines[0] == "Usage: gradwire runs show [OPTIONS] FILE RUN [OTHER]"
    shown = gradwire("find-rate", "--help").out
    assert "--steps N" in shown and "Maximum number of batches. Default: 100." in shown
    assert "x>=" not in shown and "<" not in shown


def test_wrong_option_values_name_the_option(gradwire) -> None:
    for arguments, message in {
        ("run", "a", "--epochs", "x"): "--epochs must be a whole number, not 'x'.",
        ("find-rate", "a", "--steps", 1): "--steps must be at least 2, not 1.",
        ("predict", "a", "b", "-w", 1, "--unseen", "bad"): "--unseen must be zeros or refuse, not 'bad'.",
    }.items():
        result = gradwire(*arguments)
        assert (result.code, result.err.splitlines()[0]) == (2, f"error: {message}")
