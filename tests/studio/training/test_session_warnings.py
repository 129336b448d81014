"""Warnings of a run that are about its machine and its files, not about its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studio.training import TrainingSession, Warned, training_session
from studio.training.runs.run_record import RunRecord
from tests.studio.training.test_session import wait_for


def _warnings(events: list[Any]) -> list[tuple[str, str]]:
    return [(event.problem.code, event.message) for event in events if isinstance(event, Warned)]


def test_a_failed_look_at_the_autograd_graph_does_not_end_the_run(session, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(training_session, "capture_autograd", failing)
    run: TrainingSession = session()
    run.step()
    events = wait_for(run, "paused")
    run.capture_autograd()
    while not _warnings(events):
        events += run.events(0.1)
    run.resume()
    events += wait_for(run, "done")
    [(code, message)] = _warnings(events)
    assert code == "no-autograd-graph" and "no room" in message


def test_a_file_system_without_locks_is_reported(session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunRecord, "is_locked", property(lambda _: False))
    run: TrainingSession = session(out=tmp_path / "run", steps=1)
    run.start()
    assert run.join(600)
    [(code, message)] = _warnings(run.events())
    assert code == "no-lock" and "is on a file system without locks" in message
