from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.io import load_file
from studio.lowering.problems.problem import Problem
from studio.training.runs import run_record
from studio.training.training_session import TrainingSession

ROOT = Path(__file__).parents[3]


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "main.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_the_digits_example_learns(project: Path) -> None:
    process = start("run", project, "--json")
    out, err = process.communicate(timeout=1000)
    lines = [json.loads(text) for text in out.splitlines()]
    assert (process.returncode, err) == (0, "")
    assert [line["event"] for line in lines] == ["started", *["epoch"] * (len(lines) - 2), "done"]
    done = lines[-1]
    assert done["val_accuracy"] >= 0.97
    assert done["reason"] == "epochs"
    folder = Path(done["folder"])
    assert folder.parent == project.with_suffix(".runs")
    assert load_file(folder / "weights.safetensors")
    for line in lines[1:-1]:
        assert {"epoch", "train_loss", "val_loss", "train_accuracy", "val_accuracy", "samples_per_second"} <= set(line)


def test_the_same_seed_gives_the_same_lines(gradwire, project: Path, tmp_path: Path) -> None:
    def figures(name: str, seed: int) -> list[tuple[object, ...]]:
        result = gradwire("run", project, "--json", "--epochs", 2, "--seed", seed, "--out", tmp_path / name)
        assert result.code == 0
        return [(line.get("train_loss"), line.get("val_loss"), line.get("val_accuracy")) for line in result.lines]

    first = figures("a", 1)
    assert figures("b", 1) == first
    assert figures("c", 2) != first


def test_steps_alone_end_the_run(gradwire, project: Path) -> None:
    result = gradwire("run", project, "--steps", 3, "--json")
    assert [line["event"] for line in result.lines] == ["started", "epoch", "done"]
    assert result.lines[-1]["steps"] == 3
    assert result.lines[-1]["reason"] == "steps"


def test_people_read_lines_on_standard_error(gradwire, project: Path, tmp_path: Path) -> None:
    result = gradwire("run", project, "--epochs", 1, "--out", tmp_path / "out")
    assert result.code == 0
    assert result.out == ""
    assert "epoch 1/1  train loss" in result.err
    assert f"Training finished. Results are in {tmp_path / 'out'}" in result.err
    assert gradwire("run", project, "--epochs", 1, "--quiet") == (0, "", "")


def test_values_set_for_one_run(gradwire, project: Path) -> None:
    before = project.read_bytes()
    result = gradwire(
        "run", project, "--json", "--epochs", 1, "--set", "hidden.out_features=7", "--set", "adam.lr=0.01"
    )
    assert result.lines[0]["parameters"] == 64 * 7 + 7 + 7 * 10 + 10
    assert result.lines[1]["learning_rate"] == 0.01
    assert project.read_bytes() == before


def test_weights_to_begin_with_that_are_not_there_leave_no_run(gradwire, project: Path) -> None:
    result = gradwire("run", project, "--start-from", "nowhere")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert not project.with_suffix(".runs").exists()


def test_a_run_that_fails(gradwire, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: TrainingSession) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(TrainingSession, "_prepare", broken)
    result = gradwire("run", project, "--json")
    assert result.code == 1
    problem = Problem("error", "run-failed", "RuntimeError: boom")
    assert result.lines == [{"event": "failed", **problem.as_dict()}]
    assert result.err == "error: RuntimeError: boom\n"
    assert "Traceback" not in gradwire("run", project).err


@pytest.mark.parametrize("options", [["--json"], []])
def test_an_output_folder_that_cannot_be_written(gradwire, project: Path, options: list[str]) -> None:
    result = gradwire("run", project, "--out", project / "inside", *options)
    assert result.code == 2
    assert str(project / "inside") in result.err
    assert result.err.count("\n") == 1
    if options:
        assert [line["event"] for line in result.lines] == ["failed"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.usefixtures("interruptible")
def test_signals_end_the_run_and_keep_the_weights(project: Path, number: int, code: int) -> None:
    process = start("run", project, "--json", "--epochs", 100_000, "--out", project.parent / "out")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "started"
    assert json.loads(process.stdout.readline())["event"] == "epoch"
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=1000)
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in err
    done = json.loads(out.splitlines()[-1])
    assert (done["event"], done["reason"]) == ("done", "stopped")
    assert load_file(project.parent / "out" / "weights.safetensors")
    assert json.loads((project.parent / "out" / "run.json").read_text())["state"] == "stopped"
    checkpoints = sorted((project.parent / "out" / "checkpoints").iterdir())  # more than one where that took long
    assert checkpoints[-1].name == f"step-{done['steps']:09d}.safetensors"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.usefixtures("interruptible")
