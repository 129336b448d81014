"""A graph break mended from the canvas, by mouse and keys, with its gain measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from engine.compiler import Explanation
from studio.document.files.project_templates import template
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.nodes.python_node import source_of
from studio.training.graph_breaks import step_gain
from studio.training.graph_breaks.step_gain import StepGain
from studio.training.staged_explanation import explain_in_stages
from studio.ui.canvas.overlays.graph_break_popup import GraphBreakPopup
from studio.ui.panels.compile.step_outline import RowKey
from studio.ui.project import graph_break_mender
from studio.ui.project.project import Project
from studio.ui.widgets.code_difference import changed_lines
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard
from tests.ui.compile.actions import LEFT, click

OLD = source_of(template("digits-python").document.nodes["balance"].params)
REWRITTEN = "active = active + (x.sum(0) > 0).sum()"


@pytest.fixture(scope="session")
def with_code() -> Explanation:
    """The template with a Python node that breaks the graph, before its kernels are compiled."""
    document = template("digits-python").document
    items = explain_in_stages(lambda: check(document, catalogue()))
    return next(item for item in items if isinstance(item, Explanation))


@pytest.fixture
def project(qtbot: QtBot, window: MainWindow) -> Project:
    project = window.open_projects.from_template(template("digits-python"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    return project


@pytest.fixture
def popup(
    qtbot: QtBot, window: MainWindow, project: Project, with_code: Explanation, tell: Callable[..., None]
) -> GraphBreakPopup:
    """The popup, opened by its key, after its search."""
    tell(with_code)
    assert window.canvas is not None
    window.canvas.setFocus()
    QTest.keyClick(window, Qt.Key.Key_B, CTRL | SHIFT)
    popup = window.project_views[project].break_mending.popup
    qtbot.waitUntil(popup.isVisible)
    qtbot.waitUntil(lambda: not project.break_mender.is_searching("balance"))
    return popup


def source(project: Project) -> str:
    return source_of(project.store.document.nodes["balance"].params)


def test_break_is_mended_with_keys_and_its_gain_is_measured(
    qtbot: QtBot, window: MainWindow, project: Project, popup: GraphBreakPopup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_gain, "_SECONDS", 0.1)
    monkeypatch.setattr(step_gain._Step, "ready_share", lambda _: 1.0)  # without waiting for kernels: NumPy computes
    assert popup.path == "balance"
    assert popup.apply.hasFocus()
    assert f"+     {REWRITTEN}" not in popup.difference.toPlainText(), "common indentation is left out"
    assert f"+ {REWRITTEN}" in popup.difference.toPlainText()
    assert "results and gradients are equal" in popup.status.text()
    steps = len(project.store.history)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    assert REWRITTEN in source(project)
    assert len(project.store.history) == steps + 1
    applied = project.break_mender.applied("balance")
    assert applied is not None
    qtbot.waitUntil(lambda: applied.state == "measured")
    gain = applied.gain
    assert isinstance(gain, StepGain)
    assert gain.before > 0 and gain.after > 0
    assert (gain.breaks_before, gain.breaks_after) == (60, 0)
    assert popup.status.text().startswith("One step: ") and "→" in popup.status.text()
    bar = window.project_views[project].compile.gain
    assert bar.text.text().startswith("balance: Compute on the whole tensor. One step: ")
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert source(project) == OLD
    assert project.break_mender.applied() is None
    assert bar.isHidden()
    assert popup.apply.isVisible(), "the break and its rewrite are back, without another search"
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL | SHIFT)
    assert REWRITTEN in source(project)
    assert popup.status.text().startswith("One step: "), "the measured gain is kept"
    QTest.keyClick(popup, Qt.Key.Key_Escape)
    assert not popup.isVisible()
    assert window.canvas is not None and window.canvas.hasFocus()


def test_break_is_mended_with_the_mouse(
    qtbot: QtBot, window: MainWindow, project: Project, popup: GraphBreakPopup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the marker. The measurement is cancelled; the rewrite stays."""
    monkeypatch.setattr(graph_break_mender, "measure_gain", _endless)
    canvas = window.canvas
    assert canvas is not None
    user = MouseAndKeyboard(canvas)
    user.click(QPoint(4, canvas.viewport().height() - 4))
    assert not popup.isVisible(), "a click on the canvas closes the popup"
    [(_, marker)] = window.project_views[project].overlay.break_layer.markers()
    user.click(canvas.camera.to_view(marker.center()).toPoint())
    assert popup.isVisible()
    click(popup.apply)
    assert REWRITTEN in source(project)
    qtbot.waitUntil(lambda: "50%" in popup.status.text())
    assert popup.cancel.isVisible() and not popup.apply.isVisible()
    click(popup.cancel)
    applied = project.break_mender.applied()
    assert applied is not None and applied.state == "cancelled"
    assert popup.status.text() == "The gain was not measured."
    assert popup.again.isVisible()
    assert REWRITTEN in source(project)


def _endless(*_: object) -> object:
    while True:
        yield step_gain.GainProgress("timing", 0.5)


