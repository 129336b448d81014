"""The background of the canvas: grid dots that fade with the zoom."""

from __future__ import annotations

import functools
import math

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter

from studio.ui.canvas.geometry import GRID
from studio.ui.canvas.paint_context import PaintContext

_MIN_PITCH = 16.0
"""Minimum distance of dots in screen pixels; below it every second row is omitted."""


def paint_grid(painter: QPainter, rect: QRectF, paint_context: PaintContext, grid: int = GRID) -> None:
    painter.fillRect(rect, paint_context.style.background)
    scale = paint_context.zoom.scale
    pitch = float(grid)
    while pitch * scale < _MIN_PITCH:
        pitch *= 2
    # Between two pitches, the rows that disappear at the next one fade out.
    share = min((pitch * scale - _MIN_PITCH) / _MIN_PITCH, 1.0)
    _dots(painter, rect, pitch * 2, paint_context, 1.0)
    if share > 0.05:
        _dots(painter, rect, pitch, paint_context, share)


def _dots(painter: QPainter, rect: QRectF, pitch: float, paint_context: PaintContext, strength: float) -> None:
    """Square dots of one pixel without antialiasing: round dots would take most of the painting time."""
    color = QColor(paint_context.style.grid)
    color.setAlphaF(strength)
    left, top = math.floor(rect.left() / pitch), math.floor(rect.top() / pitch)
    right, bottom = math.ceil(rect.right() / pitch), math.ceil(rect.bottom() / pitch)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(paint_context.style.no_pen)
    painter.setBrush(color)
    painter.translate(left * pitch, top * pitch)
    painter.drawRects(_lattice(right - left + 1, bottom - top + 1, pitch, 1 / paint_context.zoom.scale))
    painter.translate(-left * pitch, -top * pitch)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)


@functools.lru_cache(maxsize=8)
def _lattice(columns: int, rows: int, pitch: float, size: float) -> list[QRectF]:
    """Squares from the origin to the right and down. Creating thousands takes longer than painting them."""
    return [QRectF(x * pitch, y * pitch, size, size) for x in range(columns) for y in range(rows)]
