"""A failed run becomes a minimal reproduction in the Runs panel."""

from __future__ import annotations

from typing import Any

from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.ui.panels.runs.file_job_bar import FileJobBar
from studio.ui.window.main_window import MainWindow
from tests.ui.runs.hand import MakeRun, click, digits, press


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


def test_a_run_that_did_not_fail_has_none(make_run: MakeRun, open_project: Any) -> None:
    make_run(batches=1)
    _, panel = open_project()
    click(panel, 0)
    assert not panel.run_actions.can_reproduce()


def test_cancelling_writes_nothing(qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any) -> None:
    optimizer = next(name for name, node in digits().nodes.items() if node.type.startswith("optim."))
    folder = make_run(edits.set_param(digits(), optimizer, "lr", 100.0), steps=20)
    _, panel = open_project()
    messages: list[str] = []
    panel.status_message.connect(messages.append)
    click(panel, 0)
    window.commands.run("runs.reproduce")
    bar = panel.findChild(FileJobBar)
    assert bar is not None
    press(panel, bar.cancel)
    qtbot.waitUntil(lambda: not panel.run_actions.jobs.is_busy)
    assert messages[-1] == "Canceled. No files were written."
    assert not (folder / "reproduction").exists()
