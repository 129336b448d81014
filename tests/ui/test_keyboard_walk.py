"""Walks through the window and its dialogs by Tab and Shift+Tab: everything is reached, named, and shows the focus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QKeySequenceEdit,
    QLabel,
    QScrollBar,
    QTextBrowser,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.panels.code.code_editor import CodeEditor
from studio.ui.window.main_window import MainWindow
from tests.ui.places import PLACES, Visit

_MAX_STEPS = 400
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def controls(root: QWidget) -> list[QWidget]:
    """The visible, enabled widgets below `root` that accept the focus by Tab."""
    return [
        widget
        for widget in (root, *root.findChildren(QWidget))
        if widget.isVisible()
        and widget.isEnabled()
        and widget.window() is root.window()
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.focusProxy() is None
        and not isinstance(widget, QScrollBar)
        and not _is_part(widget)
        and not _is_choice(widget)
        and not widget.visibleRegion().isEmpty()
    ]


def _is_part(widget: QWidget) -> bool:
    """Whether a widget is a part of another control, such as the field of a spin box."""
    around = widget.parentWidget()
    while around is not None and not isinstance(around, (QAbstractSpinBox, QComboBox, QKeySequenceEdit)):
        around = around.parentWidget()
    return around is not None


def _is_choice(widget: QWidget) -> bool:
    """Whether a widget is a button of an exclusive group: Tab reaches one of them, arrow keys the others."""
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    return group is not None and group.exclusive()


def described(widget: QWidget) -> str:
    """Classes and names from a widget to its window."""
    parts: list[str] = []
    around: QWidget | None = widget
    while around is not None:
        parts.append(f"{type(around).__name__} {around.accessibleName() or around.objectName()}".strip())
        around = around.parentWidget()
    return " < ".join(parts[:5])


def name_of(widget: QWidget) -> str:
    """What a screen reader says."""
    element = QAccessible.queryAccessibleInterface(widget)
    return element.text(QAccessible.Text.Name) if element else ""


def lacks_name(widget: QWidget) -> bool:
    """Whether a widget can have the focus, also a hidden one, and has no name."""
    can_focus = widget.focusPolicy() != Qt.FocusPolicy.NoFocus and widget.focusProxy() is None
    if isinstance(widget, QScrollBar) or (isinstance(widget, QLabel) and not widget.text()):
        return False  # the name of a label is its text
    return can_focus and not _is_part(widget) and not name_of(widget)


_MAX_LINKS = 30


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert isinstance(widget, QWidget)
    return widget


def leave(widget: QWidget, *, back: bool) -> None:
    """Press Tab or Shift+Tab, after Escape where Tab edits."""
    if isinstance(widget, CanvasView) and not back:
        QTest.keyClick(widget, Qt.Key.Key_F6, CTRL)  # Tab adds a node
        return
    if isinstance(widget, CodeEditor) and not widget.isReadOnly():
        QTest.keyClick(widget, Qt.Key.Key_Escape)  # Tab indents
        if focused() is not widget:
            return
    presses = _MAX_LINKS if isinstance(widget, QTextBrowser) else 1  # Tab goes to each link of a text first
    for _ in range(presses):
        QTest.keyClick(
            widget, Qt.Key.Key_Backtab if back else Qt.Key.Key_Tab, SHIFT if back else Qt.KeyboardModifier(0)
        )
        if focused() is not widget:
            return


def walk(root: QWidget, *, back: bool) -> Iterator[QWidget]:
    """The widgets in the order of the keys, until one repeats or the focus is stuck."""
    seen: set[QWidget] = set()
    for _ in range(_MAX_STEPS):
        here = focused()
        if here in seen:
            return
        seen.add(here)
        yield here
        leave(here, back=back)


def shot(widget: QWidget) -> QImage:
    """The widget with the pixels around it, where a frame can be."""
    window = widget.window()
    rect = widget.rect().translated(widget.mapTo(window, QPoint(0, 0))).adjusted(-3, -3, 3, 3)
    return window.grab(rect.intersected(window.rect())).toImage()


SHOWN: dict[tuple[str, ...], bool] = {}
"""Whether the focus is visible, by class and look of a widget. Each is compared once."""


def look(widget: QWidget) -> tuple[str, ...]:
    """Class and properties that the style depends on."""
    return type(widget).__name__, *(str(widget.property(name) or "") for name in ("kind", "role", "checked"))


@pytest.mark.parametrize("name", PLACES)
def test_place(name: str, window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = PLACES[name](Visit(window, qtbot, tmp_path))
    qtbot.wait(50)
    root.activateWindow()
    root.window().activateWindow()
    expected = controls(root)
    assert expected
    unnamed = [described(widget) for widget in (root, *root.findChildren(QWidget)) if lacks_name(widget)]
    if not (root.isAncestorOf(focused()) or root is focused()):
        expected[0].setFocus(Qt.FocusReason.TabFocusReason)
    invisible: list[str] = []
    reached: set[QWidget] = set()
    for back in (False, True):
        before: tuple[QWidget, QImage] | None = None
        for number, widget in enumerate(walk(root, back=back)):
            reached.add(widget)
            if before is not None:
                key = look(before[0])
                SHOWN[key] = shot(before[0]) != before[1]
                if not SHOWN[key]:
                    invisible.append(described(before[0]))
            by_key = back or number > 0  # the first one may have the focus without a key
            is_new = by_key and root.isAncestorOf(widget) and look(widget) not in SHOWN
            before = (widget, shot(widget)) if is_new else None
    missed = [described(widget) for widget in expected if widget not in reached and widget.isVisible()]
    problems = {"without a name": unnamed, "not reached": missed, "without a visible focus": invisible}
    assert not any(problems.values()), "\n".join(f"{found}: {each}" for found in problems for each in problems[found])
