"""Defers layout changes while the mouse is pressed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QScrollArea, QWidget

_POLL_MS = 15
"""Polling interval. A release outside the window or in a dialog sends no event."""


class DeferredChange(QObject):
    """A layout change that runs immediately, or after the release if a mouse button is down on the panel.

    Pressing a field commits the input of another one, which triggers a check report. If that moved the pressed field,
    the release would hit another widget.

    Args:
        act: makes the change; several requests during one press run it once
        part: the panel or a widget in it; the whole scroll area counts as one panel
    """

    def __init__(self, act: Callable[[], object], part: QWidget) -> None:
        super().__init__(part)
        self._act, self._part = act, part
        self._timer = QTimer(self)
        self._timer.setInterval(_POLL_MS)
        self._timer.timeout.connect(self.run)

    def run(self, *_: object) -> None:
        """Run the change now, or after the release."""
        if is_pressed(_panel(self._part)):
            self._timer.start()
        else:
            self._timer.stop()
            self._act()


def is_pressed(area: QWidget) -> bool:
    """Whether a mouse button is down on a widget or its children, or a key on one of its buttons."""
    if QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton and area.underMouse():
        return True
    return any(button.isDown() for button in area.findChildren(QAbstractButton))


def _panel(part: QWidget) -> QWidget:
    at: QWidget | None = part
    while at is not None and not isinstance(at, QScrollArea):
        at = at.parentWidget()
    return at or part


__all__ = ["DeferredChange", "is_pressed"]
