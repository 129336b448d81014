from __future__ import annotations

import json
from pathlib import Path


def test_explain(gradwire, project: Path) -> None:
    result = gradwire("explain", project)
    assert (result.code, result.err) == (0, "")
    first, *lines = result.out.splitlines()
    assert first == "training step: compiled, 1 segment, no graph breaks"
    rows = [line.split("  ") for line in lines]
    assert any(row[:2] == ["", "hidden"] for row in rows)
    assert any(row[:2] == ["", "backward of hidden"] for row in rows)
    assert any("adam" in row for row in rows)
    assert "gradwire" not in result.out, "lines of the program are named by their nodes"


def test_explain_for_programs(gradwire, project: Path) -> None:
    [line] = gradwire("explain", project, "--json").lines
    assert (line["event"], line["breaks"], line["recompiles"]) == ("explained", [], [])
    [segment] = line["segments"]
    nodes = {operation["line"]["node"] for operation in segment["operations"]}
    assert {"hidden", "logits", "cross_entropy", "adam"} <= nodes
    assert segment["kernels"]
    assert line["compiled_seconds"] > 0


def test_explain_says_what_is_wrong(gradwire, project: Path) -> None:
    assert gradwire("explain", project.with_name("missing.gradwire")).code == 2
    content = json.loads(project.read_text())
    content["nodes"]["hidden"]["params"] = {"out_features": 0}
    project.write_text(json.dumps(content))
    result = gradwire("explain", project, "--json")
    assert result.code == 2
    assert {line["event"] for line in result.lines} == {"failed"}


def test_a_failed_step_is_reported_with_its_node(gradwire, project: Path) -> None:
    result = gradwire("explain", project, "--set", "adam.lr=1e30", "--set", "dropout.p=0.5")
    assert result.code == 0, "numbers that are not finite are no failure"
