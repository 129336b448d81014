from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.io import load_file

ROOT = Path(__file__).parents[3]
CALLS = 1_500_000
"""Those until a step is recorded and compiled, and of some dozen steps after that."""
KILLS = int(os.environ.get("RESUME_KILLS", "15"))
TIMES = ("seconds", "samples_per_second")


def lines(folder: Path) -> list[dict[str, Any]]:
    """Those of metrics.jsonl, without times."""
    found = (json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines())
    return [{name: value for name, value in line.items() if name not in TIMES} for line in found]


def assert_same_run(one: Path, other: Path) -> None:
    assert lines(one) == lines(other)
    for name in ("weights.safetensors", "best.safetensors"):
        mine, others = load_file(one / name), load_file(other / name)
        assert all(np.array_equal(mine[key].numpy(), others[key].numpy()) for key in mine)


CHILD = """
import os, signal, sys, threading
import main
from studio.training.training_session import TrainingSession

left, tell = int(sys.argv.pop(1)), TrainingSession._emit


def count(frame, event, argument):
    global left
    left -= 1
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)


def begin(self, event, **options):
    if sys.getprofile() is None:
        threading.setprofile(count)  # the thread that writes checkpoints
        sys.setprofile(count)  # this one, which trains
    tell(self, event, **options)


TrainingSession._emit = begin
sys.exit(main.main(sys.argv[1:]))
"""
"""Kills itself after N calls and returns of functions during training."""


def train(calls: int, *arguments: object) -> int:
    """Return the exit code of a training that kills itself after N calls."""
    command = [sys.executable, "-c", CHILD, str(calls), "run", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1000, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done
    return done.returncode


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_killed_at_random_moments_a_run_goes_on_to_the_same_numbers(gradwire, project: Path, kills: int) -> None:
    options = ("--epochs", 10 + 6 * kills, "--seed", 5, "--set", "training.checkpoint_steps=5")
    assert gradwire("run", project, "--out", project.parent / "whole", *options).code == 0
    moments = random.Random(kills)
    arguments: tuple[object, ...] = options
    for kill in range(kills):
        assert train(moments.randrange(1, CALLS), project, *arguments) == -signal.SIGKILL, (
            f"it ended after {kill} kills"
        )
        arguments = ("--resume",)
    assert gradwire("run", project, "--resume").code == 0
    [folder] = project.with_suffix(".runs").iterdir()
    assert_same_run(folder, project.parent / "whole")


def test_killed_in_its_first_seconds_a_run_goes_on_from_a_checkpoint(gradwire, project: Path) -> None:
    command = [sys.executable, "main.py", "run", str(project), "--epochs", "1000000", "--quiet"]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        patient_until(lambda: any(project.with_suffix(".runs").glob("*/checkpoints/*.safetensors")))
        [folder] = project.with_suffix(".runs").iterdir()
        length = (folder / "metrics.jsonl").stat().st_size
        patient_until(lambda: (folder / "metrics.jsonl").stat().st_size > length)
    finally:
        process.kill()
        process.wait()
    step = max(int(path.stem[5:]) for path in (folder / "checkpoints").iterdir())
    is_ahead = last_step(folder) > step  # otherwise the run was killed right after a checkpoint, and lost nothing
    result = gradwire("run", project, "--resume", "--steps", step + 3, "--json")
    assert result.code == 0
    started = next(line for line in result.lines if line.get("event") == "started")
    assert started["step"] == step > 0
    messages = [line["message"] for line in result.lines if line.get("code") == "resume"]
    assert len(messages) == is_ahead
    for message in messages:
        assert message.startswith("The run was interrupted in epoch ")
        assert message.endswith(f"Resuming from the last checkpoint, batch {step:,}. Results will be identical.")


def last_step(folder: Path) -> int:
    """The last step whose figures are in metrics.jsonl."""
    whole, _, _ = (folder / "metrics.jsonl").read_text().rpartition("\n")
    return max((each.get("step") or 0 for each in map(json.loads, whole.splitlines())), default=0)


def patient_until(happens: Callable[[], bool]) -> None:
    ends = time.monotonic() + 300
    while not happens():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_resuming_from_the_command_line(gradwire, project: Path) -> None:
    runs = project.with_suffix(".runs")
    missing = gradwire("run", project, "--resume")
    assert missing.code == 2
    assert "contains no run" in missing.err
    assert gradwire("run", project, "--epochs", 1, "--set", "hidden.out_features=7").code == 0
    assert "contains no unfinished run" in gradwire("run", "--resume", project).err
    [folder] = runs.iterdir()
    result = gradwire("run", project, "--resume", folder.name, "--epochs", 2, "--json")
    assert result.code == 0
    assert "Resuming with the run's graph and settings. " in result.err
    assert f"{project.name} differs: hidden.out_features is " in result.err
    assert result.err.count("not 7") == 1
    assert [line["event"] for line in result.lines] == ["warning", "started", "epoch", "done"]
    assert (result.lines[1]["epoch"], result.lines[2]["epoch"]) == (1, 2)
    assert "already trained for 2 epochs; the requested total is 2" in gradwire("run", project, "--resume", folder).err
    assert "--resume cannot be combined with --set" in gradwire("run", project, "--resume", folder, "--seed", 3).err
    other = gradwire("run", project, "--start-from", folder, "--epochs", 1)
    assert other.code == 0
    assert "warning: Weights in" in other.err


def test_a_run_is_found_by_number_and_by_name(gradwire, project: Path) -> None:
    assert gradwire("run", project, "--epochs", 1).code == 0
    [folder] = [path.parent for path in project.with_suffix(".runs").glob("*/run.json")]
    about = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**about, "name": "wide one"}))
    for name in ("1", "Run 1", "wide one", folder.name):
        judged = gradwire("evaluate", project, "--weights", name, "--json")
        assert judged.code == 0 and judged.lines[-1]["val_loss"] == about["last"]["val_loss"]
    assert gradwire("run", project, "--start-from", "wide one", "--epochs", 1).code == 0
    assert gradwire("run", project, "--resume", "1", "--epochs", 2).code == 0
    assert lines(folder)[-1]["epochs"] == 2
    refused = gradwire("run", project, "--resume", "9")
    assert refused.code == 2 and "9 is not a run. Choose the number, name or folder" in refused.err
