"""Moving between panels, and acting in them, by keys."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.ui.panels.inspector.text_fields import TypedField
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar
from tests.ui.test_fields import focused_widget, rows


def test_ctrl_f6_cycles_through_visible_panels(window: MainWindow, project: Project) -> None:
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    keys = Qt.KeyboardModifier.ControlModifier
    visible_row: list[str] = []
    for _ in range(4):
        QTest.keyClick(focused_widget(), Qt.Key.Key_F6, keys)
        visible_row.append(
            next((each.objectName() for each in window.docks if each.isAncestorOf(focused_widget())), "canvas")
        )
    assert visible_row == ["palette", "inspector", "runs", "canvas"]
    QTest.keyClick(focused_widget(), Qt.Key.Key_F6, keys | Qt.KeyboardModifier.ShiftModifier)
    assert window.docks["runs"].isAncestorOf(focused_widget())


def test_ctrl_f6_reaches_the_header_of_a_panel_without_rows(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    window.docks["problems"].reveal()
    notice = NotificationBar("Something happened.", [])
    window.notifications.show_bar(notice)
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_F6, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert window.docks["problems"].isAncestorOf(focused_widget())
    with qtbot.waitSignal(notice.destroyed):
        notice.deleteLater()
    epochs = rows(window, project)["epochs"].field
    assert isinstance(epochs, TypedField)
    assert epochs.line.isVisible(), "deleting the notification must not delete other widgets"


def test_fix_a_problem_with_the_keyboard(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_4, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: any(row.isVisible() for row in window.project_views[project].problems.rows))
    QTest.keyClick(
        focused_widget(), Qt.Key.Key_F6, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert focused_widget() in window.project_views[project].problems.rows
    QTest.keyClick(focused_widget(), Qt.Key.Key_Tab)
    QTest.keyClick(focused_widget(), Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: project.store.is_checked and not project.store.report.errors)
