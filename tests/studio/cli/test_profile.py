from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.cli.command_line import COMMANDS


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWIRE_STATE", str(tmp_path / "state"))


def test_profile(gradwire, project: Path, tmp_path: Path) -> None:
    trace, table = tmp_path / "steps.json", tmp_path / "kernels.csv"
    result = gradwire("profile", project, "--steps", "3", "--trace", trace, "--csv", table)
    assert (result.code, result.err) == (0, "")
    first, second, *_ = result.out.splitlines()
    assert first.startswith("digits: compiled steps on cpu, batches of ")
    assert second.strip().startswith("3 measured, ")
    for title in ("Phases", "Nodes", "Kernels", "Memory: ", "Limits of this machine"):
        assert f"\n\n{title}" in result.out
    names = {row.split("  ")[1] for row in result.out.splitlines() if row.startswith("  ")}
    assert {"Loader", "Forward", "Backward", "Optimizer", "Other", "hidden", "adam"} <= names
    events = json.loads(trace.read_text())["traceEvents"]
    assert sum(event.get("cat") == "step" for event in events) == 3
    assert table.read_text().startswith("kernel,kind,phases,nodes,seconds")
    assert not list(tmp_path.glob("*.runs")), "no run is recorded"


def test_profile_for_programs(gradwire, project: Path) -> None:
    [line] = gradwire("profile", project, "--json", "--steps", "2", "--eager").lines
    assert (line["event"], line["mode"], line["steps"]) == ("profiled", "eager", 2)
    assert sum(line["phases"].values()) == pytest.approx(line["seconds"])
    assert {row["kind"] for row in line["kernels"]} == {"op"}


def test_profile_says_what_is_wrong(gradwire, project: Path, tmp_path: Path) -> None:
    assert gradwire("profile", project.with_name("missing.gradwire")).code == 2
    assert gradwire("profile", project, "--steps", "0").code == 2
    assert gradwire("profile", project, "--set", "hidden.out_features=0").code == 2
    result = gradwire("profile", project, "--steps", "1", "--trace", tmp_path / "missing" / "steps.json")
    assert result.code == 2
    assert "missing" in result.err


def test_the_command_is_listed() -> None:
    assert "profile" in COMMANDS
