"""Vertical lines in a plot at the shown step, which can be dragged, and at the step that it is compared with."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen

_HANDLE = 12.0
"""Diameter of the handle, and width in which the mouse takes the line, in pixels."""
_HANDLE_AT = 0.95
"""Height of the handle as a share of the plot's."""


class StepMarker(pg.InfiniteLine):
    """A line at a step; `sigDragged` tells where the mouse drags it.

    Args:
        is_base: the line is that of the step that is compared with, which the mouse does not move
    """

    def __init__(self, *, is_base: bool = False) -> None:
        super().__init__(angle=90, movable=not is_base)
        self._is_base = is_base
        self.setZValue(10 if is_base else 20)
        if not is_base:
            self.setCursor(Qt.CursorShape.SizeHorCursor)
            self.addMarker("o", _HANDLE_AT, _HANDLE)
        self.hide()

    @property
    def is_dragged(self) -> bool:
        """Whether the mouse drags the line now."""
        return bool(self.moving)

    @property
    def at(self) -> float:
        """Position in view coordinates."""
        return float(self.getXPos())

    def show_at(self, x: float | None) -> None:
        """Show the line at a position in view coordinates, unless the mouse drags it; None hides it."""
        self.setVisible(x is not None)
        if x is not None and not self.is_dragged:
            self.setPos(x)

    def set_color(self, color: QColor, ratio: float) -> None:
        """Set the color, and the number of device pixels of a pixel."""
        pen = QPen(color, 2.0 * ratio)
        if self._is_base:
            pen.setStyle(Qt.PenStyle.DashLine)
        pen.setCosmetic(True)
        self.setPen(pen)
        self.setHoverPen(pen)


__all__ = ["StepMarker"]
