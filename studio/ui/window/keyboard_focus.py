"""Where the keyboard goes: into a panel, and from the canvas through the panels that can be seen."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget


def enter(panel: QWidget) -> bool:
    """Give the focus to a panel, or to the uppermost widget in it that takes it with Tab. False if there is none."""
    # Not by nextInFocusChain: PySide takes what it returns for an owner, and drops one with the other.
    inside = [widget for widget in panel.findChildren(QWidget) if _takes_tab(widget)]
    places = [widget.mapTo(panel, QPoint(0, 0)) for widget in inside]
    uppermost = min(range(len(inside)), key=lambda index: (places[index].y(), places[index].x()), default=None)
    stop = panel if _takes_tab(panel) else None if uppermost is None else inside[uppermost]
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


def _takes_tab(widget: QWidget) -> bool:
    """A scroll area takes it, too, but has no use for keys while what it scrolls has fields."""
    if isinstance(widget, QScrollArea):
        return False
    return bool(widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
