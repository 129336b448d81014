"""Where the keyboard goes: into a panel, and from the canvas through the panels that can be seen."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget


def enter(panel: QWidget) -> bool:
    """Give the focus to a panel, or to the first widget in it that takes it with Tab. False if there is none."""
    stop = next((widget for widget in (panel, *_chain(panel)) if _takes_tab(widget)), None)
    if stop is None:
        return False
    stop.activateWindow()
    stop.setFocus(Qt.FocusReason.TabFocusReason)
    return True


def go(areas: list[QWidget], step: int) -> None:
    """From the area that has the focus, to the next one (1) or the one before (-1); from elsewhere to the first."""
    focused = QApplication.focusWidget()
    here = next((index for index, area in enumerate(areas) if focused and _holds(area, focused)), -step)
    for distance in range(1, len(areas) + 1):
        if enter(areas[(here + step * distance) % len(areas)]):
            return


def _holds(area: QWidget, widget: QWidget) -> bool:
    return area is widget or area.isAncestorOf(widget)


def _chain(panel: QWidget) -> Iterable[QWidget]:
    widget = panel.nextInFocusChain()
    while widget is not None and widget is not panel:
        if panel.isAncestorOf(widget):
            yield widget
        widget = widget.nextInFocusChain()


def _takes_tab(widget: QWidget) -> bool:
    """A scroll area takes it, too, but has no use for keys while what it scrolls has fields."""
    if isinstance(widget, QScrollArea):
        return False
    return bool(widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
