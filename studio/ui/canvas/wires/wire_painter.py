"""Painting of one wire: its curve, and the mark of an error."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPainterPath, QPen

from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.geometry import Box, Point
from studio.ui.canvas.level_of_detail import Zoom
from studio.ui.canvas.wires.wire_curve import WireCurve
from studio.ui.canvas.wires.wire_role import WireRole

MARK = 16.0
"""Diameter of the mark of an error, at 100%."""


def curve_path(curve: WireCurve) -> QPainterPath:
    path = QPainterPath(QPointF(*curve.start))
    for piece in curve.pieces:
        path.cubicTo(QPointF(*piece.first), QPointF(*piece.second), QPointF(*piece.end))
    return path


def pen(style: CanvasStyle, role: WireRole, *, highlighted: bool, selected: bool, failed: bool) -> QPen:
    if selected:
        return style.wire_selected
    if failed:
        return style.wire_error_highlighted if highlighted else style.wire_error
    return (style.wire_highlighted if highlighted else style.wire)[role]


def paint_mark(painter: QPainter, curve: WireCurve, style: CanvasStyle, zoom: Zoom, label: Box | None) -> None:
    """Paint an error icon on the wire or before its label, so that an error is not shown by color alone."""
    size = max(MARK, min(12 / zoom.scale, 2 * MARK))
    middle = curve.at(0.5) if label is None else Point(label.left - size / 2, label.center.y)
    circle = QRectF(middle.x - size / 2, middle.y - size / 2, size, size)
    painter.setPen(style.no_pen)
    painter.setBrush(style.body)
    painter.drawEllipse(circle)
    picture = style.icon("error", style.error, size, zoom.device_scale)
    painter.drawPixmap(circle, picture, QRectF(picture.rect()))
