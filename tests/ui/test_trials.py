"""The dialogs of the learning rate finder and of overfitting one batch."""

from __future__ import annotations

import math

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.training import learning_checks
from studio.ui.project.project import Project
from studio.ui.trials.learning_rate_dialog import LearningRateDialog
from studio.ui.trials.trial_dialog import TrialDialog
from studio.ui.window.main_window import MainWindow


@pytest.fixture(autouse=True)
def eager_training(qtbot: QtBot, project: Project) -> None:
    """Train eagerly, which takes the same steps and compiles no kernels."""
    project.store.edit("Do not compile", lambda document: edits.set_training(document, compile=False))
    qtbot.waitUntil(lambda: project.store.is_checked)


def open_trial(window: MainWindow, project: Project, command: str) -> TrialDialog:
    window.commands.run(command)
    dialog = window.project_views[project].trial
    assert dialog is not None
    return dialog


def wait_until_done(qtbot: QtBot, dialog: TrialDialog) -> None:
    qtbot.waitUntil(lambda: dialog.close_button.text() == "Close")


def button(dialog: TrialDialog, start: str) -> QPushButton:
    matches = [candidate for candidate in dialog.findChildren(QPushButton) if candidate.text().startswith(start)]
    assert matches, f"no button {start!r} beside: {dialog.verdict.text()}"
    return matches[0]


def test_apply_and_undo_the_suggested_learning_rate(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    dialog = open_trial(window, project, "run.find-rate")
    wait_until_done(qtbot, dialog)
    assert "fastest" in dialog.verdict.text()
    use = button(dialog, "Use ")
    rate = float(use.text().split()[1])
    assert 1e-4 <= rate <= 1 and f"{rate:.0e}"[1:3] == "e-"
    before = project.store.document
    QTest.mouseClick(use, Qt.MouseButton.LeftButton)
    assert project.store.document.nodes["adam"].params["lr"] == rate
    assert project.store.history.undo_title == f"Set learning rate to {rate:g}"
    qtbot.waitUntil(lambda: window.project_views[project].trial is None)
    project.store.undo()
    assert project.store.document is before


def test_learning_rate_of_a_cycle_is_its_maximum(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    def change(document: Document) -> Document:
        document = edits.add(document, "cycle", Node("lr_scheduler.OneCycleLR", {"max_lr": 1e-6}))
        return edits.connect(document, Wire(Endpoint("adam", "optimizer"), Endpoint("cycle", "optimizer")))

    project.store.edit("Add a cycle", change)
    qtbot.waitUntil(lambda: project.store.is_checked)
    dialog = open_trial(window, project, "run.find-rate")
    wait_until_done(qtbot, dialog)
    QTest.mouseClick(button(dialog, "Use "), Qt.MouseButton.LeftButton)
    nodes = project.store.document.nodes
    assert nodes["cycle"].params["max_lr"] == nodes["adam"].params["lr"] != 0.005


def test_overfit_passes_for_a_network_that_learns(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    dialog = open_trial(window, project, "run.overfit")
    wait_until_done(qtbot, dialog)
    assert dialog.verdict.text().startswith("The network can learn: ")


def test_overfit_fails_for_a_network_that_cannot_learn(
    qtbot: QtBot, window: MainWindow, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_checks, "OVERFIT_STEPS", 10)

    def spoil(document: Document) -> Document:
        document = edits.set_flag(document, ["hidden"], frozen=True)
        return edits.set_param(document, "adam", "lr", 1e-7)

    project.store.edit("Spoil it", spoil)
    qtbot.waitUntil(lambda: project.store.is_checked)
    dialog = open_trial(window, project, "run.overfit")
    wait_until_done(qtbot, dialog)
    verdict = dialog.verdict.text()
    assert "still" in verdict and "hidden" in verdict and "1e-07 (adam)" in verdict and "Mute dropout" in verdict
    QTest.mouseClick(button(dialog, "Find a learning rate"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.project_views[project].trial not in (None, dialog))


def test_escape_cancels_a_trial(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    dialog = open_trial(window, project, "run.find-rate")
    before = project.store.document
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.project_views[project].trial is None)
    assert project.store.document is before


def test_closing_the_project_ends_a_trial(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    task = open_trial(window, project, "run.overfit")._task
    window.open_projects.close(project)
    assert not task.is_running


def test_graph_with_errors_opens_no_trial(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Break", lambda document: edits.remove(document, ["cross_entropy"]))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    window.commands.run("run.find-rate")
    assert window.project_views[project].trial is None


def test_failed_trial_shows_the_reason(
    qtbot: QtBot, window: MainWindow, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **named: object) -> None:
        raise MemoryError

    monkeypatch.setattr(learning_checks, "lower", broken)
    dialog = open_trial(window, project, "run.overfit")
    wait_until_done(qtbot, dialog)
    assert "Out of memory" in dialog.verdict.text()


def test_learning_rate_axis_exists_before_the_first_step(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    dialog = open_trial(window, project, "run.find-rate")
    assert isinstance(dialog, LearningRateDialog)
    low, high = dialog.plot.item.getViewBox().viewRange()[0]
    assert low <= math.log10(learning_checks.MIN_RATE) < math.log10(learning_checks.MAX_RATE) <= high
    qtbot.waitUntil(lambda: "loss" in dialog.verdict.text())
    assert dialog.plot.item.getViewBox().viewRange()[0] == [low, high]
    wait_until_done(qtbot, dialog)


@pytest.mark.parametrize("by", ["button", "escape", "another trial", "end"])
def test_closed_trial_dialog_is_deleted(qtbot: QtBot, window: MainWindow, project: Project, by: str) -> None:
    def shown() -> list[QWidget]:
        return [
            candidate
            for candidate in QApplication.topLevelWidgets()
            if isinstance(candidate, TrialDialog) and candidate.isVisible()
        ]

    dialog = open_trial(window, project, "run.overfit")
    assert shown() == [dialog]
    match by:
        case "button":
            QTest.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)
        case "escape":
            QTest.keyClick(dialog, Qt.Key.Key_Escape)
        case "end":
            wait_until_done(qtbot, dialog)
            QTest.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)
        case _:
            window.commands.run("run.find-rate")
            assert len(shown()) == 1
            QTest.keyClick(shown()[0], Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not shown())
    assert window.project_views[project].trial is None
