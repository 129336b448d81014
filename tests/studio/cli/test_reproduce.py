"""The command `reproduce`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studio.document import edits
from studio.document.files import project_files
from studio.document.model import Node
from tests.studio.training.stepping.test_recording import network


def _project(path: Path) -> Path:
    document = network(("hidden", Node("nn.Linear", {"out_features": 6})), ("root", Node("ops.sqrt")))
    project_files.save(edits.set_training(document, steps=3, device="cpu"), path)
    return path


def test_a_failure_is_written_as_script_and_project(gradwire: Callable[..., Any], tmp_path: Path) -> None:
    file = _project(tmp_path / "p.gradwire")
    result = gradwire("reproduce", str(file))
    assert result.code == 0, result.err
    assert "root computes NaN. Left: 1 of 5 nodes, 1 of 8 samples and 1 of 1 steps" in result.out
    assert (tmp_path / "p.reproduction" / "reproduction.py").exists()
    assert gradwire("check", str(tmp_path / "p.reproduction" / "reproduction.gradwire")).code == 0


def test_records_name_the_node_and_the_files(gradwire: Callable[..., Any], tmp_path: Path) -> None:
    file = _project(tmp_path / "p.gradwire")
    result = gradwire("reproduce", str(file), "-o", str(tmp_path / "out"), "--json")
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [each["event"] for each in records] == ["found", "tried", "tried", "reproduced"]
    assert records[-1]["node"] == "root" and records[-1]["project"] == str(tmp_path / "out" / "reproduction.gradwire")


def test_a_project_without_a_failure_gives_exit_code_1(gradwire: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "p.gradwire"
    project_files.save(network(("relu", Node("nn.ReLU"))), file)
    result = gradwire("reproduce", str(file), "--steps", "2")
    assert result.code == 1 and "No training step fails within 2 steps" in result.err


def test_values_of_a_run_cannot_be_changed(gradwire: Callable[..., Any], tmp_path: Path) -> None:
    file = _project(tmp_path / "p.gradwire")
    assert gradwire("run", str(file), "-q", "--out", str(tmp_path / "p.runs" / "1")).code == 0
    result = gradwire("reproduce", str(tmp_path / "p.runs" / "1"), "--set", "sgd.lr=1")
    assert result.code == 2 and "--set cannot be combined with a run" in result.err
    done = gradwire("reproduce", str(tmp_path / "p.runs" / "1"))
    assert done.code == 0, done.err
    assert (tmp_path / "p.runs" / "1" / "reproduction" / "reproduction.py").exists()


def test_a_missing_project_gives_exit_code_2(gradwire: Callable[..., Any], tmp_path: Path) -> None:
    result = gradwire("reproduce", str(tmp_path / "gone.gradwire"))
    assert result.code == 2 and "gone.gradwire" in result.err
