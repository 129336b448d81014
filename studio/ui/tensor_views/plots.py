"""Histograms and projections as plots."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from studio.training.probing.views.histogram import Histogram
from studio.training.probing.views.projection import Projection
from studio.ui import number_format
from studio.ui.theme.theme import Theme

_LINE = 15.0
_POINT = 2.5
"""Radius of a point."""
MAX_CLASSES = 24
"""Number of classes with different marks. Points of others have the color of secondary text."""
_SHAPES = ("circle", "square", "triangle")
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
_CENTER = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)


def paint_histogram(
    painter: QPainter, area: QRectF, found: Histogram, theme: Theme, font: QFont, *, has_text: bool
) -> None:
    """Bars over a value axis, with the bounds, the largest count, and what is left out."""
    notes: list[str] = []
    if found.zeros:
        notes.append(f"{found.zeros:,} zeros not shown")
    if found.left_out:
        notes.append(f"{found.left_out:,} NaN or infinite")
    lines = (2 if notes else 1) if has_text else 0
    plot = area.adjusted(0, _LINE if has_text else 0, 0, -lines * _LINE)
    most = max(found.counts, default=0)
    width = plot.width() / max(len(found.counts), 1)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color("series-1"))
    gap = 1.0 if width > 3 else 0.0
    for index, count in enumerate(found.counts):
        if count:
            height = max(plot.height() * count / most, 1.0)
            painter.drawRect(QRectF(plot.left() + index * width, plot.bottom() - height, width - gap, height))
    painter.setPen(QPen(theme.color("border-strong"), 0))
    painter.drawLine(plot.bottomLeft(), plot.bottomRight())
    if found.low < 0 < found.high:
        x = plot.left() + plot.width() * -found.low / (found.high - found.low)
        painter.setPen(QPen(theme.color("border-strong"), 0, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
    if not has_text:
        return
    painter.setFont(font)
    painter.setPen(theme.color("text-dim"))
    painter.drawText(QRectF(area.left(), area.top(), area.width(), _LINE), _LEFT, f"count, at most {most:,}")
    axis = QRectF(area.left(), plot.bottom(), area.width(), _LINE)
    painter.drawText(axis, _LEFT, number_format.short(found.low))
    painter.drawText(axis, _CENTER, "value")
    painter.drawText(axis, _RIGHT, number_format.short(found.high))
    painter.drawText(QRectF(area.left(), axis.bottom(), area.width(), _LINE), _LEFT, ", ".join(notes))


def paint_projection(
    painter: QPainter, area: QRectF, found: Projection, theme: Theme, font: QFont, *, has_text: bool
) -> None:
    """Points by their class, with the axes and a legend."""
    classes = [] if found.labels is None else sorted({int(label) for label in found.labels})
    names = [found.names[each] if each < len(found.names) else str(each) for each in classes]
    shown = names if 0 < len(classes) <= MAX_CLASSES and has_text else []
    metrics = QFontMetricsF(font)
    legend = min(max((metrics.horizontalAdvance(name) for name in shown), default=-16.0) + 16.0, area.width() / 3)
    plot = area.adjusted(_LINE if has_text else 0, 0, -legend - (4 if shown else 0), -_LINE if has_text else 0)
    painter.setPen(QPen(theme.color("border"), 0))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(plot)
    _paint_points(painter, plot.adjusted(4, 4, -4, -4), found, classes, theme)
    if not has_text:
        return
    painter.setFont(font)
    painter.setPen(theme.color("text-dim"))
    first, second = (f"{100 * share:.0f}%" for share in found.explained)
    more = f" · {len(found.points):,} of {found.total:,} rows" if len(found.points) < found.total else ""
    axis = QRectF(plot.left(), plot.bottom(), area.right() - plot.left(), _LINE)
    painter.drawText(axis, _LEFT, f"component 1 ({first}){more}")
    painter.save()
    painter.translate(area.left(), plot.bottom())
    painter.rotate(-90)
    title = metrics.elidedText(f"component 2 ({second})", Qt.TextElideMode.ElideRight, plot.height())
    painter.drawText(QRectF(0, 0, plot.height(), _LINE), _LEFT, title)
    painter.restore()
    height = min(_LINE, plot.height() / max(len(shown), 1))
    for index, name in enumerate(shown):
        line = QRectF(plot.right() + 6, plot.top() + index * height, legend, height)
        _paint_mark(painter, QPointF(line.left() + 4, line.center().y()), index, theme)
        if height >= metrics.height() * 0.75:
            painter.setPen(theme.color("text-dim"))
            text = metrics.elidedText(name, Qt.TextElideMode.ElideRight, legend - 14)
            painter.drawText(line.adjusted(12, 0, 0, 0), _LEFT, text)


def _paint_points(painter: QPainter, plot: QRectF, found: Projection, classes: list[int], theme: Theme) -> None:
    if not len(found.points):
        return
    low, high = found.points.min(axis=0), found.points.max(axis=0)
    middle, span = (low + high) / 2, float(np.max(high - low)) or 1.0
    width, height = (max(float(each), span / 1000) for each in high - low)
    scale = min(plot.width() / width, plot.height() / height)
    ranks = {label: index for index, label in enumerate(classes)}
    for index, point in enumerate(found.points):
        x = plot.center().x() + float(point[0] - middle[0]) * scale
        y = plot.center().y() - float(point[1] - middle[1]) * scale
        rank = None if found.labels is None else ranks[int(found.labels[index])]
        _paint_mark(painter, QPointF(x, y), rank, theme)


def _paint_mark(painter: QPainter, at: QPointF, rank: int | None, theme: Theme) -> None:
    """A point by the rank of its class: color, and shape once colors repeat."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(class_color(rank, theme))
    shape = "circle" if rank is None else _SHAPES[rank // len(theme.series) % len(_SHAPES)]
    if shape == "circle":
        painter.drawEllipse(at, _POINT, _POINT)
    elif shape == "square":
        painter.drawRect(QRectF(at.x() - _POINT, at.y() - _POINT, 2 * _POINT, 2 * _POINT))
    else:
        side = _POINT * 1.3
        corners = [(0.0, -side), (side, side * 0.8), (-side, side * 0.8)]
        painter.drawPolygon(QPolygonF([QPointF(at.x() + dx, at.y() + dy) for dx, dy in corners]))


def class_color(rank: int | None, theme: Theme) -> QColor:
    if rank is None or rank >= MAX_CLASSES:
        return theme.color("series-1" if rank is None else "text-dim")
    return theme.color(f"series-{rank % len(theme.series) + 1}")


__all__ = ["MAX_CLASSES", "class_color", "paint_histogram", "paint_projection"]