def test_popup_shows_what_was_measured_while_another_project_was_in_front(
    qtbot: QtBot, window: MainWindow, project: Project, popup: GraphBreakPopup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The popup comes back with its tab, in its current state, and Escape on the canvas closes it."""
    goes_on = threading.Event()

    def measure(*_: object) -> Iterator[object]:
        yield step_gain.GainProgress("timing", 0.5)
        while not goes_on.is_set():
            yield step_gain.GainProgress("timing", 0.5)
        yield StepGain(2e-3, 1e-3, 9, 60, 0)

    monkeypatch.setattr(graph_break_mender, "measure_gain", measure)
    click(popup.apply)
    qtbot.waitUntil(lambda: "50%" in popup.status.text())
    window.open_projects.from_template(template("digits-mlp"))
    assert not popup.isVisible()
    goes_on.set()
    applied = project.break_mender.applied("balance")
    assert applied is not None
    qtbot.waitUntil(lambda: applied.state == "measured")
    tabs = next(each for each in window.findChildren(QTabBar) if each.tabText(0).startswith("Write a layer"))
    QTest.mouseClick(tabs, LEFT, pos=tabs.tabRect(0).center())
    assert popup.isVisible() and popup.status.text().startswith("One step: 2 ms → 1 ms")
    assert popup.again.isVisible() and not popup.cancel.isVisible()
    assert window.canvas is not None
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert not popup.isVisible()


def test_popup_fits_into_a_small_window(
    qtbot: QtBot, window: MainWindow, project: Project, popup: GraphBreakPopup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its buttons stay in reach of the mouse, and come back to full size in a larger window."""
    monkeypatch.setattr(graph_break_mender, "measure_gain", _endless)
    canvas = window.canvas
    assert canvas is not None
    full = popup.size()
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: popup.width() < full.width())
    for _ in range(2):
        assert canvas.viewport().rect().contains(popup.geometry())
        for button in filter(QWidget.isVisible, (popup.apply, popup.cancel, popup.details)):
            assert popup.rect().contains(button.geometry())
        if popup.apply.isVisible():
            click(popup.apply)
            qtbot.waitUntil(lambda: "50%" in popup.status.text())
    click(popup.cancel)
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    window.resize(1400, 900)
    qtbot.waitUntil(lambda: popup.size() == full)


def test_undo_brings_the_mark_back(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    popup: GraphBreakPopup,
    whole: Explanation,
    tell: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph_break_mender, "measure_gain", lambda *_: iter((StepGain(2e-3, 1e-3, 9, 60, 0),)))
    monkeypatch.setattr(graph_break_mender, "_steps", lambda *_: iter((StepGain(2e-3, 1e-3, 9, 60, 0),)))
    overlay = window.project_views[project].overlay
    tell(whole)
    click(popup.apply)
    qtbot.waitUntil(lambda: not overlay.break_layer.markers())
    assert "One step: 2 ms → 1 ms (2.0× faster, median of 9 steps)" in popup.status.text()
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert len(overlay.break_layer.markers()) == 1
    assert not project.explainer.is_stale
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL | SHIFT)
    assert not overlay.break_layer.markers()


def test_context_menu_and_compile_panel_lead_to_the_popup(
    qtbot: QtBot, window: MainWindow, project: Project, popup: GraphBreakPopup
) -> None:
    canvas = window.canvas
    assert canvas is not None
    click(popup.details)
    panel = window.project_views[project].compile
    qtbot.waitUntil(panel.isVisible)
    assert panel.outline.key == RowKey("break", 0)
    popup.close_popup()
    click(panel.details.mend)
    assert popup.isVisible()
    popup.close_popup()
    [(_, marker)] = window.project_views[project].overlay.break_layer.markers()
    at = canvas.camera.to_view(marker.center()).toPoint()
    QTest.mouseClick(canvas.viewport(), Qt.MouseButton.RightButton, pos=at)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert [action.text() for action in menu.actions()] == ["Mend graph break…", "Show in Compile panel"]
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(menu.actions()[0]).center())
    qtbot.waitUntil(popup.isVisible)


def test_break_outside_of_code_has_no_rewrite(
    qtbot: QtBot, window: MainWindow, project: Project, broken: Explanation, tell: Callable[..., None]
) -> None:
    tell(broken)
    QTest.keyClick(window, Qt.Key.Key_B, CTRL | SHIFT)
    popup = window.project_views[project].break_mending.popup
    qtbot.waitUntil(popup.isVisible)
    assert popup.path == "relu"
    assert not popup.apply.isVisible()
    assert "not in the code of a Python node" in popup.status.text()
    assert popup.details.hasFocus()


def test_step_without_a_break_says_so(
    qtbot: QtBot, window: MainWindow, project: Project, whole: Explanation, tell: Callable[..., None]
) -> None:
    tell(whole)
    messages: list[str] = []
    mending = window.project_views[project].break_mending
    mending.status_message.connect(messages.append)
    QTest.keyClick(window, Qt.Key.Key_B, CTRL | SHIFT)
    qtbot.waitUntil(lambda: len(messages) == 2)
    assert messages[-1] == "The compiled step has no graph break."
    assert not mending.popup.isVisible()


def test_difference_has_no_common_indentation() -> None:
    assert changed_lines("def f(x):\n    a = 1\n    return x", "def f(x):\n    a = 2\n    return x") == [
        (" ", "def f(x):"),
        ("-", "    a = 1"),
        ("+", "    a = 2"),
        (" ", "    return x"),
    ]
    inner = ["    b = 0", "    a = 1", "    return x"]
    old = "\n".join(["def f(x):", "    c = 0", *inner])
    assert changed_lines(old, old.replace("a = 1", "a = 2"))[0] == (" ", "b = 0")
