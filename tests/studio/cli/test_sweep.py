"""Sweeps, by the real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from studio.cli.error_output import InputError
from studio.cli.sweep.search_space import Choices, Interval, all_combinations, parse_search_space, random_combinations
from studio.cli.sweep.trial_table import TrialRow, TrialTable
from studio.document.files.project_files import load
from studio.nodes.catalogue import catalogue

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "digits_mlp.gradwire"


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "main.py"), "sweep", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def swept(*arguments: object, code: int = 0) -> list[dict[str, Any]]:
    """The lines of a sweep that ends with this exit code."""
    process = start(*arguments, "--json")
    out, err = process.communicate(timeout=1000)
    assert process.returncode == code, err
    return [json.loads(text) for text in out.splitlines()]


def ends(lines: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The last that was said about each trial."""
    return {line["trial"]: line for line in lines if line["event"] == "trial"}


def folder(trials: dict[int, dict[str, Any]], number: int) -> Path:
    return Path(trials[number]["folder"])


# -- what is tried


def space(*texts: str) -> list[Choices | Interval]:
    return parse_search_space(load(EXAMPLE), catalogue(), texts)


def test_a_grid_has_all_combinations() -> None:
    found = all_combinations(space("adam.lr=0.01,0.1", "training.seed=1,2", "adam.betas=(0.9,0.99),(0.8,0.9)"))
    assert len(found) == 8
    assert found[0] == {"adam.lr": "0.01", "training.seed": "1", "adam.betas": "(0.9,0.99)"}
    assert found[-1] == {"adam.lr": "0.1", "training.seed": "2", "adam.betas": "(0.8,0.9)"}


def test_types_of_nodes_are_values_too() -> None:
    assert space("relu=nn.ReLU,nn.Tanh") == [Choices("relu", ("nn.ReLU", "nn.Tanh"))]


def test_numbers_are_drawn_from_ranges() -> None:
    asked = space("adam.lr=1e-4..1e-1:log", "hidden.out_features=8..16", "dropout.p=0.1..0.5", "relu=nn.ReLU,nn.GELU")
    found = random_combinations(asked, 200, seed=3)
    assert found == random_combinations(asked, 200, seed=3) != random_combinations(asked, 200, seed=4)
    assert found[:50] == random_combinations(asked, 50, seed=3)
    assert len({tuple(values.values()) for values in found}) == 200
    rates = [float(values["adam.lr"]) for values in found]
    assert min(rates) >= 1e-4 and max(rates) <= 1e-1
    assert 0.35 < sum(rate < 10**-2.5 for rate in rates) / 200 < 0.65
    assert {values["hidden.out_features"] for values in found} == {str(size) for size in range(8, 17)}
    assert {values["relu"] for values in found} == {"nn.ReLU", "nn.GELU"}


def test_what_is_drawn_at_one_place_does_not_depend_on_others() -> None:
    alone = [values["adam.lr"] for values in random_combinations(space("adam.lr=0..1"), 5, seed=0)]
    beside = [values["adam.lr"] for values in random_combinations(space("dropout.p=0..0.9", "adam.lr=0..1"), 5, seed=0)]
    assert alone == beside


