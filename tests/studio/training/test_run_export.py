from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import fit
from studio.document.document_errors import FileError
from studio.training.runs import run_export
from studio.training.runs.run_export import (
    ExportProgress,
    RunReader,
    export_snapshot,
    run_reader,
    write_csv,
    write_tensorboard,
)
from studio.training.runs.run_history import Run


def trained(number: int, steps: int = 200) -> Run:
    """A run of one epoch, with losses that no decimal number of a few digits is equal to."""
    run = Run(number, metadata={"started": "2026-01-02T03:04:05+00:00"}, is_own=True)
    losses = np.random.default_rng(number).normal(size=steps) / 3
    metrics = {"accuracy": 1 / 3}
    run.take([fit.Started(1, None, steps, 10 * steps, 5, 1, "cpu", 0)])
    run.take(
        fit.Step(1, place, place, float(loss), {}, metrics, 0.5, 20.0, 0.1, finite=True)
        for place, loss in enumerate(losses, start=1)
    )
    run.take([fit.Epoch(1, steps, 0.5, 0.7, metrics, metrics, 0.5 * steps, 20.0, 0.1, finite=True)])
    return run


def sources(*runs: Run) -> list[RunReader]:
    return [run_reader(run) for run in runs]


def whole(work: ExportProgress) -> list[float]:
    return list(work)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each progress value is reported, also in quick succession."""
    monkeypatch.setattr(run_export, "_SECONDS", -1.0)


def test_tensorboard_reads_back_equal_numbers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    accumulator: Any = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    runs = [trained(1), trained(2), trained(2)]
    whole(write_tensorboard(sources(*runs), tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"Run 1", "Run 2", "Run 2 2"}
    for run, folder in zip(runs, ("Run 1", "Run 2", "Run 2 2"), strict=True):
        for kind in ("train", "validation"):
            read = accumulator.EventAccumulator(str(tmp_path / folder / kind), size_guidance={"scalars": 0})
            read.Reload()
            curves = {name: curve for name in run.quantities if (curve := run.curve(name, kind)) is not None}
            assert set(read.Tags()["scalars"]) == set(curves)
            for name, curve in curves.items():
                events = read.Scalars(name)
                assert [event.step for event in events] == curve.x("step").tolist()
                np.testing.assert_array_equal(
                    np.array([event.value for event in events], np.float32), curve.column.values.astype(np.float32)
                )
    first = accumulator.EventAccumulator(str(tmp_path / "Run 1" / "train")).Reload().Scalars("loss")[0]
    assert first.wall_time == pytest.approx(1767323045.5)


def test_without_tensorboard_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(FileError, match=r"pip install .*gradwire\[tensorboard\]"):
        whole(write_tensorboard(sources(trained(1)), tmp_path))


def test_a_table_has_all_points_with_all_their_digits(tmp_path: Path) -> None:
    run = trained(1)
    whole(write_csv(sources(run), tmp_path / "a.csv"))
    lines = [line.split(",") for line in (tmp_path / "a.csv").read_text().splitlines()]
    assert lines[0] == ["run", "quantity", "kind", "step", "epoch", "seconds", "value"]
    assert len(lines) == 1 + run.points - 2  # train figures of the epoch are those of its batches
    losses = [float(line[-1]) for line in lines if line[1:3] == ["loss", "train"]]
    curve = run.curve("loss", "train")
    assert curve is not None and losses == curve.column.values.tolist()


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        whole(write_tensorboard(sources(trained(1)), tmp_path / "file"))


@pytest.mark.usefixtures("eager")
def test_work_that_is_given_up_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("mine")
    work = write_csv(sources(trained(1, 5000), trained(2, 5000)), target)
    assert 0 < next(work) < next(work) < 1
    assert len(list(tmp_path.iterdir())) == 2
    work.close()
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"] and target.read_text() == "mine"


@pytest.mark.usefixtures("eager")
def test_event_files_that_are_given_up_are_not_there(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    work = write_tensorboard(sources(trained(1, 3000), trained(2, 3000)), tmp_path / "logs")
    assert 0 < next(work) < 1
    work.close()
    assert list((tmp_path / "logs").iterdir()) == []


KILLED = """
import os, sys
from pathlib import Path
from studio.training.runs import run_export

class Writer:
    def write(self, sources, folder):
        (folder / "Run 1").mkdir()
        (folder / "Run 1" / "events").write_text("half")
        os._exit(9)
        yield 1.0

run_export._TensorBoard = Writer
list(run_export.write_tensorboard([], Path(sys.argv[1])))
"""


def test_an_export_removes_what_a_killed_one_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Writer:
        def write(self, sources: Any, folder: Path) -> Any:
            (folder / "Run 1").mkdir()
            (folder / "Run 1" / "events").write_text("whole")
            yield 1.0

    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False).returncode == 9
    assert [path.name for path in tmp_path.rglob("events")] == ["events"]
    monkeypatch.setattr(run_export, "_TensorBoard", Writer)
    monkeypatch.setattr(run_export, "_SECONDS", 0.0)
    other = write_tensorboard([], tmp_path)
    next(other)  # it is under way in this process
    whole(write_tensorboard([], tmp_path))
    assert len(list(tmp_path.rglob("events"))) == 2
    other.close()
    assert [path.name for path in tmp_path.iterdir()] == ["Run 1"]
    assert (tmp_path / "Run 1" / "events").read_text() == "whole"


@pytest.mark.usefixtures("eager")
def test_shares_rise_to_the_whole(tmp_path: Path) -> None:
    shares = whole(write_csv(sources(trained(1, 2500), trained(2, 10)), tmp_path / "a.csv"))
    assert shares == sorted(shares) and len(shares) > 6 and shares[-1] == 1


def test_a_run_of_this_process_is_exported_as_of_the_request(tmp_path: Path) -> None:
    run = trained(1, 100)
    before = export_snapshot(run)
    work = write_csv(sources(run), tmp_path / "a.csv")
    run.take([fit.Step(1, 101, 101, 1.0, {}, {}, 0.5, 20.0, 0.1, finite=True)])
    whole(work)
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1 + sum(len(curve[-1]) for curve in before.curves)


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="the disk is full"):
        whole(write_csv(sources(trained(1)), tmp_path / "a.csv"))
    assert list(tmp_path.iterdir()) == []
