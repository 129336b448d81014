"""Runs read back from their folders: the same figures as while they were trained, whatever happened to the files."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import fit
from studio.training.runs import run_history, run_record
from studio.training.runs.event_json import event_from_json, event_to_json
from studio.training.runs.metric_points import MetricKind, MetricPoints, PointReader
from studio.training.runs.run_history import Curve, MetricsFollower, Run, RunFolder, StoredRun, run_from_stored
from studio.training.runs.run_locks import RunLock
from studio.training.runs.run_metadata import read_metadata

BEGIN = fit.Started(4, None, 10, 100, 20, 1234, "cpu", 0, compiled=True)


def step(number: int, loss: float = 1.0, **changes: Any) -> fit.Step:
    epoch, batch = divmod(number - 1, 10)
    fields = {"losses": {}, "metrics": {"accuracy": 0.5}, "seconds": 0.5, "samples_per_second": 20.0, **changes}
    return fit.Step(epoch + 1, batch + 1, number, loss, learning_rate=0.1, finite=bool(np.isfinite(loss)), **fields)


def epoch(number: int, val_loss: float | None = 0.7, seconds: float = 6.0) -> fit.Epoch:
    val = {} if val_loss is None else {"accuracy": 0.9}
    train = {"accuracy": 0.6, "auc": 0.8}
    return fit.Epoch(number, 10 * number, 1.5, val_loss, train, val, seconds, 20.0, 0.1, finite=True, best=number == 1)


def whole(epochs: int = 2) -> list[fit.TrainingEvent]:
    found: list[fit.TrainingEvent] = [BEGIN]
    for number in range(1, epochs + 1):
        found += [step(10 * (number - 1) + batch, loss=1 / (10 * number + batch)) for batch in range(1, 11)]
        found.append(epoch(number))
    return [*found, fit.Done(epochs, 10 * epochs, 3.0, "epochs")]


def text(events: list[fit.TrainingEvent]) -> str:
    return "".join(json.dumps(event_to_json(event)) + "\n" for event in events)


def read(folder: Path, run: Run | None = None, follower: MetricsFollower | None = None) -> Run:
    run, follower = run or Run(1, folder), follower or MetricsFollower(folder)
    while True:
        news = follower.read()
        run.apply_update(news)
        if news.is_complete:
            return run


def found(run: Run, kind: MetricKind) -> Curve:
    curve = run.curve("loss", kind)
    assert curve is not None
    return curve


def curves(run: Run) -> dict[str, list[list[float]]]:
    told = {}
    for quantity in run.quantities:
        for kind in ("train", "validation"):
            curve = run.curve(quantity, kind)
            if curve is not None:
                told[f"{quantity} {kind}"] = [
                    curve.x("step").tolist(),
                    np.round(curve.x("seconds"), 6).tolist(),
                    np.nan_to_num(curve.column.values, nan=-1.0).tolist(),
                ]
    return told


EACH = {"g": 0.25, "d": math.nan}


@pytest.mark.parametrize(
    "event",
    [
        *whole(),
        epoch(3, None),
        fit.Validated(1, 5, 0.5, {"a": 0.1}, best=True),
        fit.Validated(1, 5, 0.5, {}, best=True, val_losses=EACH),
        replace(epoch(3), train_losses=EACH, val_losses=EACH),
    ],
)
def test_an_event_comes_back_out_of_its_line(event: fit.TrainingEvent) -> None:
    assert event_to_json(event_from_json(json.loads(json.dumps(event_to_json(event))))) == event_to_json(event)  # pyright: ignore[reportArgumentType]


TWO: dict[str, Any] = {"losses": {"judge": 0.5, "maker": 0.25}, "learning_rates": {"judge": 0.1, "maker": 0.02}}


def test_a_step_of_several_optimizers_comes_back_with_what_each_has() -> None:
    event = step(1, loss=0.75, **TWO)
    told = event_to_json(event)
    assert told is not None and told["losses"] == TWO["losses"] and told["learning_rates"] == TWO["learning_rates"]
    assert event_to_json(event_from_json(json.loads(json.dumps(told)))) == told  # pyright: ignore[reportArgumentType]
    alone = event_to_json(step(1, losses={"adam": 1.0}, learning_rates={"adam": 0.1}))
    assert alone == event_to_json(step(1))


def test_each_loss_and_each_rate_of_several_optimizers_is_a_curve(tmp_path: Path) -> None:
    events: list[fit.TrainingEvent] = [BEGIN]
    for number in range(1, 11):
        losses = {"judge": 1 / number, "maker": math.nan if number == 4 else 2.0 * number}
        events.append(step(number, sum(losses.values()), losses=losses, learning_rates={"judge": 0.1, "maker": number}))
    live = Run(1, is_own=True)
    live.take(events)
    (tmp_path / "metrics.jsonl").write_text(text(events))
    assert live.quantities == (
        "loss",
        "loss/judge",
        "loss/maker",
        "accuracy",
        "learning_rate/judge",
        "learning_rate/maker",
        "samples_per_second",
    )
    assert curves(read(tmp_path)) == curves(live)
    maker = live.curve("loss/maker", "train")
    assert maker is not None and maker.column.values[:3].tolist() == [2.0, 4.0, 6.0]
    assert np.isnan(maker.column.values[3])


def test_each_loss_of_a_validation_is_a_curve(tmp_path: Path) -> None:
    """Also of a run whose first validations were recorded without them."""
    within = fit.Validated(1, 5, 0.75, {}, best=True, val_losses=TWO["losses"])
    old, new = (
        epoch(1),
        replace(epoch(2), train_losses={"judge": 2.0, "maker": 3.0}, val_losses={"judge": 0.1, "maker": 0.6}),
    )
    events: list[fit.TrainingEvent] = [BEGIN, old, replace(within, step=15), new]
    live = Run(1, is_own=True)
    live.take(events)
    (tmp_path / "metrics.jsonl").write_text(text(events))
    run = read(tmp_path)
    assert run.read_error == "" and curves(run) == curves(live)
    judge, epochs = run.curve("loss/judge", "validation"), run.curve("loss/maker", "train")
    assert judge is not None and epochs is not None
    np.testing.assert_equal(judge.column.values, [math.nan, 0.5, 0.1])
    assert judge.x("step").tolist() == [10, 15, 20]
    assert epochs.column.values[-1] == 3.0, "of epochs, where no batches are known"
    assert "losses" not in run.last and "losses" not in run.best


def test_a_record_from_before_each_loss_was_written_goes_on_with_them(tmp_path: Path) -> None:
    events: list[fit.TrainingEvent] = [
        BEGIN,
        *(step(number) for number in range(1, 4)),
        *(step(number, **TWO) for number in range(4, 6)),
    ]
    (tmp_path / "metrics.jsonl").write_text(text(events))
    run = read(tmp_path)
    judge, rate = run.curve("loss/judge", "train"), run.curve("learning_rate/judge", "train")
    assert judge is not None and rate is not None and run.read_error == ""
    np.testing.assert_equal(judge.column.values, [math.nan, math.nan, math.nan, 0.5, 0.5])
    assert rate.column.values[-1] == 0.1


def test_a_line_whose_losses_are_damaged_costs_only_itself(tmp_path: Path) -> None:
    lines = text([BEGIN, *(step(number, **TWO) for number in range(1, 6))]).splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), "losses": [1, 2]})
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    run = read(tmp_path)
    judge = run.curve("loss/judge", "train")
    assert judge is not None and judge.x("step").tolist() == [1, 2, 4, 5]
    assert run.read_error.startswith("1 line ")


@pytest.mark.parametrize(
    "damaged", [{"event": "step"}, {"event": "epoch", "epoch": "x"}, 5, None, [], {"event": "done"}]
)
def test_a_damaged_line_is_not_an_event(damaged: Any) -> None:
    with pytest.raises(ValueError, match="damaged"):
        event_from_json(damaged)


def test_a_run_is_the_same_from_its_events_and_from_its_file(tmp_path: Path) -> None:
    live = Run(1, is_own=True)
    events = whole()
    for begin in range(0, len(events), 3):
        live.take(events[begin : begin + 3])
    (tmp_path / "metrics.jsonl").write_text(text(events))
    again = read(tmp_path)
    assert curves(again) == curves(live)
    assert curves(live)["loss validation"] == [[10, 20], [6, 12], [0.7, 0.7]]
    assert curves(live)["auc train"][0] == [10, 20]
    assert live.quantities == ("loss", "accuracy", "auc", "learning_rate", "samples_per_second")
    assert (again.progress.epochs, again.progress.step, again.progress.fraction) == (4, 20, 0.5)
    assert live.last["val_accuracy"] == 0.9 and live.best["epoch"] == 1


def test_a_growing_file_is_followed_line_by_line(tmp_path: Path) -> None:
    whole_text = text(whole()).encode()
    follower, run = MetricsFollower(tmp_path), Run(1, tmp_path)
    with (tmp_path / "metrics.jsonl").open("wb") as file:
        for begin in range(0, len(whole_text), 100):  # in the midst of lines
            file.write(whole_text[begin : begin + 100])
            file.flush()
            read(tmp_path, run, follower)
    assert run.read_error == ""
    assert curves(run) == curves(read(tmp_path))
    assert len(run.curve("loss", "train") or []) == 20


def test_only_damaged_lines_are_skipped_and_reported(tmp_path: Path) -> None:
    lines = text(whole()).splitlines()
    lines[3], lines[8], lines[14] = lines[3][:20], '{"event": "step", "step": "x", "loss": 1}', "\x00\xff"
    lines.insert(6, "5")
    (tmp_path / "metrics.jsonl").write_bytes("\n".join([*lines, '{"event": "st']).encode("latin-1"))
    run = read(tmp_path)
    assert len(run.curve("loss", "train") or []) == 17
    assert "4 lines" in run.read_error and "metrics.jsonl" in run.read_error


def test_figures_that_are_not_finite_are_gaps(tmp_path: Path) -> None:
    events = [BEGIN, step(1), step(2, float("nan")), step(3), epoch(1, float("nan"))]
    (tmp_path / "metrics.jsonl").write_text(text(events))
    run = read(tmp_path)
    np.testing.assert_equal(found(run, "train").column.values, [1.0, np.nan, 1.0])
    np.testing.assert_equal(found(run, "validation").column.values, [np.nan])


def test_a_missing_file_is_reported_until_it_appears(tmp_path: Path) -> None:
    follower, run = MetricsFollower(tmp_path), Run(1, tmp_path)
    read(tmp_path, run, follower)
    assert "metrics.jsonl" in run.read_error
    (tmp_path / "metrics.jsonl").write_text(text(whole()))
    read(tmp_path, run, follower)
    assert run.read_error == "" and run.curve("loss", "train") is not None


def test_a_truncated_run_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(text(whole(3)))
    follower, run = MetricsFollower(tmp_path), Run(1, tmp_path)
    read(tmp_path, run, follower)
    path.write_text(text(whole(1)))
    read(tmp_path, run, follower)
    assert curves(run) == curves(read(tmp_path))


def test_a_resumed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    run = Run(1, is_own=True)
    run.take(whole()[:16])
    again = fit.Started(4, None, 10, 100, 20, 1234, "cpu", 0, compiled=True, epoch=1, step=12)
    run.take([again, *(step(number, 7.0) for number in (13, 14))])
    curve = found(run, "train")
    assert curve.x("step").tolist() == list(range(1, 15))
    assert curve.column.values[-2:].tolist() == [7.0, 7.0]
    assert (np.diff(curve.x("seconds")) > 0).all()


def test_unreported_steps_count_in_the_time() -> None:
    [points] = PointReader().take([BEGIN, step(1), step(5)])
    assert isinstance(points, MetricPoints) and points.seconds.tolist() == [0.5, 2.5]


def folder_of(runs: Path, name: str, **about: Any) -> Path:
    (runs / name).mkdir(parents=True)
    (runs / name / "run.json").write_text(json.dumps(about))
    return runs / name


def test_the_shelf_tells_what_is_there_and_how_it_stands(tmp_path: Path) -> None:
    lock = RunLock(folder_of(tmp_path, "b", started="2026-01-02", state="running"))
    (folder_of(tmp_path, "a", started="2026-01-01", state="running") / "run.lock").write_text("{}")
    folder_of(tmp_path, "c", started="2026-01-03", state="done", number=7, last={"epoch": 2, "val_loss": 0.5})
    (folder_of(tmp_path, "d") / "run.json").write_text("{")
    (tmp_path / "empty").mkdir()
    found = RunFolder(tmp_path).scan()
    assert [(one.folder.name, one.state) for one in found[-3:]] == [
        ("a", "interrupted"),
        ("b", "running"),
        ("c", "done"),
    ]
    assert "run.json is damaged" in found[0].read_error
    lock.release()
    assert [one.state for one in RunFolder(tmp_path).scan()[-3:]] == ["interrupted", "interrupted", "done"]
    run = run_from_stored(found[-1], [])
    assert (run.number, run.name, run.last["val_loss"]) == (7, "Run 7", 0.5)
    assert RunFolder(tmp_path / "nowhere").scan() == []


def test_runs_merged_from_several_folders_get_unique_numbers(tmp_path: Path) -> None:
    for name, number in (("a", 4), ("b", 4), ("c", None)):
        folder_of(tmp_path, name, started="2026-01-01", number=number)
    runs: list[Run] = []
    for found in RunFolder(tmp_path).scan():
        runs.append(run_from_stored(found, [run.number for run in runs]))
    assert [(run.folder.name, run.number) for run in runs if run.folder] == [("a", 4), ("b", 5), ("c", 6)]


def test_the_shelf_reads_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path, "a", state="running")
    folder_of(tmp_path, "b", state="done")
    shelf = RunFolder(tmp_path)
    shelf.scan()
    opened: list[Path] = []
    monkeypatch.setattr(run_history, "read_metadata", lambda path: opened.append(path) or read_metadata(path))
    shelf.scan()
    assert opened == []
    (folder / "run.json").write_text(json.dumps({"state": "done"}))
    assert [one.state for one in shelf.scan()] == ["done", "done"]
    assert opened == [folder / "run.json"]


def test_a_run_of_this_process_knows_better_how_it_stands(tmp_path: Path) -> None:
    run = Run(1, tmp_path, is_own=True, state="paused")
    run.take(whole())
    run.describe({"name": "Wide", "last": {"val_loss": 99.0}}, "running")
    assert (run.name, run.state, run.last["val_loss"]) == ("Wide", "paused", 0.7)


def test_name_note_and_color_stay_while_the_run_goes_on(session, digits, tmp_path: Path) -> None:
    run = session(digits(epochs=3), runs=tmp_path)
    run.step()
    while run.state != "paused":
        run.events(0.05)
    assert run.folder is not None
    run_record.annotate(run.folder, name="Wide", note="twice the width", color=3)
    run.start()
    assert run.join(600)
    about = json.loads((run.folder / "run.json").read_text())
    assert about["color"] == 3 and "color" not in run_record.annotate(run.folder, color=None)
    assert (about["name"], about["note"], about["number"], about["state"]) == ("Wide", "twice the width", 1, "done")
    assert run_record.next_number(tmp_path) == 2


def test_a_real_run_is_read_back_whole(session, digits, tmp_path: Path) -> None:
    live = session(digits(epochs=2), runs=tmp_path)
    live.start()
    assert live.join(600)
    events = live.events()
    own = Run(1, is_own=True)
    own.take([event for event in events if isinstance(event, fit.TrainingEvent)])
    [found] = RunFolder(tmp_path).scan()
    run = read(found.folder, run_from_stored(found, []))
    for quantity in own.quantities:
        for kind in ("train", "validation"):
            one, other = own.curve(quantity, kind), run.curve(quantity, kind)
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                np.testing.assert_array_equal(one.column.values, other.column.values)
                np.testing.assert_array_equal(one.x("step"), other.x("step"))
    assert run.state == "done" and dict(run.last) == dict(own.last) and dict(run.best) == dict(own.best)
    assert run.read_document() == live.document


@pytest.mark.skipif(os.name == "nt", reason="no such permissions")
def test_an_unreadable_run_is_reported(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a", state="done")
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()
    [found] = RunFolder(tmp_path).scan()
    assert isinstance(found, StoredRun) and "cannot be read" in found.read_error
