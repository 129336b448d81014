from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest


@pytest.fixture
def trained(gradwire, project: Path) -> list[Path]:
    """The folders of two runs."""
    assert gradwire("run", project, "--epochs", 2, "-q").code == 0
    assert gradwire("run", project, "--epochs", 1, "--seed", 5, "--set", "hidden.out_features=16", "-q").code == 0
    runs = project.with_suffix(".runs").iterdir()
    return sorted(runs, key=lambda folder: json.loads((folder / "run.json").read_text())["number"])


def test_runs_are_listed(gradwire, project: Path, trained: list[Path]) -> None:
    listed = gradwire("runs", "list", project)
    assert listed.code == 0
    title, *rows = listed.out.splitlines()
    assert title.split() == ["number", "name", "state", "started", "epochs", "val_loss", "best", "folder"]
    assert [row.split()[-1] for row in rows] == [folder.name for folder in trained]
    assert "2/2" in rows[0] and "done" in rows[0]
    records = gradwire("runs", "list", project, "--json").lines
    assert [record["settings"]["seed"] for record in records] == [0, 5]
    assert records[0]["last"]["epoch"] == 2


def test_without_runs_that_is_said(gradwire, project: Path) -> None:
    assert "No runs in" in gradwire("runs", "list", project).out
    refused = gradwire("runs", "export", project)
    assert refused.code == 2 and "Train the project with `gradwire run`" in refused.err


def test_a_run_is_shown_and_two_are_compared(gradwire, project: Path, trained: list[Path]) -> None:
    one = gradwire("runs", "show", project, "2").out
    assert "out_features: 16" in one and "seed: 5" in one and "numpy: " in one
    both = gradwire("runs", "show", project, "Run 1", trained[1]).out
    assert "seed: 0 | 5" in both and "numpy" not in both
    assert "out_features: " in both and " | 16" in both
    [found] = gradwire("runs", "show", project, "1", "2", "--json").lines
    assert found["settings"]["seed"] == [0, 5]


def test_an_unknown_run_is_refused(gradwire, project: Path, trained: list[Path]) -> None:
    refused = gradwire("runs", "show", project, "7")
    assert refused.code == 2
    assert "'7'" in refused.err and "1 (Run 1), 2 (Run 2)" in refused.err


def test_points_are_exported_with_all_their_digits(gradwire, project: Path, trained: list[Path]) -> None:
    rows = list(csv.DictReader(io.StringIO(gradwire("runs", "export", project, "2").out)))
    assert {row["run"] for row in rows} == {"Run 2"}
    lines = [json.loads(text) for text in (trained[1] / "metrics.jsonl").read_text().splitlines()]
    steps = [(line["step"], line["loss"]) for line in lines if line["event"] == "step"]
    exported = [
        (int(row["step"]), float(row["value"])) for row in rows if (row["quantity"], row["kind"]) == ("loss", "train")
    ]
    assert exported == steps
    validated = [float(row["value"]) for row in rows if (row["quantity"], row["kind"]) == ("loss", "validation")]
    assert validated == [line["val_loss"] for line in lines if line["event"] == "epoch"]
    out = project.parent / "all.csv"
    assert gradwire("runs", "export", project, "-o", out).code == 0
    assert {row["run"] for row in csv.DictReader(out.read_text().splitlines())} == {"Run 1", "Run 2"}


def test_a_file_that_cannot_be_written_is_refused(gradwire, project: Path, trained: list[Path]) -> None:
    refused = gradwire("runs", "export", project, "-o", project.parent / "nowhere" / "all.csv")
    assert refused.code == 2 and "cannot be written" in refused.err


def test_damaged_lines_are_reported(gradwire, project: Path, trained: list[Path]) -> None:
    with (trained[0] / "metrics.jsonl").open("a") as file:
        file.write("{\n")
    exported = gradwire("runs", "export", project, "1")
    assert exported.code == 0 and "1 line of metrics.jsonl" in exported.err


def test_tensorboard_needs_a_folder(gradwire, project: Path, trained: list[Path]) -> None:
    refused = gradwire("runs", "export", project, "--tensorboard")
    assert refused.code == 2 and "--out" in refused.err
