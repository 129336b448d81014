"""The window on a small screen, or at 200%."""

from __future__ import annotations

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
