"""A field in which the learner draws the course of a curve, and which then shows the measured one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from studio.ui.theme import fonts, theme

COLUMNS = 24
"""Number of heights of a drawn curve."""
_LEFT, _BOTTOM, _EDGE = 20, 18, 6
_STEP = 0.1
"""Change of a height with an arrow key."""


class CurveSketch(QWidget):
    """Heights from 0 (bottom) to 1 (top) over the run, drawn with the mouse or with the arrow keys."""

    changed = Signal()

    def __init__(self, figure: str) -> None:
        super().__init__()
        self._figure = figure
        self._heights: list[float | None] = [None] * COLUMNS
        self._measured: tuple[float, ...] = ()
        self._column = 0
        self._last: int | None = None
        """Column of the last point of the stroke in progress."""
        self._is_open = True
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setToolTip("Draw with the mouse. With the keyboard: Left and Right move, Up and Down set the height.")
        self._describe()

    @property
    def heights(self) -> tuple[float, ...]:
        """The drawn curve, with gaps interpolated; empty until two columns are drawn."""
        drawn = [(index, height) for index, height in enumerate(self._heights) if height is not None]
        if len(drawn) < 2:
            return ()
        filled = [drawn[0][1]] * drawn[0][0]
        for (left, start), (right, end) in pairwise(drawn):
            filled += [start + (end - start) * step / (right - left) for step in range(right - left)]
        filled += [drawn[-1][1]] * (COLUMNS - drawn[-1][0])
        return tuple(round(height, 3) for height in filled)

    def show_heights(self, heights: Sequence[float]) -> None:
        """Show a curve with any number of points."""
        last = len(heights) - 1
        places = [index * last / (COLUMNS - 1) for index in range(COLUMNS)]
        self._heights = [_height_at(heights, place) if heights else None for place in places]
        self._refresh()

    def show_measured(self, values: Sequence[float]) -> None:
        """Show the measured curve on an axis from 0, so that a flat curve looks flat, and end the drawing."""
        finite = [value for value in values if isfinite(value)]
        values = [value if isfinite(value) else max(finite, default=1.0) for value in values]
        low, high = min(finite, default=0.0), max(finite, default=0.0)
        low = min(low, 0.0)
        span = high - low
        self._measured = tuple(0.05 + 0.9 * (value - low) / span if span else 0.5 for value in values)
        self.close_drawing()

    def close_drawing(self) -> None:
        """Do not let the curve be changed any more."""
        self._is_open = False
        self.unsetCursor()
        self.setToolTip("")
        self._refresh()

    def sizeHint(self) -> QSize:
        return QSize(240, 132)

    def minimumSizeHint(self) -> QSize:
        return QSize(140, 132)

    # -- drawing

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._is_open:
            self._last = None
            self._draw_to(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._is_open:
            self._draw_to(event.position())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: _STEP, Qt.Key.Key_Down: -_STEP}
        if not self._is_open or event.key() not in (*steps, Qt.Key.Key_Left, Qt.Key.Key_Right):
            super().keyPressEvent(event)
            return
        if event.key() in steps:
            height = self._heights[self._column]
            nearest = height if height is not None else self._nearest()
            self._heights[self._column] = min(max(nearest + steps[Qt.Key(event.key())], 0.0), 1.0)
        else:
            by = 1 if event.key() == Qt.Key.Key_Right else -1
            self._column = min(max(self._column + by, 0), COLUMNS - 1)
        self._refresh()
        self.changed.emit()

    def _nearest(self) -> float:
        """The height of the nearest drawn column."""
        drawn = [index for index, height in enumerate(self._heights) if height is not None]
        nearest = min(drawn, key=lambda index: abs(index - self._column), default=None)
        height = None if nearest is None else self._heights[nearest]
        return 0.5 if height is None else height

    def _draw_to(self, at: QPointF) -> None:
        area = self._area()
        column = min(max(round((at.x() - area.left()) / area.width() * (COLUMNS - 1)), 0), COLUMNS - 1)
        height = min(max((area.bottom() - at.y()) / area.height(), 0.0), 1.0)
        before = self._last if self._last is not None else column
        start = self._heights[before] if self._last is not None else height
        distance = abs(column - before)
        for step in range(distance + 1):
            share = step / distance if distance else 1.0
            index = before + (step if column >= before else -step)
            self._heights[index] = (
                (height if start is None else start + (height - start) * share) if distance else height
            )
        self._column = self._last = column
        self._refresh()
        self.changed.emit()

    def _refresh(self) -> None:
        self._describe()
        self.update()

    def _describe(self) -> None:
        self.setAccessibleName(f"Curve of {self._figure} over the run")
        height = self._heights[self._column]
        drawn = "not drawn" if height is None else f"height {height:.0%}"
        measured = f"; measured from {self._measured[0]:.0%} to {self._measured[-1]:.0%}" if self._measured else ""
        self.setAccessibleDescription(f"Point {self._column + 1} of {COLUMNS}: {drawn}{measured}")

    # -- painting

    def _area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_LEFT, _EDGE, -_EDGE, -_BOTTOM)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, area = theme.current(), self._area()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colors.color("accent" if self.hasFocus() else "border"), 1))
        painter.setBrush(colors.color("raised"))
        painter.drawRoundedRect(area, 4, 4)
        painter.setFont(fonts.interface(11))
        painter.setPen(colors.color("text-dim"))
        below = QRectF(area.left(), area.bottom() + 2, area.width(), _BOTTOM - 2)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, "training →")
        painter.save()
        painter.translate(2, area.bottom())
        painter.rotate(-90)
        beside = QRectF(0, 0, area.height(), _LEFT - 4)
        painter.drawText(beside, Qt.AlignmentFlag.AlignCenter, f"{self._figure} →")
        painter.restore()
        self._paint_curve(
            painter, self.heights, "accent", Qt.PenStyle.DashLine if self._measured else Qt.PenStyle.SolidLine
        )
        self._paint_curve(painter, self._measured, "ok", Qt.PenStyle.SolidLine)
        if self.hasFocus() and self._is_open:
            height = self._heights[self._column]
            x = area.left() + area.width() * self._column / (COLUMNS - 1)
            y = area.bottom() - area.height() * (0.5 if height is None else height)
            painter.setPen(QPen(colors.color("accent"), 2))
            painter.setBrush(colors.color("raised"))
            painter.drawEllipse(QPointF(x, y), 4, 4)

    def _paint_curve(self, painter: QPainter, heights: Sequence[float], color: str, style: Qt.PenStyle) -> None:
        area = self._area()
        last = max(len(heights) - 1, 1)
        points = [
            QPointF(area.left() + area.width() * index / last, area.bottom() - area.height() * height)
            for index, height in enumerate(heights)
        ]
        if points:
            painter.setPen(QPen(theme.current().color(color), 2, style))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPolyline(QPolygonF(points))


def _height_at(heights: Sequence[float], place: float) -> float:
    """The height between two points of a curve."""
    index = int(place)
    following = heights[min(index + 1, len(heights) - 1)]
    return heights[index] + (following - heights[index]) * (place - index)


__all__ = ["COLUMNS", "CurveSketch"]
