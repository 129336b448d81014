from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import fit
from engine.data import Digits
from engine.io import atomic_file, load_file, read_metadata
from studio.document.document_errors import FileError
from studio.document.files.project_files import load
from studio.training import Failed, TrainingSession, Warned
from studio.training.runs import jsonl_file, run_checkpoints, run_record
from studio.training.runs.background_writer import BackgroundWriter
from studio.training.runs.event_json import event_to_json
from studio.training.runs.run_history import MetricsFollower, Run
from studio.training.runs.run_record import RunRecord, create_run_folder


def finished(run: TrainingSession) -> list[Any]:
    run.start()
    assert run.join(600)
    return run.events()


def test_what_a_run_leaves_behind(session, digits, tmp_path: Path) -> None:
    run = session(out=tmp_path / "a" / "b", seed=5)
    events = finished(run)
    folder = tmp_path / "a" / "b"
    assert run.folder == folder
    names = {"graph.gradwire", "run.json", "metrics.jsonl", "weights.safetensors", "best.safetensors", "checkpoints"}
    names.add("statistics.bin")
    assert {path.name for path in folder.iterdir()} == names
    assert load(folder / "graph.gradwire") == digits()
    about = json.loads((folder / "run.json").read_text())
    assert about["state"] == "done"
    assert about["settings"] == {
        "epochs": 2,
        "steps": None,
        "device": "cpu",
        "seed": 5,
        "compile": True,
        "probe_steps": 20,
    }
    assert about["last"]["epoch"] == 2
    assert about["best"]["val_loss"] <= about["last"]["val_loss"]
    assert {"python", "numpy"} <= set(about["versions"])
    first = Digits().files[0]
    assert about["data"][0]["sha256"] == hashlib.sha256(first.read_bytes()).hexdigest()
    lines = [json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines()]
    assert lines == [
        event_to_json(event) for event in events if isinstance(event, fit.TrainingEvent) and event_to_json(event)
    ]
    weights = load_file(folder / "weights.safetensors")
    assert set(weights) == {"hidden.weight", "hidden.bias", "logits.weight", "logits.bias"}
    assert read_metadata(folder / "weights.safetensors")["epoch"] == "2"


def test_the_best_weights_are_those_of_the_best_epoch(session, digits, tmp_path: Path) -> None:
    run = session(digits(epochs=8, adam={"lr": 0.3}), out=tmp_path)
    events = finished(run)
    best = min((event.val_loss, event.epoch) for event in events if isinstance(event, fit.Epoch))[1]
    assert read_metadata(tmp_path / "best.safetensors")["epoch"] == str(best)
    again = session(digits(epochs=best, adam={"lr": 0.3}), out=tmp_path / "again")
    finished(again)
    ours, theirs = (load_file(path) for path in (tmp_path / "best.safetensors", tmp_path / "again/weights.safetensors"))
    assert all(np.array_equal(ours[name].numpy(), theirs[name].numpy()) for name in ours)


def test_each_run_gets_a_separate_folder(session, tmp_path: Path) -> None:
    runs = tmp_path / "digits.runs"
    for _ in range(2):
        run = session(runs=runs, steps=1)
        finished(run)
        assert run.folder is not None
        assert run.folder.parent == runs
    assert len(list(runs.iterdir())) == 2


def test_a_stopped_run_keeps_its_weights(session, digits, tmp_path: Path) -> None:
    run = session(digits(epochs=1000), out=tmp_path)
    run.start()
    while not any(isinstance(event, fit.Step) for event in run.events(1)):
        pass
    run.stop()
    assert run.join(600)
    assert json.loads((tmp_path / "run.json").read_text())["state"] == "stopped"
    assert load_file(tmp_path / "weights.safetensors")


