"""An exception in a check is reported."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from studio.document.model import Document
from studio.lowering.report import Report
from studio.ui.project.background_checker import BackgroundChecker


def test_an_error_in_the_check_is_a_problem(qtbot: QtBot) -> None:
    def failing(document: Document, base: Path | None) -> Report:
        raise ZeroDivisionError("by 0")

    checker, reports = BackgroundChecker(failing), list[Report]()
    checker.checked.connect(lambda _, report: reports.append(report))
    checker.request(Document(), None)
    qtbot.waitUntil(lambda: len(reports) == 1)
    checker.close()
    [problem] = reports[0].problems
    assert problem.code == "check-failed" and "ZeroDivisionError: by 0" in problem.message