def test_a_second_interrupt_ends_the_process_at_once(gradwire, project: Path) -> None:
    endless = ("--epochs", 100_000, "--set", "batches.batch_size=1", "--set", "hidden.out_features=2000")
    process = start("run", project, *endless, "--out", project.parent / "out")
    assert process.stderr is not None
    assert "parameters" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert "Stopping after the current batch" in process.stderr.readline()
    for _ in range(3):
        process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=100)
    finally:
        process.kill()
    assert (process.returncode, "Traceback" in err) == (130, False)
    assert gradwire("runs", "list", project).code == 0


def test_mnist_in_bounded_memory(tmp_path: Path) -> None:
    """A folder of IDX files larger than the memory that the run may take."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    count = 300_000  # 235 MB of images
    for part, number in (("train", count), ("t10k", 100)):
        for kind, shape in (("images-idx3", (number, 28, 28)), ("labels-idx1", (number,))):
            with (folder / f"{part}-{kind}-ubyte").open("wb") as file:
                file.write(bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes())
                file.truncate(4 + 4 * len(shape) + int(np.prod(shape)))
    code = (
        "import pathlib, re, sys, main\n"
        "code = main.main(sys.argv[1:])\n"
        # Not getrusage: its peak begins with that of the process which started this one.
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', pathlib.Path('/proc/self/status').read_text())\n"
        "print(int(peak[1]) // 1024, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    example = ROOT / "examples" / "mnist_mlp.gradwire"
    options = ["--set", f"mnist.folder={folder}", "--steps", "30", "--json", "--out", str(tmp_path / "out")]
    if not sys.platform.startswith("linux"):
        pytest.skip("the peak of the memory is read from Linux's /proc")
    result = subprocess.run(
        [sys.executable, "-c", code, "run", str(example), *options],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1000,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    events = [json.loads(line) for line in result.stdout.splitlines()]
    started = next(event for event in events if event["event"] == "started")
    assert (started["train_samples"], started["parameters"]) == (count, 784 * 256 + 256 + 256 * 128 + 128 + 1290)
    assert int(result.stderr.split()[-1]) < 500, "megabytes; numba alone uses a hundred"


def test_mnist_is_given_on_the_command_line(gradwire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    (tmp_path / "here").mkdir()
    for part, number in (("train", 200), ("t10k", 50)):
        images = random.integers(0, 256, (number, 28, 28), dtype=np.uint8)
        labels = random.integers(0, 10, number, dtype=np.uint8)
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
            (tmp_path / "here" / f"{part}-{kind}-ubyte").write_bytes(header + array.tobytes())
    monkeypatch.chdir(tmp_path)
    example = ROOT / "examples" / "mnist_mlp.gradwire"
    result = gradwire("run", example, "--set", "mnist.folder=here", "--epochs", 1, "--json", "--out", "out")
    assert result.code == 0, result.err
    [started] = [line for line in result.lines if line["event"] == "started"]
    assert started["validation_samples"] == 50
    missing = gradwire("run", example, "--json", "--out", "out2")
    assert missing.code == 2
    assert "--set mnist.folder=PATH" in missing.err
    elsewhere = gradwire("run", example, "--set", "mnist.folder=nowhere", "--out", "out2")
    assert elsewhere.code == 2
    assert str(tmp_path / "nowhere") in elsewhere.err


def test_weights_that_could_not_be_written_are_no_success(
    gradwire, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_record, "save_file", full)
    monkeypatch.setattr("studio.training.runs.run_recorder._RETRY_SECONDS", 0.0)
    result = gradwire("run", project, "--epochs", 1, "--out", project.parent / "out")
    assert result.code == 1
    assert "weights.safetensors cannot be written" in result.err
    told = "Training finished. Cannot write best.safetensors, weights.safetensors, checkpoints. Other results are in "
    assert result.err.splitlines()[-1].startswith(told)
