"""Painting of one wire: its curve, what it carries, and the mark of an error."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen

from studio.nodes.types import PortType
from studio.ui.canvas.curve import Curve
from studio.ui.canvas.detail import Zoom, readable
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.style import MONO_PX, Style, monospace_font

_ROOM = 28.0
"""A label is drawn unasked only if this much of the wire stays visible."""


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


def has_room(curve: Curve, label_width: float) -> bool:
    return curve.level >= label_width + _ROOM


def label_pixels(zoom: Zoom, *, asked: bool) -> int:
    """Font size of a label on the canvas; 0 for none. One that is asked for is readable at any zoom."""
    if readable(MONO_PX, zoom.scale):
        return MONO_PX
    return round(MONO_PX / zoom.scale) if asked else 0


def label_box(curve: Curve, label: str, pixels: int, t: float = 0.5) -> Box:
    """Where a label lies that is centred on the wire at `t`."""
    metrics = QFontMetricsF(monospace_font(pixels))
    width, height = metrics.horizontalAdvance(label) + pixels, pixels * 1.5
    middle = curve.at(t)
    return Box(middle.x - width / 2, middle.y - height / 2, middle.x + width / 2, middle.y + height / 2)


def paint_label(painter: QPainter, box: Box, label: str, pixels: int, style: Style, *, strong: bool) -> None:
    """The label on a patch of ground, so that the wire does not run through it; with a frame where it is `strong`."""
    rect = QRectF(box.left, box.top, box.width, box.height)
    painter.setPen(style.pill_line if strong else style.no_pen)
    painter.setBrush(style.pill if strong else style.ground)
    patch = rect if strong else rect.adjusted(0, box.height * 0.22, 0, -box.height * 0.22)
    painter.drawRoundedRect(patch, patch.height() / 2, patch.height() / 2)
    painter.setPen(style.text if strong else style.dim)
    painter.setFont(monospace_font(pixels))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, label)


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
