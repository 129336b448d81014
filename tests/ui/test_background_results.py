"""Results of background work arrive through the event loop, never within the request, even if ready at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

import engine
from engine.inspect.layout_folding import Window
from studio.document.model import Document
from studio.lowering.problems.problem import Fix
from studio.lowering.report import Report
from studio.training.autograd.autograd_snapshot import AutogradSnapshot
from studio.ui.latest_task import LatestTask
from studio.ui.panels.autograd.graph_layouter import GraphLayouter
from studio.ui.project.background_checker import BackgroundChecker
from studio.ui.project.fix_previewer import FixPreviewer
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow


class ImmediatePool:
    """Runs work at once, so that callbacks are added to futures that are done."""

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done

    def shutdown(self, **_: object) -> None:
        """There is no thread."""


def delivered_later(qtbot: QtBot, signal: Any, request: Callable[[], object]) -> None:
    received: list[object] = []
    signal.connect(lambda *values: received.append(values))
    request()
    assert received == [], "a result arrived within its request"
    qtbot.waitUntil(lambda: len(received) == 1)


@pytest.fixture
def owner(qtbot: QtBot) -> QObject:
    return QObject()


def test_a_check_of_a_document(qtbot: QtBot, owner: QObject) -> None:
    checker = BackgroundChecker(lambda document, base: Report(), owner)
    checker._pool = ImmediatePool()  # pyright: ignore[reportAttributeAccessIssue]
    delivered_later(qtbot, checker.checked, lambda: checker.request(Document(), None))


def test_the_newest_call(qtbot: QtBot, owner: QObject) -> None:
    task = LatestTask("test", owner)
    task._pool = ImmediatePool()  # pyright: ignore[reportAttributeAccessIssue]
    delivered_later(qtbot, task.finished, lambda: task.request("key", lambda: 1))


def test_the_layout_of_an_autograd_graph(qtbot: QtBot, owner: QObject) -> None:
    graph = engine.inspect.autograd_graph(engine.ones(2, requires_grad=True).exp().sum())
    layouter = GraphLayouter(owner)
    layouter._pool = ImmediatePool()  # pyright: ignore[reportAttributeAccessIssue]
    delivered_later(qtbot, layouter.arranged, lambda: layouter.request(AutogradSnapshot(graph, {}, 0.0)))


def test_the_check_of_a_previewed_fix(qtbot: QtBot, owner: QObject) -> None:
    pool = ImmediatePool()
    previewer = FixPreviewer(Document, Report, lambda document: pool.submit(Report), owner)
    previewer.begin(Fix("Change nothing", lambda document: document))
    previewer._timer.stop()
    delivered_later(qtbot, previewer.changed, previewer._begin_check)
    assert previewer.after is not None


def test_the_layout_of_the_canvas(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    layout = window.project_views[project].canvas.auto_layout
    layout._pool.shutdown(wait=True)
    layout._pool = ImmediatePool()  # pyright: ignore[reportAttributeAccessIssue]
    names = list(project.store.document.nodes)
    delivered_later(qtbot, layout.nodes_placed, lambda: layout.lay_out(names, Window(900, 600, 1)))
