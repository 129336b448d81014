"""Keyboard focus: enter a panel, and move between the canvas and the visible panels."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget


def focus_panel(panel: QWidget) -> bool:
    """Focus a panel, or its topmost widget that accepts Tab focus, below its header if it has one with the property
    "header". Returns False if there is none.
    """
    # Do not use nextInFocusChain: PySide treats its return value as an owner and deletes both together.
    inside = [widget for widget in panel.findChildren(QWidget) if _accepts_tab(widget)]
    positions = [widget.mapTo(panel, QPoint(0, 0)) for widget in inside]
    headers = [each for each in panel.findChildren(QWidget) if each.property("header")]
    ranks = [any(header.isAncestorOf(widget) for header in headers) for widget in inside]
    order = [(rank, place.y(), place.x()) for rank, place in zip(ranks, positions, strict=True)]
    uppermost = min(range(len(inside)), key=order.__getitem__, default=None)
    stop = panel if _accepts_tab(panel) else None if uppermost is None else inside[uppermost]
    if stop is None:
        return False
    stop.activateWindow()
    stop.setFocus(Qt.FocusReason.TabFocusReason)
    return True


def cycle_focus(areas: list[QWidget], step: int) -> None:
    """Move the focus from the current area to the next (1) or previous (-1); from elsewhere, to the first area."""
    focused = QApplication.focusWidget()
    here = next((index for index, area in enumerate(areas) if focused and _holds(area, focused)), -step)
    for distance in range(1, len(areas) + 1):
        if focus_panel(areas[(here + step * distance) % len(areas)]):
            return


def _holds(area: QWidget, widget: QWidget) -> bool:
    return area is widget or area.isAncestorOf(widget)


def _accepts_tab(widget: QWidget) -> bool:
    """A scroll area also accepts Tab focus, but it is skipped when it contains fields."""
    if isinstance(widget, QScrollArea):
        return False
    return bool(widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
