from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.io import load_file
from tests.studio.cli.test_run import start

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


def killed_and_resumed(project: Path, kills: int, *options: object) -> int:
    """Trains, killing the training at random moments; how often it was killed before it came to its end."""
    moments = random.Random(1)
    arguments = ["run", project, "--json", "--set", "training.checkpoint_steps=5", *options]
    for killed in range(kills):
        process = start(*arguments)
        assert process.stdout is not None
        process.stdout.readline()  # it has begun, or says why not
        try:
            process.wait(moments.random() ** 2)
        except subprocess.TimeoutExpired:
            process.kill()
        else:
            assert process.returncode == 0, process.communicate()
            return killed
        finally:
            process.communicate()
        arguments = ["run", project, "--json", "--resume"]
    process = start(*arguments)
    out, err = process.communicate(timeout=1000)
    assert process.returncode == 0, (out, err)
    return kills


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_moments_a_run_goes_on_to_the_same_numbers(gradwire, project: Path, kills: int) -> None:
    options = ("--epochs", 20 * kills, "--seed", 5)
    assert gradwire("run", project, "--out", project.parent / "whole", *options).code == 0
    killed = killed_and_resumed(project, kills, *options)
    assert killed > kills // 2, "the run is too short for so many"
    [folder] = project.with_suffix(".runs").iterdir()
    assert_same_run(folder, project.parent / "whole")


def test_resuming_from_the_command_line(gradwire, project: Path) -> None:
    runs = project.with_suffix(".runs")
    missing = gradwire("run", project, "--resume")
    assert missing.code == 2
    assert "holds no run" in missing.err
    assert gradwire("run", project, "--epochs", 1, "--set", "hidden.out_features=7").code == 0
    assert "holds no unfinished run" in gradwire("run", "--resume", project).err
    [folder] = runs.iterdir()
    result = gradwire("run", project, "--resume", folder.name, "--epochs", 2, "--json")
    assert result.code == 0
    assert "is another graph now" in result.err
    assert [line["event"] for line in result.lines] == ["started", "epoch", "done"]
    assert (result.lines[0]["epoch"], result.lines[1]["epoch"]) == (1, 2)
    assert "leave out --set" in gradwire("run", project, "--resume", folder, "--seed", 3).err
    other = gradwire("run", project, "--start-from", folder, "--epochs", 1)
    assert other.code == 0
    assert "warning: Of the weights in" in other.err
