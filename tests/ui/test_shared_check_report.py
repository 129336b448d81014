"""The window infers shapes once per edit, in the checker's thread; code and runs are generated from that report."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files.project_templates import template
from studio.lowering.analysis import node_evaluation
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Node type and thread of each inference that was not cached."""
    found_evaluations: list[tuple[str, str]] = []
    evaluate: Callable[..., Any] = node_evaluation._evaluate_node

    def counted(node_type: Any, *arguments: Any) -> Any:
        found_evaluations.append((node_type.key, threading.current_thread().name.partition("_")[0]))
        return evaluate(node_type, *arguments)

    monkeypatch.setattr(node_evaluation, "_evaluate_node", counted)
    return found_evaluations


def test_edit_is_inferred_once_for_code_and_run(
    qtbot: QtBot, window: MainWindow, evaluations: list[tuple[str, str]]
) -> None:
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.docks["code"].reveal()
    code = window.project_views[project].code
    qtbot.waitUntil(lambda: code.program is not None)
    evaluations.clear()
    project.store.edit("Widen", lambda document: edits.set_param(document, "hidden", "out_features", 77))
    qtbot.waitUntil(lambda: "out_features=77" in code.editor.toPlainText())
    once = list(evaluations)
    assert once.count(("nn.Linear", "check")) == 2, "the layer that was edited and the one that it feeds"
    assert {thread for _, thread in once} == {"check"}
    project.runner.step()
    qtbot.waitUntil(lambda: project.runner.state == "paused" and project.runner.steps == 1)
    project.runner.stop()
    qtbot.waitUntil(lambda: not project.runner.is_active)
    assert evaluations == once, "neither the code nor the run infers again"


def test_run_after_an_edit_uses_the_report_of_that_edit(
    qtbot: QtBot, project: Project, evaluations: list[tuple[str, str]]
) -> None:
    project.store.edit("Widen", lambda document: edits.set_param(document, "hidden", "out_features", 78))
    assert not project.store.is_checked
    project.runner.step()
    qtbot.waitUntil(lambda: project.runner.state == "paused" and project.runner.steps == 1)
    session = project.runner._session
    assert session is not None and session.program is not None
    assert "out_features=78" in session.program.source
    project.runner.stop()
    qtbot.waitUntil(lambda: not project.runner.is_active)
    assert {thread for _, thread in evaluations} == {"check"}


def test_code_waits_for_the_report_of_the_current_document(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.docks["code"].reveal()
    code = window.project_views[project].code
    qtbot.waitUntil(lambda: code.program is not None)
    before = code.program
    project.store.edit("Widen", lambda document: edits.set_param(document, "hidden", "out_features", 79))
    code.refresh()
    assert code.program is before
    qtbot.waitUntil(lambda: "out_features=79" in code.editor.toPlainText())
