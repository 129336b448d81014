"""The check of samples on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from studio.document.files import project_files
from tests.studio.training.test_data_inspector import with_missing_values


def test_check_looks_at_samples_on_request(gradwire: Callable[..., Any], tmp_path: Path) -> None:
    project_files.save(with_missing_values(tmp_path), tmp_path / "a.gradwire")
    *_, plain = gradwire("check", tmp_path / "a.gradwire", "--json").lines
    assert plain["warnings"] == 0 and "data" not in plain
    problem, ended = gradwire("check", tmp_path / "a.gradwire", "--data", "--json").lines
    assert (problem["code"], problem["node"], problem["evidence"]["missing"]) == ("missing", "arrays", 3)
    assert problem["edits"][0]["insert"] == "transforms.FillMissing"
    assert (ended["warnings"], ended["data"][0]["looked_at"]) == (1, 160)
    shown = gradwire("check", tmp_path / "a.gradwire", "--data")
    assert "looked at 160 of 160 training samples at batches" in shown.out and "1 warning" in shown.out
    [described] = gradwire("data", tmp_path / "a.gradwire", "--json").lines
    assert [each["code"] for each in described["problems"]] == ["missing"]


def test_a_run_begins_with_problems_of_samples(gradwire: Callable[..., Any], tmp_path: Path) -> None:
    project_files.save(with_missing_values(tmp_path), tmp_path / "a.gradwire")
    lines = gradwire("run", tmp_path / "a.gradwire", "--epochs", 1, "--json").lines
    [warned] = [line for line in lines if line.get("code") == "missing"]
    assert (warned["event"], warned["node"], warned["fix"]) == ("warning", "arrays", "Insert Fill missing")
    assert "missing (NaN)" in gradwire("run", tmp_path / "a.gradwire", "--epochs", 1).err
