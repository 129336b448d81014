"""The dialog of a single experiment: overfitting one batch, and the learning-rate sweep."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document
from studio.training.experiments import diagnosis_run
from studio.ui.project.project import Project
from studio.ui.trials.diagnosis_dialog import DiagnosisDialog
from studio.ui.window.main_window import MainWindow


def open_trial(window: MainWindow, project: Project, command: str) -> DiagnosisDialog:
    window.commands.run(command)
    dialog = window.project_views[project].trial
    assert isinstance(dialog, DiagnosisDialog)
    return dialog


def wait_until_done(qtbot: QtBot, dialog: DiagnosisDialog) -> None:
    qtbot.waitUntil(lambda: dialog.close_button.text() == "Close", timeout=60_000)


def button(dialog: DiagnosisDialog, start: str) -> QPushButton:
    matches = [candidate for candidate in dialog.findChildren(QPushButton) if candidate.text().startswith(start)]
    assert matches, f"no button {start!r} beside: {dialog.verdict.text()}"
    return matches[-1]


def set_rate(qtbot: QtBot, project: Project, rate: float) -> None:
    project.store.edit("Set lr", lambda document: edits.set_param(document, "adam", "lr", rate))
    qtbot.waitUntil(lambda: project.store.is_checked)


def test_apply_and_undo_the_suggested_learning_rate(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    set_rate(qtbot, project, 3e-4)
    dialog = open_trial(window, project, "run.find-rate")
    assert dialog.windowTitle() == "Learning-rate sweep" and dialog.view.list.count() == 2
    wait_until_done(qtbot, dialog)
    assert "fastest" in dialog.view.summary.text() or "too low" in dialog.verdict.text()
    use = button(dialog, "Set lr to ")
    rate = float(use.text().split()[-1])
    before = project.store.document
    QTest.mouseClick(use, Qt.MouseButton.LeftButton)
    assert project.store.document.nodes["adam"].params["lr"] == rate > 3e-4
    assert project.store.history.undo_title.startswith(f"Set lr to {rate:g}")
    qtbot.waitUntil(lambda: window.project_views[project].trial is None)
    project.store.undo()
    assert project.store.document is before


def test_overfit_passes_for_a_network_that_learns(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    dialog = open_trial(window, project, "run.overfit")
    assert dialog.windowTitle() == "Overfit one batch" and dialog.view.list.count() == 1
    wait_until_done(qtbot, dialog)
    assert dialog.verdict.text().endswith("so the network can learn.")


def test_overfit_fails_for_a_network_that_cannot_learn(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    def spoil(document: Document) -> Document:
        document = edits.set_flag(document, ["hidden"], frozen=True)
        return edits.set_param(document, "adam", "lr", 1e-7)

    project.store.edit("Spoil it", spoil)
    qtbot.waitUntil(lambda: project.store.is_checked)
    dialog = open_trial(window, project, "run.overfit")
    wait_until_done(qtbot, dialog)
    step = dialog.view.next_step.text()
    assert "does not learn" in dialog.verdict.text()
    assert "hidden" in step and "1e-07 (adam)" in step and "mute dropout" in step
    QTest.mouseClick(button(dialog, "Run all experiments"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.project_views[project].trial not in (None, dialog))
    complete = window.project_views[project].trial
    assert isinstance(complete, DiagnosisDialog) and complete.view.list.count() == len(diagnosis_run.EXPERIMENTS)


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

    monkeypatch.setattr(diagnosis_run, "ProjectCopy", broken)
    dialog = open_trial(window, project, "run.overfit")
    wait_until_done(qtbot, dialog)
    assert "Out of memory" in dialog.verdict.text()


@pytest.mark.parametrize("by", ["button", "escape", "another trial", "end"])
def test_closed_trial_dialog_is_deleted(qtbot: QtBot, window: MainWindow, project: Project, by: str) -> None:
    def shown() -> list[QWidget]:
        return [
            candidate
            for candidate in QApplication.topLevelWidgets()
            if isinstance(candidate, DiagnosisDialog) and candidate.isVisible()
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
