"""Runs that are measured: events, the file beside the run, resuming."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from studio.document.model import Document
from studio.training import TrainingSession, Warned
from studio.training.runs.run_resuming import load_run
from studio.training.session_events import Measured
from studio.training.statistics import step_measurement
from studio.training.statistics.run_statistics import RunStatistics
from studio.training.statistics.statistics_format import STATISTICS_FILE


def finished(run: TrainingSession) -> list[Any]:
    run.start()
    assert run.join(600)
    assert run.state == "done"
    return run.events()


def test_a_run_is_measured_at_the_interval_of_its_document(
    digits: Callable[..., Document], session: Callable[..., TrainingSession], tmp_path: Path
) -> None:
    document = digits()
    document = replace(document, training=replace(document.training, probe_steps=4))
    events = finished(session(document, out=tmp_path / "run", steps=12, inspects_data=False))
    measured = [event.read() for event in events if isinstance(event, Measured)]
    assert [each.step for each in measured] == [1, 4, 8, 12]
    read = RunStatistics(tmp_path / "run")
    assert read.steps().tolist() == [1, 4, 8, 12]
    for each in measured:
        assert read.at(each.step) == each
    steps, values = read.series("parameter", "hidden.weight", "update")
    assert steps.tolist() == [1, 4, 8, 12]
    assert (values > 0).all()


def test_nothing_is_measured_at_interval_zero(session: Callable[..., TrainingSession], tmp_path: Path) -> None:
    events = finished(session(out=tmp_path / "run", steps=3, probe_steps=0, inspects_data=False))
    assert not any(isinstance(event, Measured) for event in events)
    assert not (tmp_path / "run" / STATISTICS_FILE).exists()


def test_a_resumed_run_has_the_statistics_of_one_that_was_not_interrupted(
    digits: Callable[..., Document], session: Callable[..., TrainingSession], tmp_path: Path
) -> None:
    document = digits()
    whole = finished(session(document, out=tmp_path / "whole", steps=12, probe_steps=2, inspects_data=False))
    finished(session(document, out=tmp_path / "parts", steps=6, probe_steps=2, inspects_data=False))
    resumed = load_run(tmp_path / "parts")
    finished(session(resumed.document, resume=resumed, steps=12, inspects_data=False))
    one, other = RunStatistics(tmp_path / "whole"), RunStatistics(tmp_path / "parts")
    assert other.steps().tolist() == one.steps().tolist() == [1, 2, 4, 6, 8, 10, 12]
    for step in (6, 8, 12):
        first, second = one.at(step), other.at(step)
        assert first is not None
        assert second is not None
        for key, figures in first.outputs.items():
            assert second.outputs[key]["mean"] == pytest.approx(figures["mean"], rel=1e-4, abs=1e-6)
    assert len(whole) > 12


def test_a_run_without_a_folder_is_measured(session: Callable[..., TrainingSession]) -> None:
    events = finished(session(steps=2, probe_steps=1, inspects_data=False))
    assert [event.read().step for event in events if isinstance(event, Measured)] == [1, 2]


def test_a_failure_is_reported_once(session: Callable[..., TrainingSession], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError("no memory for 5 GB")

    monkeypatch.setattr(step_measurement, "shapes_of", fail)
    events = finished(session(steps=3, probe_steps=1, inspects_data=False))
    [warning] = [event for event in events if isinstance(event, Warned) and event.problem.code == "not-measured"]
    assert warning.message.startswith("Step 1 could not be measured")
    assert "Measuring ended; the training continues." in warning.message
