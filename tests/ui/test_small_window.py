"""The window on a small screen, or at 200%."""

from __future__ import annotations

from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from studio.document.files.project_templates import template
from studio.ui import number_format
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.theme import fonts
from studio.ui.window.main_window import MainWindow


def test_project_opens_at_a_readable_zoom(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1024, 700)
    project = window.open_projects.from_template(template("digits-residual"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    canvas = window.project_views[project].canvas
    qtbot.waitUntil(canvas.isVisible)
    assert canvas.canvas_scene.paint_context.zoom.detail is LevelOfDetail.FULL
    left = min(box.left for box in canvas.canvas_scene.boxes().values())
    assert canvas.camera.visible.left() <= left


def test_plot_toolbar_keeps_its_labels(qtbot: QtBot, window: MainWindow) -> None:
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
        text_width = button.fontMetrics().horizontalAdvance(button.text())
        assert button.width() >= button.sizeHint().width() > text_width + button.iconSize().width(), bar.width()
    assert bar.slider.isVisible()
    assert bar.minimumSizeHint().width() <= bar.width()


def test_curves_are_readable_in_a_small_window(qtbot: QtBot, window: MainWindow) -> None:
    """Curves are beside the list, not below it. Toolbar buttons without space are in the toolbar's menu."""
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
        visible = plot.visibleRegion().boundingRect()
        assert visible.size() == plot.size() and visible.height() >= 150, "none is cut off"
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


def test_gradient_norm_scale_is_readable_in_a_small_window(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1024, 700)
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    panel = window.project_views[project].autograd
    window.commands.run("run.look")
    qtbot.waitUntil(lambda: panel.shown is not None)
    QApplication.processEvents()
    legend = panel.toolbar.legend
    metrics = QFontMetrics(fonts.interface(11))
    bounds = [metrics.horizontalAdvance(number_format.norm(bound)) for bound in legend._scale.bounds]
    assert legend.isVisible() and legend.width() >= sum(bounds) + 72 + 2 * 8


def test_the_default_layout_does_not_widen_the_window(window: MainWindow) -> None:
    window.resize(1024, 700)
    QApplication.processEvents()
    window.docks.restore_default()
    QApplication.processEvents()
    assert (window.width(), window.height()) == (1024, 700)
