"""The badge, the panel and the overlay while a run trains; the switch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTabBar
from pytestqt.qtbot import QtBot

from engine import fit
from engine.compiler import Explanation
from engine.compiler.explanation_data import COMPILING
from studio.document import edits
from studio.ui.canvas.coloring.compile_overlay import CompileOverlay
from studio.ui.panels.compile.compile_panel import CompilePanel
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL
from tests.ui.compile.actions import click


@pytest.fixture
def endless(project: Project) -> Project:
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=10_000))
    return project


def stop(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not project.runner.is_active)


def test_status_badge_and_panel_follow_a_run(
    qtbot: QtBot, window: MainWindow, endless: Project, overlay: CompileOverlay
) -> None:
    badge = window.status.compile_button
    assert not badge.isVisible()
    seen: list[str] = []
    endless.runner.events.connect(lambda _: seen.append(badge.text().strip()))
    window.commands.run("run.start")
    window.docks["compile"].reveal()
    overlay.show_overlay(True)
    qtbot.waitUntil(lambda: badge.text().strip() in ("Compiled", "Fully compiled"))
    assert {text.partition(" ")[0] for text in seen} <= {"", "Preparing", "Compiling", "Compiled", "Fully"}
    explainer = endless.explainer
    qtbot.waitUntil(lambda: explainer.explanation is not None and explainer.is_live)
    panel = window.project_views[endless].compile
    qtbot.waitUntil(lambda: panel.outline.isVisible() and panel.header.badge.text() == badge.text())
    assert "kernels" in badge.toolTip()
    assert overlay.regions._drawings
    window.docks["runs"].reveal()
    click(badge)
    qtbot.waitUntil(panel.isVisible)
    stop(qtbot, window, endless)


def test_window_stays_responsive_while_kernels_compile(
    qtbot: QtBot, window: MainWindow, endless: Project, overlay: CompileOverlay
) -> None:
    window.commands.run("run.start")
    window.docks["compile"].reveal()
    overlay.show_overlay(True)
    qtbot.waitUntil(lambda: endless.explainer.explanation is not None)
    ticks: list[int] = []
    timer = QTimer()
    timer.timeout.connect(lambda: ticks.append(endless.runner.runs[-1].progress.step))
    timer.start(10)
    qtbot.waitUntil(lambda: len(ticks) >= 100 and ticks[-1] > ticks[0])
    timer.stop()
    stop(qtbot, window, endless)


def test_turn_off_compilation_and_undo(qtbot: QtBot, window: MainWindow, endless: Project, panel: CompilePanel) -> None:
    assert panel.header.switch.isChecked()
    assert window.commands.action("run.compile").isChecked()
    click(panel.header.switch)
    assert not endless.store.document.training.compile
    assert not window.commands.action("run.compile").isChecked()
    assert window.status.compile_button.text().strip() == "Compilation off"
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: endless.runner.run is not None and endless.runner.run.progress.step > 2)
    assert endless.runner.run is not None
    assert endless.runner.run.compile_state is None
    assert window.status.compile_button.text().strip() == "Running without compilation"
    stop(qtbot, window, endless)
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert endless.store.document.training.compile
    assert panel.header.switch.isChecked()
    window.commands.run("run.compile")
    assert not endless.store.document.training.compile


def test_badge_of_a_short_run_stops_reporting_progress(
    qtbot: QtBot, window: MainWindow, endless: Project, panel: CompilePanel
) -> None:
    """The run ends while its kernels compile: neither badge still reports compilation."""
    window.commands.run("run.step")
    run = endless.runner
    qtbot.waitUntil(lambda: run.state == "paused")
    assert run.run is not None and run.run.compiled
    run.run.compile_state = fit.CompileState(2, "interpreted", 0, 0, 16, 0, 0)  # as on a slow machine
    window.status.refresh()
    assert window.status.compile_button.text().strip() == "Compiling (0 of 16 kernels ready)"
    stop(qtbot, window, endless)
    for badge in (window.status.compile_button, panel.header.badge):
        assert badge.isVisible()
        assert badge.text().strip() == "Run ended before compilation finished"
        assert "NumPy" in badge.toolTip()


def test_kernels_that_compile_after_a_run_become_ready(
    qtbot: QtBot,
    window: MainWindow,
    endless: Project,
    panel: CompilePanel,
    whole: Explanation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No step follows that could report them."""
    states = [_with_note(whole, COMPILING), _with_note(whole, COMPILING), _with_note(whole, "")]
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: endless.runner.state == "paused")
    stop(qtbot, window, endless)
    monkeypatch.setattr(endless.runner, "explanation", lambda: states.pop(0) if len(states) > 1 else states[0])
    endless.explainer._has_unread_state = True
    for title in ("Runs", "Compile"):
        bar, index = _tab_of(window, title)
        QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(index).center())
    qtbot.waitUntil(lambda: _times_of_kernels(panel) == {"compiling"})
    qtbot.waitUntil(lambda: _times_of_kernels(panel) == {""})
    assert panel.header.figures["Kernels"].text.endswith("ready")
    assert not endless.explainer._kernel_timer.isActive()


def test_a_kernel_that_failed_is_not_shown_as_compiling(panel: CompilePanel, whole: Explanation) -> None:
    panel.outline.show_explanation(_with_note(whole, "no C compiler was found"))
    assert _times_of_kernels(panel) == {"failed"}


def _with_note(found: Explanation, note: str) -> Explanation:
    [segment] = found.segments
    kernels = tuple(replace(each, note=note) if each.kind == "kernel" else each for each in segment.kernels)
    return replace(found, segments=(replace(segment, kernels=kernels),))


def _times_of_kernels(panel: CompilePanel) -> set[str]:
    return {item.text(3) for key, item in panel.outline._items() if key.kind == "kernel"}


def _tab_of(window: MainWindow, title: str) -> tuple[QTabBar, int]:
    return next(
        (bar, index)
        for bar in window.findChildren(QTabBar)
        for index in range(bar.count())
        if bar.tabText(index) == title and bar.isVisible()
    )