def test_more_trials_than_combinations_are_all_of_them() -> None:
    asked = space("adam.lr=0.01,0.1", "relu=nn.ReLU,nn.GELU")
    assert random_combinations(asked, 9, seed=0) == all_combinations(asked)
    assert len(random_combinations(asked, 3, seed=0)) == 3
    assert len(random_combinations(space("hidden.out_features=8..9"), 9, seed=0)) == 2


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "a sweep needs at least one --param"),
        (["adam.lr"], "expected NODE.PARAM=VALUES"),
        (["adan.lr=1"], "no node 'adan'. Did you mean 'adam'?"),
        (["adam.lr=0.1,fast"], "lr must be a number, not 'fast'"),
        (["adam.lr=1..0.1"], "1 is not below 0.1"),
        (["adam.lr=0..1:log"], "must start above 0"),
        (["dropout.p=0..2"], "p must be"),
        (["relu=nn.ReLU,nn.Rulu"], "no node type 'nn.Rulu'. Did you mean"),
        (["relu=nn.CrossEntropyLoss"], "has no port 'output', but relu has a wire there"),
        (["training.epoch=1,2"], "Did you mean 'epochs'?"),
        (["training.device=0..1"], "training.device"),
        (["adam.lr=1,2", "adam.lr=3"], "is given twice"),
    ],
)
def test_what_cannot_be_tried(texts: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        space(*texts)
    assert said in str(caught.value)


def test_a_range_has_no_grid() -> None:
    with pytest.raises(InputError, match="--trials"):
        all_combinations(space("adam.lr=0..1"))


# -- sweeps


def test_trials_are_runs_and_do_not_depend_on_jobs(project: Path, tmp_path: Path) -> None:
    options = (project, "-p", "adam.lr=0.001,0.01", "-p", "flatten.start_dim=1,2", "--epochs", 1)
    one = swept(*options, "--jobs", 1, "--out", tmp_path / "one", code=1)
    three = swept(*options, "--jobs", 3, "--out", tmp_path / "three", code=1)
    assert (one[0]["event"], one[0]["trials"], one[0]["jobs"], three[0]["jobs"]) == ("sweep", 4, 1, 3)
    first, second = ends(one), ends(three)
    assert sorted(first) == [1, 2, 3, 4]
    for number, trial in first.items():
        assert (trial["values"], trial["figures"]) == (second[number]["values"], second[number]["figures"])
        failed = trial["values"]["flatten.start_dim"] == "2"
        assert trial["state"] == ("failed" if failed else "done")
        if failed:
            assert "cross_entropy" in trial["message"]
            continue
        about = json.loads((Path(trial["folder"]) / "run.json").read_text())
        assert (about["state"], about["name"]) == ("done", f"adam.lr={trial['values']['adam.lr']} flatten.start_dim=1")
        assert about["best"]["val_loss"] == trial["figures"]["val_loss"]
        trained = load(Path(trial["folder"]) / "graph.gradwire")
        assert trained.nodes["adam"].params["lr"] == float(trial["values"]["adam.lr"])
    last = one[-1]
    assert (last["event"], last["done"], last["failed"]) == ("done", 2, 2)
    assert last["best"]["figures"]["val_loss"] == min(first[n]["figures"]["val_loss"] for n in (1, 3))


def test_the_summary_is_one_line_however_narrow_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {1: TrialRow(1, {"adam.lr": "0.1"}, "stopped"), 2: TrialRow(2, {"adam.lr": "1"}, "failed")}
    TrialTable(rows, "val_loss", higher_is_better=False, quiet=True).print()
    assert capsys.readouterr().out.splitlines()[-1] == "0 of 2 done, 1 failed, 1 stopped; ordered by val_loss"


def test_people_read_a_table_with_the_best_first(project: Path) -> None:
    options = ("-p", "adam.lr=1e-6,0.01", "-p", "flatten.start_dim=1,2", "--epochs", 1)
    process = start(project, *options, "--set", "training.follow=val_accuracy")
    out, err = process.communicate(timeout=1000)
    assert process.returncode == 1
    head, *rows = [line.split() for line in out.splitlines()]
    assert head == ["trial", "adam.lr", "flatten.start_dim", "val_accuracy", "val_loss", "at", "epoch"]
    assert [row[0] for row in rows[:4]] == ["3", "1", "2", "4"]
    assert rows[0][1:3] == ["0.01", "1"]
    assert rows[-1][:4] == ["2", "of", "4", "done,"]
    assert "error: trial 2 failed: adam.lr=1e-6 flatten.start_dim=2: hidden: cross_entropy expects" in err
    assert "Traceback" not in err


def trials_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the trial processes of a running sweep. After its end they have another parent."""
    found: list[psutil.Process] = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):  # it may have ended meanwhile
            if "studio.cli.sweep.trial_worker" in " ".join(child.cmdline()):
                found.append(child)
    assert found
    return found


def assert_gone(found: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(found, timeout=600)
    assert not alive


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_all_trials_with_checkpoints_and_the_sweep_can_be_resumed(gradwire, project: Path) -> None:
    process = start(project, "-p", "training.seed=1,2,3", "--jobs", 2, "--epochs", 100_000, "--json")
    assert process.stdout is not None
    seen: set[int] = set()
    while seen < {1, 2}:
        line = json.loads(process.stdout.readline())
        if line["event"] == "epoch":
            seen.add(line["trial"])
    found = trials_of(process)
    assert len(found) == 2
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=1000)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert_gone(found)
    stopped = [json.loads(text) for text in out.splitlines()]
    assert (stopped[-1]["stopped"], stopped[-1]["waiting"]) == (2, 1)
    folders = [Path(trial["folder"]) for trial in ends(stopped).values()]
    assert all(list((one / "checkpoints").iterdir()) for one in folders)
    epochs = 2 + max(json.loads((one / "run.json").read_text())["last"]["epoch"] for one in folders)
    resumed = ends(swept(project, "--resume", "--epochs", epochs))
    assert [trial["state"] for trial in resumed.values()] == ["done"] * 3
    assert gradwire("run", project, "--seed", 1, "--epochs", epochs, "--out", project.parent / "whole").code == 0
    last = [
        json.loads((run / "run.json").read_text())["last"] for run in (project.parent / "whole", folder(resumed, 1))
    ]
    assert last[0] == last[1]
    again = gradwire("sweep", project, "--resume", "--json")
    assert (again.code, len(again.lines), again.lines[0]["left"], again.lines[1]["done"]) == (0, 2, 0, 3)


def test_a_sweep_that_is_done_goes_on_for_more_epochs(gradwire, project: Path) -> None:
    options = ("-p", "adam.lr=0.001,0.01", "--jobs", 2)
    swept(project, *options, "--epochs", 1)
    lines = swept(project, "--resume", "--epochs", 3)
    assert (lines[0]["trials"], lines[0]["left"]) == (2, 2)
    longer = ends(lines)
    out = project.parent / "whole"
    whole = ends(swept(project, *options, "--epochs", 3, "--out", out))
    for number in (1, 2):
        assert longer[number]["state"] == "done"
        assert longer[number]["figures"] == whole[number]["figures"]
        one, other = (json.loads((folder(trials, number) / "run.json").read_text()) for trials in (longer, whole))
        assert (one["last"], one["settings"]) == (other["last"], other["settings"])
    assert gradwire("sweep", project, "--resume", "--json").lines[0]["left"] == 0, "the plan has the new length"
    assert gradwire("sweep", project, "--resume", "--epochs", 3, "--json").lines[0]["left"] == 0
    plan = next(project.with_suffix(".runs").glob("*.sweep.json"))
    before = plan.read_bytes()
    refused = gradwire("sweep", project, "--resume", "--epochs", 2)
    assert refused.code == 2 and plan.read_bytes() == before
    assert "--epochs 2: trials of" in refused.err and "have already trained for 3 epochs" in refused.err


def test_a_sweep_over_lengths_has_no_length_option(gradwire, project: Path) -> None:
    swept(project, "-p", "training.epochs=1,2", "--jobs", 2)
    refused = gradwire("sweep", project, "--resume", "--epochs", 2)
    assert refused.code == 2
    assert "varies training.epochs" in refused.err and "gradwire run FILE --resume RUN" in refused.err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_sigterm_ends_all_trials(project: Path) -> None:
    process = start(project, "-p", "training.seed=1,2", "--jobs", 2, "--epochs", 100_000, "--json")
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["event"] != "epoch":
        pass
    found = trials_of(process)
    process.terminate()
    out, err = process.communicate(timeout=1000)
    assert process.returncode == 143, err
    assert json.loads(out.splitlines()[-1])["done"] == 0
    assert_gone(found)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_trials_end_when_the_sweep_is_killed(project: Path) -> None:
    process = start(project, "-p", "training.seed=1,2", "--jobs", 2, "--epochs", 100_000, "--json")
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["event"] != "epoch":
        pass
    found = trials_of(process)
    process.kill()
    process.communicate()
    assert_gone(found)
    states = [json.loads(path.read_text())["state"] for path in project.with_suffix(".runs").glob("*/run.json")]
    assert "stopped" in states


@pytest.mark.skipif(not hasattr(os, "kill"), reason="needs kill")
def test_a_trial_that_is_killed_has_failed_and_the_others_go_on(project: Path) -> None:
    process = start(project, "-p", "training.epochs=100000,2", "--jobs", 1, "--json")
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["event"] != "epoch":
        pass
    [child] = trials_of(process)
    child.kill()
    out, _ = process.communicate(timeout=1000)
    assert process.returncode == 1
    found = ends([json.loads(text) for text in out.splitlines()])
    assert (found[1]["state"], found[2]["state"]) == ("failed", "done")
    assert "SIGKILL" in found[1]["message"] or sys.platform == "win32"


def test_what_a_sweep_refuses(gradwire, project: Path, tmp_path: Path) -> None:
    for options, said in {
        (): "a sweep needs at least one --param",
        ("-p", "adam.lr=0..1"): "Set the number of random trials with --trials",
        ("-p", "adam.lr=1", "--device", "tpu"): "--device must be auto, cpu or cuda",
        ("--resume", "-p", "adam.lr=1"): "--resume can only be combined with",
        ("--resume", "--seed", "1"): "--resume can only be combined with",
        ("--resume",): "contains no sweep",
        ("--resume", "yesterday"): "is not a sweep",
    }.items():
        result = gradwire("sweep", project, *options)
        assert result.code == 2, options
        assert said in result.err, options
    runs = project.with_suffix(".runs")
    assert not runs.exists()
    runs.mkdir()
    (runs / "2026-01-01_00-00-00-1.sweep.json").write_text("{}")
    assert "is not a valid sweep file" in gradwire("sweep", project, "--resume").err
    assert gradwire("sweep", tmp_path / "nowhere.gradwire", "-p", "adam.lr=1").code == 2
