"""Keys without Ctrl, Alt or Meta, which belong to the focused widget before they are shortcuts of the canvas."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent

_MODIFIERS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier


def claim_plain_key(event: QEvent) -> bool:
    """Turn a shortcut such as Tab, Down or M into a key press of the focused widget. Function keys stay shortcuts."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    if event.modifiers() & _MODIFIERS or Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F35:
        return False
    event.accept()
    return True


class PlainKeyFilter(QObject):
    """Event filter for a widget in the scope of commands of another widget."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        return claim_plain_key(event)
