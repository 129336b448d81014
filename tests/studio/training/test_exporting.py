from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import fit
from studio.document.errors import FileError
from studio.training.runs.exporting import write_csv, write_tensorboard
from studio.training.runs.history import Run


def trained(number: int, steps: int = 200) -> Run:
    """A run of one epoch, with losses that no decimal number of a few digits is equal to."""
    run = Run(number, about={"started": "2026-01-02T03:04:05+00:00"}, is_own=True)
    losses = np.random.default_rng(number).normal(size=steps) / 3
    metrics = {"accuracy": 1 / 3}
    run.take([fit.Started(1, None, steps, 10 * steps, 5, 1, "cpu", 0)])
    run.take(
        fit.Step(1, place, place, float(loss), {}, metrics, 0.5, 20.0, 0.1, finite=True)
        for place, loss in enumerate(losses, start=1)
    )
    run.take([fit.Epoch(1, steps, 0.5, 0.7, metrics, metrics, 0.5 * steps, 20.0, 0.1, finite=True)])
    return run


def test_tensorboard_reads_back_equal_numbers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    accumulator: Any = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    runs = [trained(1), trained(2), trained(2)]
    write_tensorboard(runs, tmp_path)
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
        write_tensorboard([trained(1)], tmp_path)


def test_a_table_has_all_points_with_all_their_digits(tmp_path: Path) -> None:
    run = trained(1)
    write_csv([run], tmp_path / "a.csv")
    lines = [line.split(",") for line in (tmp_path / "a.csv").read_text().splitlines()]
    assert lines[0] == ["run", "quantity", "kind", "step", "epoch", "seconds", "value"]
    assert len(lines) == 1 + run.points - 2  # train figures of the epoch are those of its batches
    losses = [float(line[-1]) for line in lines if line[1:3] == ["loss", "train"]]
    curve = run.curve("loss", "train")
    assert curve is not None and losses == curve.column.values.tolist()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        write_tensorboard([trained(1)], tmp_path / "file")
