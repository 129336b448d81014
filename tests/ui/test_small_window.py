"""The window on a small screen, or at 200%."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from studio.document.templates import template
from studio.ui.canvas.detail import Detail
from studio.ui.window import MainWindow


def test_a_project_opens_where_its_labels_can_be_read(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1024, 700)
    project = window.workspace.from_template(template("digits-residual"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    canvas = window.desks[project].canvas
    qtbot.waitUntil(canvas.isVisible)
    assert canvas.canvas.surface.zoom.detail is Detail.FULL
    left = min(box.left for box in canvas.canvas.boxes().values())
    assert canvas.camera.visible.left() <= left


def test_the_bar_of_plots_keeps_its_labels(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1440, 900)
    project = window.workspace.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.start")
    bar = window.desks[project].runs.bar
    qtbot.waitUntil(bar.isVisible)
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not project.runner.is_active)
    named = [button for button in bar.findChildren(QToolButton) if button.text() in ("Train", "Validation")]
    assert len(named) == 2
    for button in named:
        words = button.fontMetrics().horizontalAdvance(button.text())
        assert button.width() >= button.sizeHint().width() > words + button.iconSize().width(), bar.width()
    assert bar.slider.isVisible()
    assert bar.minimumSizeHint().width() <= bar.width()
