"""Painting of one wire: its curve, and the mark of an error."""

from __future__ import annotations

from collections.abc import Container, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from studio.training.statistics.color_scale import Shade
from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.geometry import Box, Point
from studio.ui.canvas.level_of_detail import Zoom
from studio.ui.canvas.wires.wire_curve import WireCurve
from studio.ui.canvas.wires.wire_role import WireRole

_POINT = 4.5
"""Radius of a reroute point."""
MARK = 16.0
"""Diameter of the mark of an error, at 100%."""


def curve_path(curve: WireCurve) -> QPainterPath:
    path = QPainterPath(QPointF(*curve.start))
    for piece in curve.pieces:
        path.cubicTo(QPointF(*piece.first), QPointF(*piece.second), QPointF(*piece.end))
    return path


def pen(
    style: CanvasStyle, role: WireRole, shade: Shade | None, *, highlighted: bool, selected: bool, failed: bool
) -> QPen:
    if selected:
        return style.wire_selected
    if failed:
        return style.wire_error_highlighted if highlighted else style.wire_error
    if shade is not None and not highlighted:
        return style.wire_shade[shade]
    return (style.wire_highlighted if highlighted else style.wire)[role]


def paint_points(
    painter: QPainter,
    points: Sequence[tuple[float, float]],
    style: CanvasStyle,
    role: WireRole,
    selected: Container[int],
    hovered: int | None,
) -> None:
    """Paint reroute points as dots, the selected ones with a ring."""
    for index, point in enumerate(points):
        painter.setPen(style.selected if index in selected else style.rim)
        painter.setBrush(style.port_brush[role])
        size = _POINT + (1.5 if index == hovered or index in selected else 0.0)
        painter.drawEllipse(QPointF(*point), size, size)
    painter.setBrush(Qt.BrushStyle.NoBrush)


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
