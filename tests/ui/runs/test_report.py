"""The report of a run is written from its menu."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from studio.export.run_report import run_report
from studio.ui.panels.runs.file_job_bar import FileJobBar
from tests.ui.runs.hand import Gate, MakeRun, choose_from_menu, click, names, press


def test_report_is_written_from_the_menu(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    make_run()
    _, panel = open_project()
    messages: list[str] = []
    panel.status_message.connect(messages.append)
    click(panel, 0)
    choose_from_menu(panel, names(panel)[0], "Export report…")
    qtbot.waitUntil(lambda: messages == [f"Exported to {path}"])
    text = path.read_text("utf-8")
    assert "<h1>Run 1 of " in text and "Confusion matrix" in text


def test_canceled_report_leaves_the_file_as_it_was(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text("before")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    make_run()
    _, panel = open_project()
    gate = Gate(monkeypatch, run_report, "check")
    messages: list[str] = []
    panel.status_message.connect(messages.append)
    click(panel, 0)
    panel.window().commands.run("runs.report")
    qtbot.waitUntil(gate.reached.is_set)
    bar = panel.findChild(FileJobBar)
    assert bar is not None and "report" in bar.message.toolTip() + bar.message.text()
    press(panel, bar.cancel)
    gate.opened.set()
    qtbot.waitUntil(lambda: messages == ["Canceled. No files were written."])
    assert path.read_text() == "before"
