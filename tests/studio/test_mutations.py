"""Damaged and hostile files and command lines: no traceback, no wrong exit code, and an end.

`FILE_MUTATIONS=100000 pytest -n0 tests/studio/test_mutations.py` tries more of each kind; `FILE_MUTATION_SEED` others.
A failure names the seed of its case, which `FILE_MUTATIONS=1 FILE_MUTATION_SEED=…` repeats alone.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
import typer
from PIL import Image

import engine
from engine import data, fit
from engine.data.images import image_decoding
from studio import cli
from studio.cli import command_line as app_module
from studio.cli import run_command
from studio.cli.error_reporting import report_errors
from studio.cli.runs_commands import _find_run, _load_runs, _run_record, _run_row
from studio.document.document_errors import FileError
from studio.document.files import project_files
from studio.document.model import Document, ImportedWeights, TrainingSettings
from studio.lowering import check
from studio.lowering.program import lower
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.runs import run_resuming
from studio.training.runs.run_comparison import compare_runs
from studio.training.runs.run_export import export_snapshot
from studio.training.runs.run_history import MetricsFollower
from studio.training.weights.weight_import import load_initial_weights
from tests.studio.mutations import (
    damaged_arguments,
    damaged_bytes,
    damaged_json,
    damaged_lines,
    damaged_safetensors,
)

COUNT = int(os.environ.get("FILE_MUTATIONS", "2000"))
SEED = int(os.environ.get("FILE_MUTATION_SEED", "0"))
CODES = (0, 1, 2, 130)

PROJECT = b"""{
  "gradwire": 3,
  "training": {"epochs": 1, "device": "cpu", "compile": false, "checkpoint_steps": 1},
  "nodes": {
    "moons": {"type": "data.Moons", "params": {"samples": 20}, "at": [0, 1]},
    "loader": {"type": "data.Batches", "params": {"batch_size": 8}},
    "hidden": {"type": "block.dense", "params": {"repeat": 2, "width": {"each": [3, 4]}}},
    "scores": {"type": "nn.Linear", "params": {"out_features": 2}},
    "loss": {"type": "nn.CrossEntropyLoss"},
    "accuracy": {"type": "metrics.Accuracy"},
    "adam": {"type": "optim.Adam", "params": {"betas": [0.9, 0.99]}},
    "decay": {"type": "lr_scheduler.StepLR", "params": {"step_size": 1}}
  },
  "wires": [
    "adam.optimizer -> decay.optimizer",
    "hidden.output -> scores.input",
    "loader.input -> hidden.input",
    "loader.target -> accuracy.target",
    "loader.target -> loss.target",
    "loss.loss -> adam.loss",
    "moons.samples -> loader.samples",
    "scores.output -> accuracy.input",
    "scores.output -> loss.input"
  ],
  "blocks": {
    "dense": {
      "params": {"width": ["linear.out_features"]},
      "nodes": {
        "input": {"type": "port.Input"},
        "linear": {"type": "nn.Linear", "params": {"out_features": 8}},
        "relu": {"type": "nn.ReLU"},
        "output": {"type": "port.Output"}
      },
      "wires": ["input.output -> linear.input", "linear.output -> relu.input", "relu.output -> output.input"]
    }
  }
}
"""


class Place(NamedTuple):
    """A trained project in an empty folder."""

    project: Path
    run: Path
    document: Document

    @property
    def checkpoint(self) -> Path:
        return max((self.run / "checkpoints").iterdir())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    project = tmp_path_factory.mktemp("mutations") / "moons.gradwire"
    project.write_bytes(PROJECT)
    document = project_files.load(project)
    run = project.with_suffix(".runs") / "2026-01-01_00-00-00-1"
    session = TrainingSession(document, catalogue(), base=project.parent, out=run, steps=2)
    session.start()
    assert session.join(600) and session.state == "done", session.events()
    for path in sorted((run / "checkpoints").iterdir())[:-1]:
        path.unlink()  # it would stand in for a damaged one
    return Place(project, run, document)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    state = engine.random.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    engine.random.set_rng_state(state)


def overwrite(path: Path, content: bytes) -> None:
    """Write a file without truncating it first, which makes some file systems wait for the disk: 1 ms for each case."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def code_of(action: Callable[[], object]) -> int:
    """The exit code of a command that does this."""
    try:
        with report_errors():
            action()
    except typer.Exit as end:
        return end.exit_code
    return 0


