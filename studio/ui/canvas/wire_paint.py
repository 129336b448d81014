"""Painting of one wire: its curve, and the mark of an error."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPainterPath, QPen

from studio.nodes.types import PortType
from studio.ui.canvas.curve import Curve
from studio.ui.canvas.detail import Zoom
from studio.ui.canvas.style import Style


def curve_path(curve: Curve) -> QPainterPath:
    path = QPainterPath(QPointF(*curve.start))
    for piece in curve.pieces:
        path.cubicTo(QPointF(*piece.first), QPointF(*piece.second), QPointF(*piece.end))
    return path


def pen(style: Style, kind: PortType, *, lit: bool, selected: bool, failed: bool) -> QPen:
    if selected:
        return style.wire_selected
    if failed:
        return style.wire_error_lit if lit else style.wire_error
    return (style.wire_lit if lit else style.wire)[kind]


def paint_mark(painter: QPainter, curve: Curve, style: Style, zoom: Zoom, *, beside: float = 0.0) -> None:
    """A round mark on the wire, so that an error is not told by colour alone."""
    size = max(16.0, min(12 / zoom.scale, 32.0))
    middle = curve.at(0.5)
    circle = QRectF(middle.x - size / 2 - beside, middle.y - size / 2, size, size)
    painter.setPen(style.no_pen)
    painter.setBrush(style.body)
    painter.drawEllipse(circle)
    picture = style.icon("error", style.error, size, zoom.device_scale)
    painter.drawPixmap(circle, picture, QRectF(picture.rect()))
