"""Changes that would move what is being pressed wait for its release."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QScrollArea, QWidget

_POLL_MS = 15
"""A release may end outside of the window, or in a dialog: nothing tells of it for certain."""


class DeferredChange(QObject):
    """A change of a panel's layout, made at once unless something in the panel is pressed.

    A press on a field ends the input in another one, and a check report follows. If that moved the field, the release
    would meet something else.

    Args:
        act: makes the change. Asked for several times during a press, it is made once
        part: the panel, or a part of it; what scrolls together counts as one
    """

    def __init__(self, act: Callable[[], object], part: QWidget) -> None:
        super().__init__(part)
        self._act, self._part = act, part
        self._timer = QTimer(self)
        self._timer.setInterval(_POLL_MS)
        self._timer.timeout.connect(self.run)

    def run(self, *_: object) -> None:
        """Make the change, now or after the release."""
        if is_pressed(_panel(self._part)):
            self._timer.start()
        else:
            self._timer.stop()
            self._act()


def is_pressed(area: QWidget) -> bool:
    """Whether a mouse button is down on a widget or a part of it, or a key on one of its buttons."""
    if QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton and area.underMouse():
        return True
    return any(button.isDown() for button in area.findChildren(QAbstractButton))


def _panel(part: QWidget) -> QWidget:
    at: QWidget | None = part
    while at is not None and not isinstance(at, QScrollArea):
        at = at.parentWidget()
    return at or part


__all__ = ["DeferredChange", "is_pressed"]