def attempt(case: Callable[[Random], int], capsys: pytest.CaptureFixture[str]) -> set[int]:
    """The exit codes of the cases. Fails with the seed of one that ends otherwise."""
    codes: list[int] = []
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # as `cli.main` does  # pyright: ignore[reportAttributeAccessIssue]
    for seed in range(SEED, SEED + COUNT):
        try:
            codes.append(case(Random(seed)))
        except BaseException as error:
            error.add_note(f"FILE_MUTATIONS=1 FILE_MUTATION_SEED={seed}")
            raise
        assert codes[-1] in CODES, (seed, codes[-1])
        if seed % 100 == 0:
            capsys.readouterr()
    return set(codes) if COUNT >= 100 else {0, 2}


def task_of(document: Document) -> fit.Task:
    task = lower(check(document, catalogue())).build(device="cpu", seed=0)
    task.setup()
    return task


def test_weights(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    sound = [(place.run / "weights.safetensors").read_bytes(), place.checkpoint.read_bytes()]
    path, task = place.run.parent / "damaged.safetensors", task_of(place.document)

    def case(random: Random) -> int:
        overwrite(path, damaged_safetensors(random, random.choice(sound)))
        return code_of(lambda: load_initial_weights(ImportedWeights(str(path)), task))

    assert attempt(case, capsys) == {0, 2}


def test_checkpoints_of_resumed_runs(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """What is loaded without an error also trains on, or fails in the run."""
    sound = place.checkpoint.read_bytes()
    longer = Document(
        place.document.nodes, place.document.wires, TrainingSettings(epochs=2, device="cpu", compile=False)
    )

    def case(random: Random) -> int:
        overwrite(place.checkpoint, damaged_safetensors(random, sound))
        return code_of(lambda: resume(random))

    def resume(random: Random) -> None:
        run = run_resuming.load_run(place.run)
        if run.checkpoint is None:
            raise FileError(str(place.run), "", "has no checkpoint", "")
        training = fit.fit(task_of(run.document), epochs=2, compile=False)
        run_resuming.restore_checkpoint(training, run, longer, until=2)
        if random.random() < 0.1:
            try:
                for _ in zip(range(3), training, strict=False):
                    pass
            except Exception:  # noqa: BLE001 - as of a session: the run has failed
                raise typer.Exit(1) from None
            finally:
                training.close()

    try:
        assert {0, 2} <= attempt(case, capsys)
    finally:
        overwrite(place.checkpoint, sound)


def test_run_json(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    path = place.run / "run.json"
    sound = path.read_bytes()

    def case(random: Random) -> int:
        overwrite(path, damaged_json(random, sound))
        return code_of(read_all)

    def read_all() -> None:
        runs = _load_runs(place.project)
        for run in runs:
            str(
                (
                    _run_row(run),
                    _run_record(run),
                    compare_runs([run, run], catalogue()),
                    run.step,
                    run.settings,
                    run.name,
                )
            )
        run_resuming.find_run_folder(place.project.with_suffix(".runs"), "1")
        run_resuming.load_run(run_resuming.find_resumable(place.project.with_suffix(".runs"), str(place.run)))
        run_resuming.find_resumable(place.project.with_suffix(".runs"))
        _find_run(runs, "1")

    try:
        assert attempt(case, capsys) == {0, 2}
    finally:
        overwrite(path, sound)


def test_metrics(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    path = place.run / "metrics.jsonl"
    sound = path.read_bytes()
    [run] = _load_runs(place.project)

    def case(random: Random) -> int:
        overwrite(path, damaged_lines(random, sound))
        return code_of(read_all)

    def read_all() -> None:
        fresh = type(run)(run.number, run.folder, run.metadata)
        follower, is_all = MetricsFollower(place.run), False
        while not is_all:
            news = follower.read()
            fresh.apply_update(news)
            is_all = news.is_complete
        export_snapshot(fresh)
        str((fresh.read_error, fresh.progress.fraction, fresh.progress.seconds_left, fresh.step))

    try:
        assert attempt(case, capsys) == ({0} if COUNT >= 100 else {0, 2})
    finally:
        overwrite(path, sound)


def test_project_files(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    path = place.project.with_name("damaged.gradwire")

    def case(random: Random) -> int:
        overwrite(path, damaged_json(random, PROJECT))
        return code_of(lambda: check(project_files.load(path), catalogue(), path.parent))

    assert attempt(case, capsys) == {0, 2}


def test_data_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs, targets = np.arange(48, dtype=np.float32).reshape(12, 4), np.arange(12) % 3
    pixels = (np.arange(12 * 25) % 251).astype(np.uint8).reshape(12, 5, 5)
    held = {name: io.BytesIO() for name in ("npy", "stored", "packed", "png", "tar")}
    np.save(held["npy"], inputs)
    np.save(tmp_path / "targets.npy", targets)
    np.savez(held["stored"], x=inputs, y=targets)
    np.savez_compressed(held["packed"], x=inputs, y=targets)
    Image.fromarray(pixels[0]).save(held["png"], "PNG")
    with tarfile.open(fileobj=held["tar"], mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in (("é1.png", held["png"].getvalue()), ("é1.cls", b"1"), ("a" * 200 + ".png", b"")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    sound = {name: content.getvalue() for name, content in held.items()}
    sound["idx"] = b"\0\0\x08\x03" + np.array(pixels.shape, ">u4").tobytes() + pixels.tobytes()
    sound["gz"] = gzip.compress(sound["idx"])
    folder, shards = tmp_path / "idx", tmp_path / "shards"
    folder.mkdir()
    shards.mkdir()
    labels = b"\0\0\x08\x01" + np.array([12], ">u4").tobytes() + targets.astype(np.uint8).tobytes()
    (folder / "train-labels-idx1-ubyte").write_bytes(labels)
    image = "train-images-idx3-ubyte"
    first = np.arange(2)

    def npy(content: bytes) -> object:
        overwrite(tmp_path / "a.npy", content)
        return data.NPY(str(tmp_path / "a.npy"), str(tmp_path / "targets.npy"), validation=0).train.arrays(first)

    def npz(content: bytes) -> object:
        overwrite(tmp_path / "a.npz", content)
        source = data.NPY(str(tmp_path / "a.npz"), validation=0)
        return source.classes, source.train.arrays(first)

    def idx(content: bytes, suffix: str = "") -> object:
        overwrite(folder / (image + suffix), content)
        try:
            return data.IDX(str(folder)).train.arrays(first)
        finally:
            (folder / (image + suffix)).unlink()

    def png(content: bytes) -> object:
        return image_decoding.decode_image(content, "colour", "a.png")

    def tar(content: bytes) -> object:
        overwrite(shards / "a.tar", content)
        source = data.WebDataset(str(shards), validation=0)
        return source.classes, source.train.arrays(first[:1])

    readers: dict[str, Callable[[bytes], object]] = {
        "npy": npy,
        "stored": npz,
        "packed": npz,
        "idx": idx,
        "gz": lambda content: idx(content, ".gz"),
        "png": png,
        "tar": tar,
    }

    def case(random: Random) -> int:
        kind = random.choice(tuple(readers))
        content = damaged_bytes(random, sound[kind])
        return code_of(lambda: readers[kind](content))

    assert attempt(case, capsys) == {0, 2}


class _Untrained:
    """Replaces `RunWatcher`: the command does everything before training."""

    def __init__(self, session: Any, **options: Any) -> None: ...

    def run(self) -> int:
        return 0


def test_command_lines(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_command, "RunWatcher", _Untrained)
    monkeypatch.setattr(app_module, "app", typer.main.get_command(app_module.app))  # making it takes 30 ms each time
    project, weights = str(place.project), str(place.run / "weights.safetensors")
    lines = [
        ["run", project, "--steps", "1", "--seed", "3", "--set", "adam.lr=0.1", "--out", "out"],
        ["run", project, "--resume", "1", "--epochs", "3", "--json"],
        ["run", project, "--start-from", weights, "--device", "cpu"],
        ["check", project, "--set", "scores.out_features=3", "--json"],
        ["runs", "list", project, "--json"],
        ["runs", "show", project, "1"],
        ["runs", "export", project, "1", "--out", "a.csv"],
        ["new", "digits-mlp", "--out", "new.gradwire", "--force"],
        ["data", project, "moons"],
        ["evaluate", project, "--weights", weights],
    ]
    words = [
        *(word for line in lines for word in line),
        *("", "-", "--", "--help", "--version", "--set", "--resume=", "-o", "/", ".", "..", "/dev/null", "a" * 300),
        *("a\0b", "\udcff", "é", "*", "~", "missing.gradwire", "training.epochs=1", "adam.betas=[0.5,0.5]"),
        *("adam=optim.SGD", "adam.lr=", "=1", "a.b.c=1", "-1", "1e999", "nan", "999999999999999999999", "0x10", "[]"),
        *("templates", "overfit", "predict", "find-rate", "nodes", "sweep", "explain", "schema"),
    ]

    def case(random: Random) -> int:
        return cli.main(damaged_arguments(random, random.choice(lines), words))

    assert {0, 2} <= attempt(case, capsys)
