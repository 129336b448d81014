"""The window on a small screen, or at 200%."""

from __future__ import annotations

from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from studio.document.project_templates import template
from studio.ui import number_format
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.theme import fonts
from studio.ui.window.main_window import MainWindow


def test_a_project_opens_where_its_labels_can_be_read(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1024, 700)
    project = window.open_projects.from_template(template("digits-residual"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    canvas = window.project_views[project].canvas
    qtbot.waitUntil(canvas.isVisible)
    assert canvas.canvas_scene.paint_context.zoom.detail is LevelOfDetail.FULL
    left = min(box.left for box in canvas.canvas_scene.boxes().values())
    assert canvas.camera.visible.left() <= left


def test_the_bar_of_plots_keeps_its_labels(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1440, 900)
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.start")
    bar = window.project_views[project].runs.bar
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


def test_curves_can_be_read_in_a_small_window(qtbot: QtBot, window: MainWindow) -> None:
    """Beside the list, not squeezed under it. What the bar has no room for is in its menu."""
    window.resize(1024, 700)
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    panel = window.project_views[project].runs
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused" and len(panel.plots) > 1)
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not project.runner.is_active)
    plots = [panel.plots[name] for name in ("loss", "accuracy")]
    qtbot.waitUntil(lambda: all(plot.isVisible() for plot in plots))
    QApplication.processEvents()
    for plot in plots:
        seen = plot.visibleRegion().boundingRect()
        assert seen.size() == plot.size() and seen.height() >= 150, "none is cut off"
    bar = panel.bar
    assert bar.details.geometry().right() <= bar.width() <= window.width() and bar.axis.isVisible()
    titles = [action.text() for action in bar.plots.menu().actions()]
    [logarithmic] = [action for action in bar.plots.menu().actions() if action.text() == "Logarithmic vertical axis"]
    logarithmic.trigger()
    assert bar.shown.log_y and panel._shown.log_y
    narrow = panel.list.width()
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: panel.list.width() > narrow + 50)
    qtbot.waitUntil(lambda: "Logarithmic vertical axis" not in [action.text() for action in bar.plots.menu().actions()])
    [button] = [each for each in bar.findChildren(QToolButton) if each.toolTip() == "Logarithmic vertical axis"]
    assert "Copy plots as image" in titles and button.isVisible() and button.isChecked()


def test_the_scale_of_gradient_norms_can_be_read_in_a_small_window(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1024, 700)
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    panel = window.project_views[project].autograd
    window.commands.run("run.look")
    qtbot.waitUntil(lambda: bool(panel.view.items_by_id))
    QApplication.processEvents()
    legend = panel._legend
    metrics = QFontMetrics(fonts.interface(11))
    bounds = [metrics.horizontalAdvance(number_format.norm(bound)) for bound in legend._scale.bounds]
    assert legend.isVisible() and legend.width() >= sum(bounds) + 72 + 2 * 8
