"""A failed run becomes a minimal reproduction in the Runs panel."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.ui.panels.runs import reproduction_job
from studio.ui.panels.runs.file_job_bar import FileJobBar
from studio.ui.window.main_window import MainWindow
from tests.ui.runs.hand import Gate, MakeRun, click, digits, press


def test_a_diverged_run_is_reduced_and_the_result_is_opened(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    optimizer = next(name for name, node in digits().nodes.items() if node.type.startswith("optim."))
    folder = make_run(edits.set_param(digits(), optimizer, "lr", 100.0), steps=20)
    _, panel = open_project()
    click(panel, 0)
    assert panel.run_actions.can_reproduce()
    window.commands.run("runs.reproduce")
    bar = panel.findChild(FileJobBar)
    assert bar is not None and bar.isVisible()
    qtbot.waitUntil(lambda: window.project is not None and window.project.store.name == "reproduction")
    assert (folder / "reproduction" / "reproduction.py").exists()
    assert window.project is not None and "Minimal reproduction." in window.project.store.document.description


def test_a_failed_run_is_reduced_from_the_menu_of_its_problem(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, reproduction_job, "load_failed_run")
    optimizer = next(name for name, node in digits().nodes.items() if node.type.startswith("optim."))
    project = window.open_projects.new(edits.set_param(digits(epochs=1), optimizer, "lr", 100.0), "diverging")
    problems = window.project_views[project].problems
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.run is not None and not project.runner.is_active)
    window.docks["problems"].reveal()
    qtbot.waitUntil(lambda: any(project.store.origin(row.problem) == "run" for row in problems.rows))
    row = next(row for row in problems.rows if project.store.origin(row.problem) == "run")
    QTest.mouseClick(row.more, Qt.MouseButton.LeftButton)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    [action] = [each for each in menu.actions() if each.text() == "Make minimal reproduction"]
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())
    jobs = window.project_views[project].runs.run_actions.jobs
    qtbot.waitUntil(gate.reached.is_set)
    jobs.cancel()
    gate.opened.set()
    qtbot.waitUntil(lambda: not jobs.is_busy)


def test_a_run_that_did_not_fail_has_none(make_run: MakeRun, open_project: Any) -> None:
    make_run(batches=1)
    _, panel = open_project()
    click(panel, 0)
    assert not panel.run_actions.can_reproduce()


def test_cancelling_writes_nothing(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimizer = next(name for name, node in digits().nodes.items() if node.type.startswith("optim."))
    folder = make_run(edits.set_param(digits(), optimizer, "lr", 100.0), steps=20)
    _, panel = open_project()
    gate = Gate(monkeypatch, reproduction_job, "load_failed_run")
    messages: list[str] = []
    panel.status_message.connect(messages.append)
    click(panel, 0)
    window.commands.run("runs.reproduce")
    bar = panel.findChild(FileJobBar)
    assert bar is not None
    press(panel, bar.cancel)
    gate.opened.set()
    qtbot.waitUntil(lambda: not panel.run_actions.jobs.is_busy)
    assert messages[-1] == "Canceled. No files were written."
    assert not (folder / "reproduction").exists()
