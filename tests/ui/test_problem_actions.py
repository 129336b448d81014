"""Severities, menus, dismissal and origin of problems in the Problems panel, with mouse and keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu
from pytestqt.qtbot import QtBot

from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.lowering.problems.quick_fixes import assign
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.projects import digits
from studio.ui.panels.problem_row import ProblemRow
from studio.ui.panels.problems_panel import ProblemsPanel
from studio.ui.project.project import Project
from studio.ui.project.project_store import ProjectStore
from studio.ui.window.help_page import HelpPage
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.conftest import FakeChecker, delete_store

RATE = Problem(
    "warning",
    "learning-rate-too-high",
    "adam.lr is 0.5, but usual rates are below 0.1. Set lr to 0.001.",
    node="adam",
    fix=assign("adam", "lr", 0.001).because("It is usual for Adam."),
    others=(assign("adam", "lr", 0.01),),
    evidence={"lr": 0.5, "usual": [0.0001, 0.1]},
)
HINT = Problem("hint", "too-many-classes", "linear has 12 scores for 10 classes.", node="linear")
ERROR = Problem("error", "shape-mismatch", "linear expects 3 features.", node="linear")


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[ProblemsPanel]:
    """A panel with an error, a warning and a hint."""
    checker = FakeChecker()
    checker.report = Report(problems=(HINT, RATE, ERROR))
    document = Document({"adam": Node("optim.Adam", {"lr": 0.5}), "linear": Node("nn.Linear")})
    store = ProjectStore(document, catalogue(), checker)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.resize(900, 400)
    panel.show()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 3)
    yield panel
    delete_store(store)


def headings(panel: ProblemsPanel) -> list[str]:
    return [each.text() for each in panel.findChildren(QLabel) if each.property("role") == "section"]


def opened_menu(qtbot: QtBot) -> QMenu:
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


def choose(menu: QMenu, start: str) -> None:
    """Click the entry whose text begins so."""
    action = next(each for each in menu.actions() if each.text().startswith(start))
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())


def test_groups_and_filters(qtbot: QtBot, panel: ProblemsPanel) -> None:
    assert [row.problem for row in panel.rows] == [ERROR, RATE, HINT]
    assert headings(panel) == ["Errors", "Warnings", "Hints"]
    assert [button.text() for button in panel.header.filters.values()] == ["1", "1", "1"]
    QTest.mouseClick(panel.header.filters["hint"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: [row.problem for row in panel.rows] == [ERROR, RATE])
    panel.header.filters["error"].setFocus()
    QTest.keyClick(panel.header.filters["error"], Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: [row.problem for row in panel.rows] == [RATE])
    assert headings(panel) == [], "one group needs no heading"


def test_a_row_says_why_the_fix_is_recommended(panel: ProblemsPanel) -> None:
    texts = [each.text() for each in panel.rows[1].findChildren(QLabel)]
    assert "It is usual for Adam" in texts


def test_the_menu_of_a_row_has_the_recommended_fix_first(qtbot: QtBot, panel: ProblemsPanel) -> None:
    store = panel._store
    QTest.mouseClick(panel.rows[1].more, Qt.MouseButton.LeftButton)
    menu = opened_menu(qtbot)
    assert [each.text() for each in menu.actions() if not each.isSeparator()] == [
        "Set lr to 0.001 (recommended)",
        "Set lr to 0.01",
        "Do not show again",
        "Explain: Learning rate too high",
    ]
    choose(menu, "Set lr to 0.01")
    assert store.document.nodes["adam"].params == {"lr": 0.01}
    store.undo()
    assert store.document.nodes["adam"].params == {"lr": 0.5}


def test_an_error_cannot_be_dismissed(qtbot: QtBot, panel: ProblemsPanel) -> None:
    panel.rows[0].setFocus()
    QTest.mouseClick(panel.rows[0].more, Qt.MouseButton.LeftButton)
    menu = opened_menu(qtbot)
    assert not next(each for each in menu.actions() if each.text() == "Do not show again").isEnabled()
    QTest.keyClick(menu, Qt.Key.Key_Escape)


def test_dismiss_undo_and_restore(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    document = digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10}), "softmax": "nn.Softmax"}
    )
    [problem] = check(document, catalogue()).problems
    store = project.store
    store.edit("Open", lambda _: document)
    window.show_problems()
    panel = window.project_views[project].problems
    qtbot.waitUntil(lambda: [row.problem.code for row in panel.rows] == [problem.code])
    QTest.mouseClick(panel.rows[0].more, Qt.MouseButton.LeftButton)
    choose(opened_menu(qtbot), "Do not show again")
    assert store.document.nodes["softmax"].dismissed == (problem.code,)
    qtbot.waitUntil(lambda: not panel.rows and panel.header.dismissed.isVisible())
    assert window.status.check.text() == "No problems"
    store.undo()
    qtbot.waitUntil(lambda: len(panel.rows) == 1 and not panel.header.dismissed.isVisible())
    store.redo()
    qtbot.waitUntil(lambda: not panel.rows)
    panel.header.dismissed.setFocus()
    assert panel.header.dismissed.text() == "1 dismissed"
    choose(panel.header.dismissed.menu(), "Show “") if panel.header.dismissed.menu().isVisible() else (
        panel.header.dismissed.menu().actions()[0].trigger()
    )
    assert store.document == document
    qtbot.waitUntil(lambda: len(panel.rows) == 1)


def test_problems_of_a_run_say_so_and_stay_when_another_is_dismissed(
    qtbot: QtBot, window: MainWindow, project: Project
) -> None:
    store = project.store
    first = Problem("warning", "diverged", "Training diverges.", node="adam")
    second = Problem("warning", "slow-data", "Waiting for data takes 40% of each step.", node="batches")
    store.set_run_problems([first, second])
    panel = window.project_views[project].problems
    window.show_problems()
    qtbot.waitUntil(lambda: len(panel.rows) == 2)
    assert all("From the last run" in [each.text() for each in row.findChildren(QLabel)] for row in panel.rows)
    QTest.mouseClick(panel.rows[0].more, Qt.MouseButton.LeftButton)
    choose(opened_menu(qtbot), "Do not show again")
    qtbot.waitUntil(lambda: [row.problem.code for row in panel.rows] == ["slow-data"])


def test_explain_opens_the_help_page(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.set_run_problems([Problem("warning", "squashed-scores", "out applies softmax.", node="adam")])
    panel = window.project_views[project].problems
    window.show_problems()
    qtbot.waitUntil(lambda: len(panel.rows) == 1)
    QTest.mouseClick(panel.rows[0].more, Qt.MouseButton.LeftButton)
    choose(opened_menu(qtbot), "Explain: ")
    [page] = window.findChildren(HelpPage)
    assert "How it is recognised" in page.text.toPlainText()
    page.close()


def test_the_diagnosis_is_offered(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.show_problems()
    panel = window.project_views[project].problems
    QTest.mouseClick(panel.header.diagnose, Qt.MouseButton.LeftButton)
    trial = window.project_views[project].trial
    assert trial is not None
    trial.close()
    assert not panel.findChildren(ProblemRow)
