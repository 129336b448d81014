"""The list of problems under the pointer."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.problems.quick_fixes import assign
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.ui.panels.problems_panel import ProblemsPanel
from studio.ui.project.project_store import ProjectStore
from tests.ui.canvas.conftest import Checks, dispose


def test_rows_stay_while_a_button_is_down(qtbot: QtBot) -> None:
    """A press that ends the input in another field brings a report between press and release."""
    fix = Fix("Set p to 0.5", lambda document: edits.set_param(document, "drop", "p", 0.5))
    wrong = Problem("error", "bad", "p is 2.", node="drop", fix=fix)
    checks = Checks()
    checks.report = Report(problems=(wrong,))
    store = ProjectStore(Document({"drop": Node("nn.Dropout", {"p": 2})}), catalogue(), checks)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.resize(600, 300)
    panel.show()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 1)
    button = panel.rows[0].button
    qtbot.mousePress(button, Qt.MouseButton.LeftButton)
    checks.report = Report(problems=(Problem("error", "other", "Another one.", node="drop"), wrong))
    store.edit("Note", lambda document: edits.rename(document, "drop", "drop"))
    store.recheck()
    qtbot.waitUntil(lambda: len(store.report.problems) == 2)
    assert len(panel.rows) == 1
    qtbot.mouseRelease(button, Qt.MouseButton.LeftButton)
    assert store.document.nodes["drop"].params["p"] == 0.5
    qtbot.waitUntil(lambda: len(panel.rows) == 2)
    dispose(store)


def test_equal_problems_are_one_row_that_selects_all_nodes(qtbot: QtBot) -> None:
    names = [f"l{number}" for number in range(6)]
    fixes = [assign(name, "p", 0.5) for name in names]
    checks = Checks()
    checks.report = Report(
        tuple(
            Problem("warning", "odd", f"{name} is odd.", node=name, fix=fix)
            for name, fix in zip(names, fixes, strict=True)
        )
    )
    store = ProjectStore(Document({name: Node("nn.Dropout") for name in names}), catalogue(), checks)
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
    dispose(store)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("drop expects 64 features.", "expects 64 features."),
        ("drop: the file is gone.", "the file is gone."),
        ("dropping samples.", "dropping samples."),
        ("p is 2.", "p is 2."),
    ],
)
def test_a_row_names_its_node_once(qtbot: QtBot, message: str, words: str) -> None:
    checks = Checks()
    checks.report = Report(problems=(Problem("error", "bad", message, node="drop"),))
    store = ProjectStore(Document({"drop": Node("nn.Dropout")}), catalogue(), checks)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.show()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 1)
    [row] = panel.rows
    assert [each.text() for each in row.findChildren(QLabel) if each.text()] == ["drop", words]
    assert row.accessibleName() == f"error: {message}"
    dispose(store)


def test_keys_go_on_to_the_next_problem(qtbot: QtBot) -> None:
    """The rows are rebuilt when a problem is gone: the focus stays."""
    fixes = [Fix(f"Set p to {p}", lambda document, p=p: edits.set_param(document, "drop", "p", p)) for p in (0.5, 0.4)]
    wrong = [Problem("error", f"bad-{n}", f"{n} is bad.", node="drop", fix=fix) for n, fix in enumerate(fixes)]
    checks = Checks()
    checks.report = Report(problems=(*wrong, Problem("warning", "other", "Another one.", node="drop")))
    store = ProjectStore(Document({"drop": Node("nn.Dropout", {"p": 2})}), catalogue(), checks)
    panel = ProblemsPanel(store)
    qtbot.addWidget(panel)
    panel.resize(600, 300)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(lambda: store.is_checked and len(panel.rows) == 3 and panel.isActiveWindow())
    panel.rows[0].button.setFocus()
    for left, p in ((2, 0.5), (1, 0.4)):
        checks.report = Report(problems=checks.report.problems[1:])
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
        assert store.document.nodes["drop"].params["p"] == p
        qtbot.waitUntil(lambda: len(panel.rows) == left)  # noqa: B023
    assert panel.rows[0].hasFocus()
    dispose(store)
