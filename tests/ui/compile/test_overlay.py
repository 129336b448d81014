"""Compiled regions and graph breaks on the canvas, with mouse and keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.compiler import Explanation
from studio.document import edits
from studio.ui.canvas.coloring.compile_overlay import CompileOverlay
from studio.ui.canvas.coloring.region_style import RegionStyle
from studio.ui.panels.compile.step_outline import RowKey
from studio.ui.project.project import Project
from studio.ui.theme import theme as themes
from studio.ui.theme.theme import contrast
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import CTRL, SHIFT, MouseAndKeyboard
from tests.ui.compile.actions import LEFT, click, explain, marked


def color_at(window: MainWindow, x: float, y: float) -> str:
    """Color of a canvas point on the screen."""
    assert window.canvas is not None
    pixel = window.canvas.camera.to_view(QPointF(x, y)).toPoint()
    return window.canvas.viewport().grab().toImage().pixelColor(pixel).name()


def test_shortcut_shows_and_hides_regions(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    explain(qtbot, window, project)
    assert window.canvas is not None
    boxes = window.canvas.canvas_scene.boxes()
    points = [(boxes[name].right - 20, boxes[name].bottom + 12) for name in ("hidden", "logits", "batches")]
    plain = [color_at(window, *point) for point in points]
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_R, CTRL | SHIFT)
    assert overlay.is_on
    assert overlay.legend.isVisible()
    assert window.commands.action("view.color-regions").isChecked()
    assert window.settings.color_by_of(project.store.path) == "regions"
    first, second, none = (color_at(window, *point) for point in points)
    style = RegionStyle(themes.current())
    assert (first, second) == (style.fill(1).name(), style.fill(2).name())
    assert none == plain[2]
    QTest.keyClick(window.canvas, Qt.Key.Key_R, CTRL | SHIFT)
    assert [color_at(window, *point) for point in points] == plain
    assert not overlay.regions.isVisible()
    assert not overlay.legend.isVisible()


def test_click_on_a_break_marker_opens_its_popup_which_leads_to_its_row(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    window.docks["runs"].reveal()
    project.explainer.explain()
    qtbot.waitUntil(lambda: project.explainer.state == "ready")
    overlay.show_overlay(True)
    [(graph_break, marker)] = overlay.break_layer.markers()
    assert graph_break.node == "relu"
    assert window.canvas is not None
    position = window.canvas.camera.to_view(marker.center()).toPoint()
    QTest.mouseMove(window.canvas.viewport(), position)
    QTest.mouseClick(window.canvas.viewport(), LEFT, pos=position)
    popup = window.project_views[project].break_mending.popup
    assert popup.isVisible()
    assert popup.path == "relu"
    panel = window.project_views[project].compile
    assert not panel.isVisible()
    click(popup.details)
    qtbot.waitUntil(panel.isVisible)
    assert panel.outline.key == RowKey("break", 0)
    assert panel.details.detail.help == "bool"
    assert marked(window) == {"relu"}
    assert not project.store.selection, "the canvas was not clicked"


def test_regions_follow_their_nodes(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(whole)
    explain(qtbot, window, project)
    overlay.show_overlay(True)
    assert window.canvas is not None
    user = MouseAndKeyboard(window.canvas)
    box = window.canvas.canvas_scene.nodes["accuracy"].box
    user.drag(user.node("accuracy"), user.node("accuracy") - QPoint(0, 24))
    moved = window.canvas.canvas_scene.nodes["accuracy"].box
    assert moved.top < box.top
    assert color_at(window, moved.right - 20, moved.top - 12) == RegionStyle(themes.current()).fill(1).name()
    project.store.edit("Remove", lambda document: edits.remove(document, ["accuracy"]))
    assert all("accuracy" not in drawing.region.nodes for drawing in overlay.regions._drawings or ())
    assert project.explainer.is_stale


def test_markers_keep_a_readable_size(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    explain(qtbot, window, project)
    overlay.show_overlay(True)
    assert window.canvas is not None
    for scale in (1.5, 1.0, 0.5, 0.34):
        window.canvas.camera.zoom_to(scale, animated=False)
        [(_, marker)] = overlay.break_layer.markers()
        assert marker.height() * scale >= 20
    window.canvas.viewport().grab()


def test_legend_and_minimap_do_not_overlap(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    """In a small window, wherever one looks; also where the map has only room for its tab, and when that unfolds."""
    tell(broken)
    window.resize(1024, 700)
    explain(qtbot, window, project)
    assert window.canvas is not None
    view, legend, small = window.canvas, overlay.legend, window.canvas.overlays.minimap
    boxes = view.canvas_scene.boxes().values()
    centers = [
        QPointF(x, y)
        for x in range(int(min(box.left for box in boxes)), int(max(box.right for box in boxes)), 150)
        for y in range(int(min(box.top for box in boxes)), int(max(box.bottom for box in boxes)), 60)
    ]
    under, unfolded = 0, 0
    for center in centers:
        overlay.show_overlay(False)
        view.camera.center_on(center)
        before = small.geometry() if small.isVisible() else QRect()
        overlay.show_overlay(True)
        QApplication.processEvents()
        assert legend.isVisible()
        under += before.intersects(legend.geometry())
        if not small.isVisible():
            continue
        assert not small.geometry().intersects(legend.geometry()), center
        view.camera.center_on(center + QPointF(30, 20))
        assert not small.geometry().intersects(legend.geometry()), center
        if small.isVisible() and small.is_collapsed:
            tab = small.geometry()
            middle = QPointF(small.rect().center())
            QApplication.sendEvent(small, QEnterEvent(middle, middle, QPointF(small.mapToGlobal(middle.toPoint()))))
            assert not small.geometry().intersects(legend.geometry()), center
            assert not small.is_collapsed and small.geometry().contains(tab)
            unfolded += 1
            QApplication.sendEvent(small, QEvent(QEvent.Type.Leave))
    assert under and unfolded, "both were put to the test"


@pytest.mark.parametrize("name", ["light", "dark"])
def test_region_colors_have_enough_contrast(name: str) -> None:
    theme = themes.load(name)
    style, ground = RegionStyle(theme), theme.color("background")
    for segment in range(1, len(theme.series) + 1):
        assert contrast(style.line(segment), ground) >= 3, segment
        assert contrast(style.text(segment), ground) >= 4.5, segment
        for back in (style.fill(segment), style.band(segment)):
            assert contrast(theme.color("text"), back) >= 4.5, segment
    assert contrast(style.graph_break(), ground) >= 3
