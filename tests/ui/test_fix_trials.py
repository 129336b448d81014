"""Fixes that claim better training are tried in the background, and the Problems panel shows what was measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMenu
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.lowering.report import Report
from studio.training.fixes import fix_measurement
from studio.training.fixes.fix_trials import TrialFigure
from studio.ui.panels.problem_row import ProblemRow
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow

CODE = "learning-rate-too-high"


class Trials:
    """Takes the place of trainings: losses by learning rate, and a gate that trials wait at."""

    def __init__(self) -> None:
        self.losses: Callable[[float], float] = lambda rate: 2.3 if rate > 1 else rate
        self.tried: list[float] = []
        self.gate = threading.Event()
        self.gate.set()

    def run(self, report: Report, steps: int = 200, *, advance: Callable[[float], None], **_: Any) -> TrialFigure:
        rate = report.document.nodes["adam"].params["lr"]
        assert isinstance(rate, float)
        self.tried.append(rate)
        advance(0.5)
        while not self.gate.wait(0.01):
            advance(0.5)
        return TrialFigure("val_loss", self.losses(rate), is_higher_better=False, steps=steps)


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trials]:
    made = Trials()
    monkeypatch.setattr(fix_measurement, "run_first_trial", made.run)
    monkeypatch.setattr(fix_measurement, "run_trial", made.run)
    yield made
    made.gate.set()


def with_high_rate(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.commands.run("view.problems")
    project.store.edit("Set lr", lambda document: edits.set_param(document, "adam", "lr", 10.0))
    qtbot.waitUntil(lambda: CODE in [each.code for each in project.store.report.problems])


def row_of(window: MainWindow, project: Project) -> ProblemRow:
    return next(row for row in window.project_views[project].problems.rows if row.problem.code == CODE)


def text(window: MainWindow, project: Project) -> str:
    status = row_of(window, project)._trial
    assert status is not None and status.isVisible()
    return status.text.text()


def wait_for(qtbot: QtBot, window: MainWindow, project: Project, start: str) -> None:
    qtbot.waitUntil(lambda: text(window, project).startswith(start))


def test_a_narrow_row_leaves_room_for_its_message(
    qtbot: QtBot, window: MainWindow, project: Project, trials: Trials
) -> None:
    """The result wraps at 1024 × 700, where the message was squeezed to a column of single words."""
    trials.losses = lambda rate: {10.0: 2.31, 0.001: 0.84}.get(rate, 1.2)
    with_high_rate(qtbot, window, project)
    wait_for(qtbot, window, project, "200 batches: val_loss 2.31 → 0.84")
    row = row_of(window, project)
    status, message = row._trial, row.findChildren(QLabel)[0]
    assert status is not None
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: row.width() < 520)
    qtbot.waitUntil(lambda: message.width() >= 180)
    assert status.text.height() >= status.text.heightForWidth(status.text.width())
    assert row.rect().contains(status.geometry()) and row.rect().contains(row.button.geometry())


def test_a_result_is_shown_and_found_again_after_undo(
    qtbot: QtBot, window: MainWindow, project: Project, trials: Trials
) -> None:
    trials.losses = lambda rate: {10.0: 2.31, 0.001: 0.84}.get(rate, 1.2)
    with_high_rate(qtbot, window, project)
    wait_for(qtbot, window, project, "200 batches: val_loss 2.31 → 0.84")
    row = row_of(window, project)
    assert row.button.text() == "Set lr to 0.001"
    count = len(trials.tried)
    project.store.edit("Set width", lambda document: edits.set_param(document, "hidden", "out_features", 63))
    qtbot.waitUntil(lambda: len(trials.tried) == 2 * count)
    wait_for(qtbot, window, project, "200 batches")
    project.store.undo()
    wait_for(qtbot, window, project, "200 batches")
    project.store.edit("Move", lambda document: edits.move(document, {"hidden": (0.0, 900.0)}))
    qtbot.waitUntil(lambda: project.store.is_checked)
    wait_for(qtbot, window, project, "200 batches")
    assert len(trials.tried) == 2 * count, "results are cached, also where only positions differ"


def test_the_preview_shows_the_result(qtbot: QtBot, window: MainWindow, project: Project, trials: Trials) -> None:
    with_high_rate(qtbot, window, project)
    wait_for(qtbot, window, project, "200 batches")
    fix = row_of(window, project).problem.fix
    assert fix is not None
    project.store.fix_previewer.begin(fix)
    assert project.store.fix_previewer.lines[-1] == "200 batches: val_loss 2.3 → 0.001"


def test_the_fix_that_trained_best_is_recommended(
    qtbot: QtBot, window: MainWindow, project: Project, trials: Trials
) -> None:
    trials.losses = lambda rate: {10.0: 2.31, 0.001: 1.5}.get(rate, 0.3)
    with_high_rate(qtbot, window, project)
    assert row_of(window, project).button.text() == "Set lr to 0.001"
    qtbot.waitUntil(lambda: row_of(window, project).button.text() == "Set lr to 0.005")
    wait_for(qtbot, window, project, "200 batches: val_loss 2.31 → 0.3")
    fix = row_of(window, project).problem.fix
    assert fix is not None and fix.reason == "Set lr to 0.005 trained better than Set lr to 0.001"


def test_a_fix_that_trains_worse_is_not_recommended(
    qtbot: QtBot, window: MainWindow, project: Project, trials: Trials
) -> None:
    trials.losses = lambda rate: {10.0: 0.3, 0.001: 0.6}.get(rate, 0.9)
    with_high_rate(qtbot, window, project)
    wait_for(qtbot, window, project, "Worse with Set lr to 0.001\n200 batches: val_loss 0.3 → 0.6")
    row = row_of(window, project)
    assert row.problem.fix is None
    menu = QMenu()
    window.project_views[project].problems._fill_menu(row.problem, menu)
    titles = [action.text() for action in menu.actions() if action.text()]
    assert titles[0] == "Set lr to 0.001: 200 batches: val_loss 0.3 → 0.6, worse"
    menu.actions()[0].trigger()
    assert project.store.document.nodes["adam"].params["lr"] == 0.001


def test_a_trial_is_cancelled_and_repeated(qtbot: QtBot, window: MainWindow, project: Project, trials: Trials) -> None:
    trials.gate.clear()
    with_high_rate(qtbot, window, project)
    wait_for(qtbot, window, project, "Trying the fix: ")
    status = row_of(window, project)._trial
    assert status is not None and status.cancel.isVisible()
    QTest.mouseClick(status.cancel, Qt.MouseButton.LeftButton, pos=QPoint(4, 4))
    assert text(window, project) == "Trial cancelled" and status.retry.isVisible()
    qtbot.waitUntil(lambda: project.fix_trials._job is None)
    trials.gate.set()
    count = len(trials.tried)
    project.store.recheck()
    qtbot.wait(50)
    assert len(trials.tried) == count, "a cancelled trial is not repeated by itself"
    QTest.mouseClick(status.retry, Qt.MouseButton.LeftButton, pos=QPoint(4, 4))
    wait_for(qtbot, window, project, "200 batches")


def test_no_trial_runs_while_the_project_trains(
    qtbot: QtBot, window: MainWindow, project: Project, trials: Trials
) -> None:
    trials.gate.clear()
    with_high_rate(qtbot, window, project)
    wait_for(qtbot, window, project, "Trying the fix: ")
    project.runner.step()
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    qtbot.waitUntil(lambda: project.fix_trials._job is None)
    wait_for(qtbot, window, project, "Will be tried after the run")
    trials.gate.set()
    project.runner.stop()
    wait_for(qtbot, window, project, "200 batches")


def test_an_edit_cancels_a_trial_at_once(qtbot: QtBot, window: MainWindow, project: Project, trials: Trials) -> None:
    trials.gate.clear()
    with_high_rate(qtbot, window, project)
    wait_for(qtbot, window, project, "Trying the fix: ")
    project.store.edit("Set lr", lambda document: edits.set_param(document, "adam", "lr", 0.001))
    qtbot.waitUntil(lambda: project.fix_trials._job is None)
    assert project.fix_trials._results.done == {}


def test_nothing_is_tried_while_no_view_shows_problems(
    qtbot: QtBot, window: MainWindow, project: Project, trials: Trials
) -> None:
    window.commands.run("view.code")
    panel = window.project_views[project].problems
    qtbot.waitUntil(lambda: not panel.isVisible())
    project.store.edit("Set lr", lambda document: edits.set_param(document, "adam", "lr", 10.0))
    qtbot.waitUntil(lambda: bool(project.store.report.problems))
    qtbot.wait(1000)
    assert trials.tried == []
    window.commands.run("view.problems")
    wait_for(qtbot, window, project, "200 batches")


def test_a_real_trial(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    with_high_rate(qtbot, window, project)
    wait_for(qtbot, window, project, "200 batches: val_loss ")
    measured = project.fix_trials._results.done
    [found] = [each for each in measured.values() if each is not None]
    best = found.recommended
    assert best is not None and best.before is not None and best.after is not None
    assert best.after.value < 0.5 * best.before.value
