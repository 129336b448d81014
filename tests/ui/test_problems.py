"""The rows of the Problems panel with mouse and keyboard."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.problems.quick_fixes import assign
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.problem_row import ProblemRow
from studio.ui.panels.problems_panel import ProblemsPanel
from studio.ui.project.project import Project
from studio.ui.project.project_store import ProjectStore
from studio.ui.widgets.labels import ElidedLabel
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.conftest import FakeChecker, delete_store


def labels(row: ProblemRow) -> list[QLabel | ElidedLabel]:
    """The name of the node and the message."""
    texts = [each for each in row.findChildren(QWidget) if isinstance(each, QLabel | ElidedLabel)]
    return [each for each in texts if each.text()]


def test_rows_are_not_rebuilt_while_a_button_is_pressed(qtbot: QtBot) -> None:
    """A press that commits another field triggers a check report between press and release."""
    fix = Fix("Set p to 0.5", lambda document: edits.set_param(document, "drop", "p", 0.5))
    wrong = Problem("error", "bad", "p is 2.", node="drop", fix=fix)
    checker = FakeChecker()
    checker.report = Report(problems=(wrong,))
    store = ProjectStore(Document({"drop": Node("nn.Dropout", {"p": 2})}), catalogue(), checker)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.resize(600, 300)
    panel.show()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 1)
    button = panel.rows[0].button
    qtbot.mousePress(button, Qt.MouseButton.LeftButton)
    checker.report = Report(problems=(Problem("error", "other", "Another one.", node="drop"), wrong))
    store.edit("Note", lambda document: edits.rename(document, "drop", "drop"))
    store.recheck()
    qtbot.waitUntil(lambda: len(store.report.problems) == 2)
    assert len(panel.rows) == 1
    qtbot.mouseRelease(button, Qt.MouseButton.LeftButton)
    assert store.document.nodes["drop"].params["p"] == 0.5
    qtbot.waitUntil(lambda: len(panel.rows) == 2)
    delete_store(store)


def test_equal_problems_share_a_row_that_selects_all_nodes(qtbot: QtBot) -> None:
    names = [f"l{number}" for number in range(6)]
    fixes = [assign(name, "p", 0.5) for name in names]
    checker = FakeChecker()
    checker.report = Report(
        tuple(
            Problem("warning", "odd", f"{name} is odd.", node=name, fix=fix)
            for name, fix in zip(names, fixes, strict=True)
        )
    )
    store = ProjectStore(Document({name: Node("nn.Dropout") for name in names}), catalogue(), checker)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.resize(600, 300)
    panel.show()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 1)
    [row] = panel.rows
    assert row.problem.message == "l0 is odd. This also applies to l1, l2, l3, l4 and 1 more."
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    assert store.selection == set(names)
    qtbot.mouseClick(row.button, Qt.MouseButton.LeftButton)
    assert all(node.params == {"p": 0.5} for node in store.document.nodes.values())
    store.undo()
    assert all(not node.params for node in store.document.nodes.values())
    delete_store(store)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("drop expects 64 features.", "expects 64 features."),
        ("drop: the file is gone.", "the file is gone."),
        ("dropping samples.", "dropping samples."),
        ("p is 2.", "p is 2."),
    ],
)
def test_row_contains_the_node_name_once(qtbot: QtBot, message: str, text: str) -> None:
    checker = FakeChecker()
    checker.report = Report(problems=(Problem("error", "bad", message, node="drop"),))
    store = ProjectStore(Document({"drop": Node("nn.Dropout")}), catalogue(), checker)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.show()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 1)
    [row] = panel.rows
    assert [each.text() for each in labels(row)] == ["drop", text]
    assert row.accessibleName() == f"error: {message}"
    delete_store(store)


def test_focus_moves_to_the_next_problem_after_a_fix(qtbot: QtBot) -> None:
    """The rows are rebuilt after a problem was fixed; the focus must stay in the list."""
    fixes = [Fix(f"Set p to {p}", lambda document, p=p: edits.set_param(document, "drop", "p", p)) for p in (0.5, 0.4)]
    wrong = [Problem("error", f"bad-{n}", f"{n} is bad.", node="drop", fix=fix) for n, fix in enumerate(fixes)]
    checker = FakeChecker()
    checker.report = Report(problems=(*wrong, Problem("warning", "other", "Another one.", node="drop")))
    store = ProjectStore(Document({"drop": Node("nn.Dropout", {"p": 2})}), catalogue(), checker)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.resize(600, 300)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 3 and panel.isActiveWindow())
    panel.rows[0].button.setFocus()
    for p in (0.5, 0.4):
        remaining = checker.report.problems[1:]
        checker.report = Report(problems=remaining)
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
        assert store.document.nodes["drop"].params["p"] == p
        qtbot.waitUntil(lambda problems=remaining: len(panel.rows) == len(problems))
    panel.activateWindow()  # the platform of tests deactivates it when a tooltip closes
    qtbot.waitUntil(panel.rows[0].hasFocus)
    delete_store(store)


def test_focus_moves_to_the_canvas_after_the_last_fix(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    window.show_problems()
    view = window.project_views[project]
    [row] = view.problems.rows
    qtbot.waitUntil(row.button.isVisible)
    qtbot.mouseClick(row.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: project.store.is_checked and not view.problems.rows)
    assert view.canvas.hasFocus()


def test_rows_of_long_names_fit_the_panel(qtbot: QtBot) -> None:
    name = "feature_extractor_" * 6
    fix = Fix("Set p to 0.5", lambda document: edits.set_param(document, name, "p", 0.5))
    checker = FakeChecker()
    checker.report = Report((Problem("error", "bad", f"The wire {name}.output is not valid.", node=name, fix=fix),))
    store = ProjectStore(Document({name: Node("nn.Dropout")}), catalogue(), checker)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.resize(720, 300)
    panel.show()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 1 and panel.rows[0].button.isVisible())
    [row] = panel.rows
    assert not row.button.visibleRegion().isEmpty()
    assert row.button.visibleRegion().boundingRect() == row.button.rect()
    shown, message = labels(row)
    assert shown.width() < shown.sizeHint().width() and shown.toolTip() == name
    assert message.height() >= 2 * message.fontMetrics().height()  # the name is broken between lines
    delete_store(store)


def test_a_hint_has_an_icon_and_a_color_everywhere(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    hint = Problem("hint", "run-failed", "hidden could be smaller.", node="hidden")
    project.store.set_run_problems([hint])
    project.store.select(["hidden"])
    window.docks["problems"].reveal()
    qtbot.wait(50)
    assert not window.grab().isNull()
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm)
    assert any("could be smaller" in each.text() for each in form.findChildren(QLabel))
