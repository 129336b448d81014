"""Paths that name something else than a regular file: one sentence, exit code 2, no waiting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.studio.cli.conftest import ROOT, Result

LONG = "a" * 300
_TABLE = {
    "nodes": {
        "table": {"type": "data.CSV", "params": {"path": "/dev/zero", "target": "y"}},
        "loader": {"type": "data.Batches"},
        "scores": {"type": "nn.Linear", "params": {"out_features": 2}},
        "loss": {"type": "nn.CrossEntropyLoss"},
        "adam": {"type": "optim.Adam"},
    },
    "wires": [
        "table.samples -> loader.samples",
        "loader.input -> scores.input",
        "scores.output -> loss.input",
        "loader.target -> loss.target",
        "loss.loss -> adam.loss",
    ],
}


def refused(result, *names: str) -> None:
    assert result.code == 2, result
    assert result.err.startswith("error: ") and result.err.count("\n") == 1, result.err
    for name in names:
        assert name in result.err


@pytest.mark.parametrize("name", ["/", ".", "", LONG, f"{LONG}.gradwire", "missing.gradwire", "a\udcff.gradwire"])
def test_projects_that_are_none(gradwire, name: str) -> None:
    for command in (["run", name], ["check", name], ["sweep", name, "--param", "a.b=1"]):
        refused(gradwire(*command))
    if Path(name).name:
        assert gradwire("runs", "list", name).code == 0
    else:
        refused(gradwire("runs", "list", name), "is a folder, not a project")
    refused(gradwire("runs", "show", name, "1"))


def test_names_that_are_too_long(gradwire, project: Path, tmp_path: Path) -> None:
    long = tmp_path / LONG
    refused(gradwire("new", "digits-mlp", "--out", f"{long}.gradwire"), "the name is too long")
    refused(gradwire("run", project, "--steps", 1, "--quiet", "--out", long), "the name is too long")
    refused(gradwire("run", project, "--start-from", long), "there is no run, checkpoint or weights file")
    refused(gradwire("run", project, "--resume", long), "is not a run")
    refused(gradwire("evaluate", project, "--weights", long), "is not a run, checkpoint or weights file")
    refused(gradwire("sweep", project, "--param", "adam.lr=0.1,0.2", "--out", long), "the name is too long")
    refused(gradwire("sweep", project, "--resume", long), "is not a sweep")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_pipes_and_devices(gradwire, project: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    table = tmp_path / "table.gradwire"
    table.write_text(json.dumps({"gradwire": 1, **_TABLE}))
    refused(gradwire("run", "/dev/zero"), "it is a device, not a file")
    refused(gradwire("run", table, "--steps", 1), "/dev/zero: cannot be read: it is a device, not a file")
    refused(gradwire("evaluate", project, "--weights", tmp_path / "pipe.npy"), "it is a pipe, not a file")
    command = [sys.executable, "main.py", "run", project, "--steps", "1", "--quiet", "--start-from", "/dev/zero"]
    ended = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=120, check=False)
    refused(Result(ended.returncode, ended.stdout, ended.stderr), "/dev/zero cannot be read: it is a device")
