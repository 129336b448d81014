"""A ring around the focused widget, for widgets whose style does not show the focus: lists, tables, plots, pages."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QPlainTextEdit, QTabBar, QTextEdit, QWidget

from studio.ui.theme import theme

RINGED = "shows_focus_ring"
"""Property of a widget that decides itself whether it has a ring, for example by the reason of the focus."""
BY_KEY = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)
_HIDING = (QEvent.Type.MouseButtonPress, QEvent.Type.Wheel)


class FocusRings(QObject):
    """Shows a ring when the focus moves without the mouse. A click or the wheel hides it."""

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._ring: _Ring | None = None
        application.focusChanged.connect(self._on_focus_changed)

    def _on_focus_changed(self, _: QWidget | None, focused: QWidget | None) -> None:
        if self._ring is not None and shiboken6.isValid(self._ring):
            self._ring.hide()
            self._ring.deleteLater()
        self._ring = None
        if focused is not None and _needs_ring(focused) and QApplication.mouseButtons() == Qt.MouseButton.NoButton:
            self._ring = _Ring(focused)


def _needs_ring(widget: QWidget) -> bool:
    decision = widget.property(RINGED)
    if decision is not None:
        return bool(decision)
    if isinstance(widget, (QPlainTextEdit, QTextEdit)):
        return widget.property("role") == "page"  # other text fields have a border in the style sheet
    return isinstance(widget, (QAbstractScrollArea, QTabBar))


class _Ring(QWidget):
    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._watched = [widget]
        if isinstance(widget, QAbstractScrollArea):
            self._watched.append(widget.viewport())
        for each in self._watched:
            each.installEventFilter(self)
        self.setGeometry(widget.rect())
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._watched[0]:
            self.setGeometry(self._watched[0].rect())
        elif event.type() in _HIDING:
            self.hide()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(theme.current().color("accent"), 2))
        painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))
