"""Runs that go on, and runs that begin where others ended."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files import project_files
from studio.document.model import Endpoint, Node, Wire
from studio.training import TrainingSession
from studio.ui.window.main_window import MainWindow
from tests.ui.runs.hand import MakeRun, click, digits, press, recorded, values


def test_resumed_run_has_identical_results(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    whole, stopped = make_run(), make_run(batches=50)
    project, panel = open_project()
    project.store.edit("Other", lambda document: edits.set_param(document, "hidden", "out_features", 7))
    click(panel, 0)
    press(panel, panel.bar.details)
    assert panel.details.epochs.value() == 2
    press(panel, panel.details.resume)
    qtbot.waitUntil(lambda: project.runner.state == "done")
    run = project.library.runs[1]
    assert run.state == "done" and run.folder == stopped
    message = "Resuming with the run's graph and settings. The canvas differs: hidden.out_features is 7, not "
    assert message in window.project_views[project].log.toPlainText()
    assert values(run) == recorded(stopped) == recorded(whole)
    assert len(project.library.runs) == 2


def test_stop_saves_a_checkpoint(qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any) -> None:
    whole = make_run()
    project, panel = open_project()
    for count in range(1, 4):
        window.commands.run("run.step")
        qtbot.waitUntil(lambda: project.runner.state == "paused" and project.runner.run.step == count)  # noqa: B023
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: project.runner.state == "stopped")
    run = project.runner.run
    assert run is not None and run.folder is not None
    assert list((run.folder / "checkpoints").glob("step-*3.safetensors"))
    assert panel.list.selected == [run]
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert values(run) == recorded(run.folder) == recorded(whole)


def test_done_run_trains_for_more_epochs(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
    short, long = make_run(), make_run(digits(3))
    project, panel = open_project()
    click(panel, 1)
    press(panel, panel.bar.details)
    assert panel.details.epochs.value() == 4
    panel.details.epochs.setFocus()
    panel.details.epochs.selectAll()
    QTest.keyClicks(panel.details.epochs, "3")
    press(panel, panel.details.resume)
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert values(project.library.runs[0]) == recorded(short) == recorded(long)


def test_a_longer_run_gets_a_new_learning_rate_plan(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    document = edits.add(digits(), "fall", Node("lr_scheduler.PolynomialLR"))
    folder = make_run(edits.connect(document, Wire(Endpoint("adam", "optimizer"), Endpoint("fall", "optimizer"))))
    project, panel = open_project()
    click(panel, 0)
    press(panel, panel.bar.details)
    assert panel.details.epochs.minimum() == 3, "two are done"
    press(panel, panel.details.resume)
    qtbot.waitUntil(lambda: project.runner.state == "done")
    message = "The learning-rate schedule of adam was replanned for 4 epochs: the rate changes from 0 to 0.0025."
    assert message in window.project_views[project].log.toPlainText()
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    rates = [line["learning_rate"] for line in lines if line["event"] == "epoch"]
    assert rates == pytest.approx([0.005, 0.0025, 0.0025, 0.00125])


def on_table(path: Path) -> Path:
    """Has the project read its samples from this file."""
    table = path.with_name("points.csv")
    table.write_text("a,b,label\n" + "".join(f"{n % 7},{n % 5},{n % 2}\n" for n in range(100)))
    project_files.save(edits.retype(digits(), "digits", "data.CSV", {"path": "points.csv", "target": "label"}), path)
    return table


@pytest.mark.parametrize("trouble", ["changed", "gone"])
def test_resume_refuses_changed_or_missing_data(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any, path: Path, trouble: str
) -> None:
    table = on_table(path)
    stopped = make_run(project_files.load(path), batches=2)
    about = (stopped / "run.json").read_bytes()
    table.write_text("a,b,label\n" + "1,2,0\n3,4,1\n" * 50) if trouble == "changed" else table.unlink()
    project, panel = open_project()
    messages: list[str] = []
    project.runner.refused.connect(messages.append)
    click(panel, 0)
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: messages != [])
    [run] = project.library.runs
    assert "points.csv" in messages[0] and window.status._message.text() == messages[0]
    assert (run.state, project.runner.state, project.runner.run) == ("stopped", "idle", None)
    assert panel.run_actions.can_resume() and not project.runner.is_active
    assert (stopped / "run.json").read_bytes() == about
    log = window.project_views[project].log.toPlainText()
    assert "points.csv" in log and f"{run.name} failed" not in log
    assert values(run) == recorded(stopped)
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: len(messages) == 2)
    assert messages[1] == messages[0] and run.state == "stopped"


def test_refused_resume_is_reported_before_a_failed_snapshot(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Autograd panel looks at a run as soon as it is resumed; that fails for the same reason, just afterwards."""
    table = on_table(path)
    make_run(project_files.load(path), batches=2)
    table.unlink()
    project, panel = open_project()
    begun = threading.Event()
    prepare = TrainingSession._prepare

    def prepare_later(session: TrainingSession) -> Any:
        assert begun.wait(60)
        return prepare(session)

    def look(state: str) -> None:
        session = project.runner._session
        if state == "running" and session is not None:
            begun.set()
            assert session.join(60)
            project.runner.request_snapshot()
            while any(thread.name == "gradwire-look" for thread in threading.enumerate()):
                time.sleep(0.01)

    monkeypatch.setattr(TrainingSession, "_prepare", prepare_later)
    project.runner.state_changed.connect(look)
    click(panel, 0)
    with qtbot.waitSignal(project.runner.refused, timeout=10_000):
        window.commands.run("runs.resume")
    assert "points.csv" in window.status._message.text()


def test_refused_resume_keeps_the_state_of_the_run(
    qtbot: QtBot, window: MainWindow, open_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = open_project()
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: project.runner.state == "stopped")
    [run] = project.library.runs
    with monkeypatch.context() as patch:
        patch.setattr(
            "studio.training.training_session.fingerprints", lambda _: [{"path": "digits", "sha256": "other"}]
        )
        with qtbot.waitSignal(project.runner.refused, timeout=100_000):
            window.commands.run("runs.resume")
    assert (run.state, run.is_own, project.runner.state) == ("stopped", True, "idle")
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert run.state == "done"


def test_start_from_the_weights_of_a_run(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    make_run()
    project, panel = open_project()
    click(panel, 0)
    window.commands.run("runs.start-from")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    first, second = map(values, project.library.runs)
    assert np.mean(second[:10]) < np.mean(first[:10]) / 2


def test_run_without_a_valid_checkpoint_shows_a_warning(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    folder = make_run(batches=5)
    (folder / "graph.gradwire").write_text("{")
    project, panel = open_project()
    click(panel, 0)
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: "graph.gradwire" in window.status._message.text())
    assert not project.runner.is_active