def test_a_failed_run_says_why(session, digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("engine.fit.step_functions.step_optimizers", broken)
    finished(session(out=tmp_path))
    about = json.loads((tmp_path / "run.json").read_text())
    assert (about["state"], about["message"]) == ("failed", "RuntimeError: boom")


@pytest.mark.parametrize("case", ["file", "below a file", "other run"])
def test_a_folder_that_cannot_be_used_stops_the_run_at_once(session, tmp_path: Path, case: str) -> None:
    (tmp_path / "file").write_text("here before")
    out = {"file": tmp_path / "file", "below a file": tmp_path / "file" / "x", "other run": tmp_path / "run"}[case]
    if case == "other run":
        out.mkdir()
        (out / "run.json").write_text("{}")
    events = finished(session(out=out))
    failed = next(event for event in events if isinstance(event, Failed))
    assert failed.by_input
    assert str(out) in failed.message
    assert not any(isinstance(event, fit.Started) for event in events)
    assert (tmp_path / "file").read_text() == "here before"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission(session, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    failed = next(event for event in finished(session(out=tmp_path / "x")) if isinstance(event, Failed))
    assert "permission" in failed.message


def test_a_disk_that_gets_full_does_not_end_the_training(session, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(run_record, "_SECONDS", 0.0)
    write = atomic_file.write

    def full(path: Path, data: bytes) -> Any:
        if path.suffix == ".safetensors":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(atomic_file, "write", full)
    monkeypatch.setattr("studio.training.runs.run_recorder._RETRY_SECONDS", 0.0)
    run = session(out=tmp_path)
    events = finished(run)
    assert set(run.unwritten) == {"best.safetensors", "weights.safetensors", "checkpoints"}
    warnings = [event.message for event in events if isinstance(event, Warned)]
    assert any("best.safetensors cannot be written: the disk is full" in message for message in warnings)
    assert any("checkpoints" in message and "Training continues" in message for message in warnings)
    assert any("/weights.safetensors" in message for message in warnings)
    assert [line["event"] for line in lines_of(tmp_path)][-1] == "done", "figures are written all the same"
    assert isinstance(events[-2], (fit.Done, Warned))
    assert json.loads((tmp_path / "run.json").read_text())["state"] == "done"


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines()]


def test_lines_of_long_epochs_are_thinned_out(digits, tmp_path: Path) -> None:
    record = RunRecord(tmp_path, digits(), {}, BackgroundWriter())
    record.write_event(fit.Started(1, None, 5000, 1, 1, 1, "cpu", 0), dict)
    for batch in range(1, 5001):
        record.write_event(fit.Step(1, batch, batch, 0.5, {}, {}, 0.1, 10.0, 0.1, True), dict)
    record.close()
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 1001


def test_lines_of_an_epoch_without_known_end_get_rarer(digits, tmp_path: Path) -> None:
    record = RunRecord(tmp_path / "run", digits(), {}, BackgroundWriter())
    record.write_event(fit.Started(2, None, None, None, None, 1, "cpu", 0), dict)
    for epoch in (1, 2):
        for n in range(1, 5001):
            step = fit.Step(epoch, n, 5000 * (epoch - 1) + n, 1.0, {}, {}, 0.25, 1.0, 0.1, finite=True)
            record.write_event(step, dict)
        if epoch == 1:
            record.write_event(fit.Epoch(1, 5000, 1.0, None, {}, {}, 9.0, 20.0, 0.1, finite=True, batches=5000), dict)
    record.close()
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    [cut] = [place for place, line in enumerate(lines) if line["event"] == "epoch"]
    assert [line["batch"] for line in lines[999:cut]][:3] == [999, 1000, 1002]
    assert cut - 1 == 999 + 500 + 500 + 126  # each, each second, each fourth of twice as many, then each eighth
    assert len(lines) - cut - 1 == 1000
    run = Run(1, tmp_path / "run")
    follower, is_all = MetricsFollower(tmp_path / "run"), False
    while not is_all:
        news = follower.read()
        run.apply_update(news)
        is_all = news.is_complete
    curve = run.curve("loss", "train")
    assert curve is not None
    assert curve.x("epoch")[-1] == 2.0
    assert curve.x("seconds")[cut - 2] == pytest.approx(1250, rel=0.01)


def test_fresh_folders_differ(tmp_path: Path) -> None:
    assert len({create_run_folder(tmp_path / "x") for _ in range(3)}) == 3
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="file"):
        create_run_folder(tmp_path / "file")


def test_numbers_that_are_not_finite_are_null() -> None:
    nan = float("nan")
    event = fit.Epoch(1, 2, nan, float("inf"), {"accuracy": nan}, {"accuracy": 0.5}, 1.0, 2.0, 0.1, False)
    assert event_to_json(event) == {
        "event": "epoch",
        "epoch": 1,
        "step": 2,
        "train_loss": None,
        "val_loss": None,
        "train_accuracy": None,
        "val_accuracy": 0.5,
        "learning_rate": 0.1,
        "samples_per_second": 2.0,
        "seconds": 1.0,
        "finite": False,
        "best": False,
    }
    assert event_to_json(fit.ValidationStep(1, 1, 2)) is None


class Disk:
    """Takes nothing while it is full, and once little of what is written first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self.is_full = False
        self._random = random.Random(seed)
        self._write, self._replace = os.write, atomic_file.write
        monkeypatch.setattr(jsonl_file.os, "write", self.write)
        monkeypatch.setattr(atomic_file, "write", self.replace)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.is_full and self._random.random() < 0.5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._write(descriptor, data[: self._random.randint(1, 40)] if self.is_full else data)

    def replace(self, path: Path, data: bytes) -> Any:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._replace(path, data)


@pytest.mark.parametrize("seed", range(int(os.environ.get("DISKS", "2"))))
def test_a_disk_that_was_full_for_a_while_has_all_in_the_end(
    session, digits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Between any two events the disk gets full or has space again; readers always see complete lines."""
    monkeypatch.setattr(run_record, "_SECONDS", 0.0)
    monkeypatch.setattr(run_checkpoints, "_RETRY_SECONDS", 0.0)
    disk, turns, tell = Disk(monkeypatch, seed), random.Random(seed), TrainingSession._emit

    def told(self: TrainingSession, event: fit.TrainingEvent, **options: bool) -> None:
        if turns.random() < 0.2:
            disk.is_full = not disk.is_full
        tell(self, event, **options)
        seen = (tmp_path / "run" / "metrics.jsonl").read_bytes()
        assert seen == b"" or seen.endswith(b"\n")
        if isinstance(event, fit.Done):
            disk.is_full = True
            threading.Timer(0.3, lambda: setattr(disk, "is_full", False)).start()

    monkeypatch.setattr(TrainingSession, "_emit", told)
    run = session(digits(epochs=4), out=tmp_path / "run", seed=seed)
    events = finished(run)
    assert not any(isinstance(event, Failed) for event in events)
    assert run.unwritten == ()
    assert lines_of(run.folder) == [
        event_to_json(event) for event in events if isinstance(event, fit.TrainingEvent) and event_to_json(event)
    ]
    about = json.loads((run.folder / "run.json").read_text())
    assert (about["state"], about["last"]["epoch"]) == ("done", 4)
    assert read_metadata(run.folder / "weights.safetensors")["epoch"] == "4"
    assert read_metadata(run.folder / "best.safetensors")["epoch"] == str(about["best"]["epoch"])
    _, newest, _ = run_checkpoints.newest_checkpoint(run.folder)
    assert newest is not None and newest["metrics"]["metrics"] <= (run.folder / "metrics.jsonl").stat().st_size
    assert newest["metrics"]["step"] == about["last"]["step"]


def test_lines_that_do_not_fit_into_memory_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch, 0)
    lines = jsonl_file.JsonlFile(tmp_path / "lines", max_pending=10)
    lines.append(b"first\n", droppable=True)
    lines.append(b"second\n", droppable=True)
    lines.append(b"an epoch\n", droppable=False)
    assert (lines.dropped, lines.length) == (1, 15)
    disk.is_full = True
    lines.append(b"more\n" * 200, droppable=False)
    with pytest.raises(OSError, match="No space"):
        lines.write()
    disk.is_full = False
    lines.write()
    lines.close()
    assert (tmp_path / "lines").read_bytes().startswith(b"first\nan epoch\nmore\n")
    again = jsonl_file.JsonlFile(tmp_path / "lines", 12)
    again.append(b"resumed\n", droppable=True)
    again.write()
    again.close()
    assert (tmp_path / "lines").read_bytes() == b"first\nresumed\n", "a line that was cut in two is cut off"
