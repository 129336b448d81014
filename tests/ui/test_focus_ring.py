"""The ring around lists, plots and pages that have the focus."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTreeView, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.project.project import Project
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow
from tests.ui.test_fields import focused_widget


def has_ring(widget: QWidget) -> bool:
    """Whether all four edges have the accent color."""
    picture = widget.grab().toImage()
    right, bottom = picture.width() - 1, picture.height() - 1
    points = (QPoint(right // 2, 0), QPoint(right // 2, bottom), QPoint(0, bottom // 2), QPoint(right, bottom // 2))
    return all(QColor(picture.pixel(point)) == theme.current().color("accent") for point in points)


def test_keys_show_the_ring_and_the_mouse_hides_it(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    canvas = window.canvas
    assert canvas is not None
    palette = window.docks["palette"].panel
    assert palette is not None
    tree = next(each for each in palette.findChildren(QTreeView) if each.accessibleName() == "Node types")
    assert not has_ring(canvas), "the canvas got the focus without a key"
    QTest.keyClick(canvas, Qt.Key.Key_F6, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(focused_widget(), Qt.Key.Key_Tab)
    assert tree.hasFocus() and has_ring(tree) and not has_ring(canvas)
    window.resize(1300, 800)
    qtbot.waitUntil(lambda: has_ring(tree))
    QTest.keyClick(tree, Qt.Key.Key_Escape)
    assert canvas.hasFocus() and has_ring(canvas) and not has_ring(tree)
    QTest.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 20))
    assert canvas.hasFocus() and not has_ring(canvas)
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(60, 12))
    assert tree.hasFocus() and not has_ring(tree)


def test_the_start_page_has_a_ring_by_keys_only(window: MainWindow) -> None:
    window.show_welcome()
    page = window.welcome
    assert page.hasFocus() and not has_ring(page)
    page.clearFocus()
    page.setFocus(Qt.FocusReason.TabFocusReason)
    assert has_ring(page)
