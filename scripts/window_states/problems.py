"""The Problems panel, and fixes."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtTest import QTest

from screenshots import open_template, until
from studio.document import edits
from studio.document.model import Document, Node
from studio.ui.panels.problem_row import ProblemRow
from studio.ui.window.main_window import MainWindow
from window_states.registry import LATIN, state

_LAYERS = ("nn.Linear", "nn.Conv2d", "nn.LSTM", "nn.Dropout", "nn.BatchNorm1d")


@state("problems")
def problems_two(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    project.scope.select(["logits"])
    window.show_problems()


@state()
def problems_200(window: MainWindow, folder: Path) -> None:
    """Different problems, so that they are not merged."""
    project = open_template(window)

    def change(document: Document) -> Document:
        for index in range(220):
            name = f"{LATIN}_{index}" if index % 5 == 0 else f"node{index}"
            at = (index % 20 * 200.0, 600 + index // 20 * 120.0)
            document = edits.add(document, name, Node(_LAYERS[index % len(_LAYERS)], {f"unknown_{index}": index}, at))
        return document

    project.store.edit("Add 220 nodes", change)
    until(lambda: project.store.is_checked)
    window.show_problems()
    window.canvas.canvas_actions.fit_all(animated=False)  # type: ignore[union-attr]


@state()
def fix_preview(window: MainWindow, folder: Path) -> None:
    problems_two(window, folder)
    QTest.qWait(300)
    panel = window.docks["problems"].panel
    assert panel is not None
    button = next(row.button for row in panel.findChildren(ProblemRow) if row.problem.fix is not None)
    window.activateWindow()
    button.setFocus()
    QTest.qWait(1000)


@state("problems")
def problems_warnings(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Remove", lambda document: edits.remove(document, ["relu"]))
    until(lambda: project.store.is_checked)
    window.show_problems()


@state("problems")
def problems_carried_state(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "shakespeare-lstm")
    name = next(key for key, node in project.store.document.nodes.items() if node.type == "nn.LSTM")
    project.store.edit("Carry", lambda document: edits.set_param(document, name, "carry_state", True))
    until(lambda: project.store.is_checked)
    project.scope.select([name])
    window.show_problems()
