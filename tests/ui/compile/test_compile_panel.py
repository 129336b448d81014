"""The Compile panel in the real window, with mouse and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.compiler import Explanation
from engine.compiler.break_reasons import REASONS
from studio.document import edits
from studio.training.staged_explanation import Stage
from studio.ui.panels.compile.compile_panel import CompilePanel
from studio.ui.panels.compile.step_outline import RowKey
from studio.ui.project import compile_explainer as explainer_module
from studio.ui.project.project import Project
from studio.ui.window import help_page
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard
from tests.ui.compile.actions import click, click_row, explain, marked


def test_explain_fills_the_empty_panel(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(whole)
    qtbot.waitUntil(panel.empty.isVisible)
    assert panel.empty.button is not None
    click(panel.empty.button)
    qtbot.waitUntil(panel.outline.isVisible)
    header = panel.header
    assert header.figures["Breaks"].text == "0"
    assert header.figures["Kernels"].text.endswith("ready")
    assert "uncompiled" in header.figures["One step"].text
    assert panel.outline.topLevelItem(0).text(0) == "No graph breaks"  # pyright: ignore[reportOptionalMemberAccess]
    click_row(panel, RowKey("kernel", 1, 1))
    assert marked(window) == {"hidden", "relu"}
    assert project.store.selection == frozenset(), "only a person selects"
    detail = panel.details.detail
    assert detail.nodes == ("hidden", "relu")
    assert "def kernel" in panel.details.editor.toPlainText()
    panel.details.copy()
    assert QApplication.clipboard().text() == detail.code
    QTest.keyClick(panel.outline, Qt.Key.Key_Down)
    assert panel.details.detail.title == "Kernel 2"
    assert marked(window) == {"dropout"}


def test_selecting_a_node_selects_its_kernels(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(whole)
    explain(qtbot, window, project)
    assert window.canvas is not None
    user = MouseAndKeyboard(window.canvas)
    user.click(user.node("dropout"))
    assert project.store.selection == {"dropout"}
    titles = [item.text(0) for item in panel.outline.selectedItems()]
    assert titles
    assert all("dropout" in item.text(1) for item in panel.outline.selectedItems())
    assert panel.details.detail.title == titles[0]


def test_break_has_a_reason_and_activates_its_node(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    explain(qtbot, window, project)
    assert panel.header.figures["Breaks"].text.startswith("1 ")
    click_row(panel, RowKey("break", 0))
    detail = panel.details.detail
    assert detail.title == "Branch on tensor values"
    assert detail.summary.startswith("once per step, ")
    assert detail.nodes == ("relu",)
    assert dict(detail.facts)["Reason"].startswith("Python converted a tensor to a bool")
    assert "engine.where" in dict(detail.facts)["Fix"]
    assert "engine.where(y.mean() > 0, y + 1, y)" in detail.code
    click(panel.details.help)
    page = panel.details.page
    assert page is not None
    assert "Compute both sides and choose" in page.text.toPlainText()
    page.close()
    click_row(panel, RowKey("break", 0))
    QTest.keyClick(panel.outline, Qt.Key.Key_Return)
    assert project.store.selection == {"relu"}


def test_segment_details_list_ops_and_guards(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    explain(qtbot, window, project)
    click_row(panel, RowKey("segment", 1))
    facts = dict(panel.details.detail.facts)
    assert "32×1×8×8 float32" in facts["Reused for"]
    assert facts["Ends"] == "with a graph break: Branch on tensor values"
    assert marked(window) >= {"hidden", "relu"}
    assert "linear → 32×256 float32" in panel.details.detail.code
    click_row(panel, RowKey("recompile", 0))
    assert panel.details.detail.title == "Recompile"
    assert any("was" in text or "instead" in text for _, text in panel.details.detail.facts)


def test_edit_shows_the_stale_notice_until_explained_again(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(whole)
    explain(qtbot, window, project)
    project.store.edit("Move", lambda document: edits.move(document, {"relu": (0, 400)}))
    assert not panel.stale.isVisible()
    project.store.edit("Widen", lambda document: edits.set_param(document, "hidden", "out_features", 99))
    assert panel.stale.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert not panel.stale.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL | SHIFT)
    assert panel.stale.isVisible()
    qtbot.waitUntil(lambda: project.store.is_checked)
    click(panel.stale.button)
    qtbot.waitUntil(lambda: project.explainer.state == "ready" and not project.explainer.is_stale)
    assert not panel.stale.isVisible()


def test_failed_explanation_can_be_retried(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    explain(qtbot, window, project)
    assert panel.failed.isVisible()
    assert project.explainer.problem == project.store.report.errors[0].message
    project.store.undo()
    qtbot.waitUntil(lambda: project.store.is_checked)
    tell(RuntimeError("the disk caught fire"))
    assert panel.failed.button is not None
    click(panel.failed.button)
    qtbot.waitUntil(lambda: "caught fire" in project.explainer.problem)
    tell(whole)
    click(panel.failed.button)
    qtbot.waitUntil(panel.outline.isVisible)


def test_cancel_an_explanation(
    qtbot: QtBot, window: MainWindow, project: Project, panel: CompilePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []

    def endless(*_: object, **__: object) -> Iterator[Stage]:
        try:
            while True:
                yield Stage("compiling", 3, 12)
        finally:
            closed.append(True)

    monkeypatch.setattr(explainer_module, "explain_in_stages", endless)
    QTest.keyClick(window, Qt.Key.Key_E, CTRL | SHIFT)
    qtbot.waitUntil(lambda: "3 of 12" in panel.header._stage.text())
    click(panel.header.cancel)
    qtbot.waitUntil(lambda: closed == [True])
    assert project.explainer.state == "empty"
    assert panel.empty.isVisible()


def test_closing_the_project_ends_the_thread(
    qtbot: QtBot, window: MainWindow, project: Project, panel: CompilePanel
) -> None:
    project.explainer.explain()
    thread = project.explainer._thread
    assert thread is not None
    window.open_projects.close(project)
    qtbot.waitUntil(lambda: not thread.is_alive())


@pytest.mark.parametrize("reason", list(REASONS))
def test_each_break_reason_has_a_help_page_with_examples(reason: str) -> None:
    assert help_page.section("reference/graph-breaks.md", reason)
    assert len(help_page.examples("reference/graph-breaks.md", reason)) >= 2
