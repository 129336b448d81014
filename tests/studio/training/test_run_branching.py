"""New runs that start at an older checkpoint of a run, which stays as it is."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from engine.io import load_file
from studio.document.document_errors import FileError
from studio.training.runs import run_checkpoints as checkpoints_module
from studio.training.runs.run_branching import branch_run
from studio.training.runs.run_checkpoints import list_checkpoints
from studio.training.statistics.run_statistics import RunStatistics
from studio.training.statistics.statistics_file import StatisticsFile
from studio.training.statistics.step_statistics import StatisticsLayout
from tests.studio.training.test_run_resuming import finished, lines, resume, with_checkpoints


@pytest.fixture
def run(session, digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run of 36 steps with a checkpoint every 7 steps."""
    monkeypatch.setattr(checkpoints_module, "_FIRST_SECONDS", 1e6)
    document = with_checkpoints(digits(epochs=3), 7)
    document = replace(document, training=replace(document.training, checkpoints=10))
    folder = tmp_path / "runs" / "first"
    finished(session(document, out=folder, seed=3))
    (folder / "statistics.bin").unlink(missing_ok=True)
    file = StatisticsFile(folder, StatisticsLayout({"hidden.output": ("norm",)}, {}))
    for step in range(5, 40, 5):
        file.append(step, np.full(1, step, np.float32), has_gradients=False)
    file.write()
    return folder


def fingerprints(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*.*")}


def test_a_new_run_continues_from_the_checkpoint_and_the_old_one_stays(session, run: Path) -> None:
    before = fingerprints(run)
    folder = branch_run(run, 14)
    assert fingerprints(run) == before
    assert folder.parent == run.parent and [step for step, _ in list_checkpoints(folder)] == [14]
    assert lines(folder) == [line for line in lines(run) if line.get("step", 0) <= 14][: len(lines(folder))]
    assert RunStatistics(folder).steps().tolist() == [5, 10]
    about = json.loads((folder / "run.json").read_text())
    assert (about["number"], about["state"], about["branched"]) == (2, "stopped", {"from": "Run 1", "step": 14})
    resume(session, folder)
    assert lines(folder) == lines(run)
    mine, others = (load_file(each / "weights.safetensors") for each in (folder, run))
    assert all(np.array_equal(mine[name].numpy(), others[name].numpy()) for name in others)
    assert fingerprints(run) == before


def test_a_step_without_a_checkpoint(run: Path) -> None:
    with pytest.raises(FileError, match=r"has no checkpoint at step 8. Choose one of the steps 7, 14, 21, 28, 35, 36"):
        branch_run(run, 8)
    assert [path.name for path in run.parent.iterdir() if path.is_dir()] == ["first"]


def test_a_damaged_checkpoint_makes_no_run(run: Path) -> None:
    [path] = [path for step, path in list_checkpoints(run) if step == 14]
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FileError):
        branch_run(run, 14)
    assert [each.name for each in run.parent.iterdir() if each.is_dir()] == ["first"]
