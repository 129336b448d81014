"""Paints a sample in the grid: as an image, a line plot, bars, or text with token numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QPainter, QPen, QPolygonF

from studio.training.data.sample_display import Kind, Scale, as_planes
from studio.training.data.sample_preview import Facts, Sample
from studio.ui.theme import fonts, icons, theme

SIDE = 56
"""Side of an image in pixels."""
PLOT = QSize(120, SIDE)
CAPTION = 18
ARROW = 16
TEXT_HEIGHT = 46
_FEW_BARS = 32
_TOKEN_WIDTH = 26
"""Minimum width of a token and its number, in pixels."""


def size_of(facts: Facts) -> QSize:
    """Size of a cell without spacing. Width 0 means the full width, for text."""
    if facts.kind == "text":
        return QSize(0, TEXT_HEIGHT)
    width = _box(facts.kind).width()
    if facts.pairs:
        width += ARROW + _box(facts.kind_before).width()
    return QSize(width, SIDE + CAPTION)


def paint(painter: QPainter, area: QRect, sample: Sample | None, facts: Facts) -> None:
    """Paint a sample, or a placeholder for None."""
    colors = theme.current()
    box = QRect(area.topLeft(), QSize(area.width(), area.height() - (0 if facts.kind == "text" else CAPTION)))
    if sample is None:
        painter.fillRect(box.adjusted(0, 0, 0, -2 if facts.kind == "text" else 0), colors.color("raised"))
        return
    if sample.input is None:
        _paint_problem(painter, box)
    elif facts.kind == "text":
        _paint_text(painter, area, sample, facts.vocabulary)
        return
    elif sample.before is not None:
        first = QRect(box.topLeft(), _box(facts.kind_before))
        second = QRect(QPointF(box.left() + first.width() + ARROW, box.top()).toPoint(), _box(facts.kind))
        paint_numbers(painter, first, sample.before, facts.kind_before, facts.scale_before)
        arrow = QRectF(first.right() + 3, first.center().y() - 6, 12, 12)
        icons.paint(painter, "chevron-right", arrow, colors.color("text-dim"))
        paint_numbers(painter, second, sample.input, facts.kind, facts.scale)
    else:
        paint_numbers(painter, box, sample.input, facts.kind, facts.scale)
    _paint_caption(painter, QRect(area.left(), box.bottom() + 2, area.width(), CAPTION - 2), sample)


def paint_numbers(painter: QPainter, area: QRect, values: NDArray[Any], kind: Kind, scale: Scale) -> None:
    """Paint values as an image, lines, bars, or a grayscale strip if there are too many for bars."""
    match kind:
        case "images":
            draw_image(painter, area, image_of(values, scale))
        case "series":
            _paint_lines(painter, area, values, scale)
        case _:
            flat = values.reshape(-1).astype(np.float64)
            (_paint_bars if len(flat) <= _FEW_BARS else _paint_strip)(painter, area, flat, scale)


def image_of(values: NDArray[Any], scale: Scale) -> QImage:
    """Convert an array to an image, grayscale or RGB; NaN and infinity get a separate color."""
    planes = as_planes(values).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        bright = np.clip((planes - scale.low) / (scale.high - scale.low), 0, 1)
        pixels = np.nan_to_num(bright * 255).astype(np.uint8)
    rgb = np.ascontiguousarray(np.moveaxis(np.broadcast_to(pixels, (3, *pixels.shape[1:])), 0, -1))
    wrong = ~np.isfinite(planes).all(0)
    if wrong.any():
        color = theme.current().color("error")
        rgb[wrong] = (color.red(), color.green(), color.blue())
    height, width = rgb.shape[:2]
    return QImage(rgb.data, width, height, 3 * width, QImage.Format.Format_RGB888).copy()


def draw_image(painter: QPainter, area: QRect, image: QImage) -> QRectF:
    """Scale an image to fit, with sharp pixels when enlarged. Returns its rectangle."""
    size = QRectF(image.rect()).size().scaled(QRectF(area).size(), Qt.AspectRatioMode.KeepAspectRatio)
    target = QRectF(0, 0, size.width(), size.height())
    target.moveCenter(QRectF(area).center())
    ratio = painter.device().devicePixelRatioF()
    shrinks = size.width() * ratio < image.width()
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, shrinks)
    painter.drawImage(target, image)
    return target


# -- kinds ------------------------------------------------------------------------------------


def _box(kind: Kind) -> QSize:
    return QSize(SIDE, SIDE) if kind == "images" else PLOT


def _paint_lines(painter: QPainter, area: QRect, values: NDArray[Any], scale: Scale) -> None:
    """A line per feature over time, for shape T×F."""
    colors = theme.current()
    painter.fillRect(area, colors.color("raised"))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipRect(area)
    inner = QRectF(area).adjusted(3, 4, -3, -4)
    columns = values.reshape(len(values), -1).astype(np.float64)
    x = inner.left() + np.arange(len(columns)) * (inner.width() / max(len(columns) - 1, 1))
    y = inner.bottom() - (columns - scale.low) * (inner.height() / (scale.high - scale.low))
    for number in range(min(columns.shape[1], len(colors.series))):
        painter.setPen(QPen(QColor(colors.series[number]), 1.25))
        finite = np.isfinite(y[:, number])
        points = [QPointF(*pair) for pair in zip(x[finite].tolist(), y[finite, number].tolist(), strict=True)]
        painter.drawPolyline(QPolygonF(points))
    painter.restore()


def _paint_bars(painter: QPainter, area: QRect, values: NDArray[np.float64], scale: Scale) -> None:
    """A bar per value, from zero."""
    colors = theme.current()
    painter.fillRect(area, colors.color("raised"))
    inner = QRectF(area).adjusted(4, 4, -4, -4)
    low, high = min(scale.low, 0.0), max(scale.high, 0.0)
    unit = inner.height() / ((high - low) or 1)
    zero = inner.bottom() + low * unit
    step = inner.width() / max(len(values), 1)
    for index, value in enumerate(np.clip(values, low, high).tolist()):
        left, width = inner.left() + index * step, max(step - min(step / 4, 3), 1)
        if not np.isfinite(values[index]):
            painter.fillRect(QRectF(left, inner.top(), width, inner.height()), colors.color("error-soft"))
        else:
            bar = QRectF(left, zero, width, -value * unit).normalized()
            painter.fillRect(bar, QColor(colors.series[0]))
    painter.setPen(QPen(colors.color("border-strong"), 1))
    painter.drawLine(QPointF(inner.left(), zero), QPointF(inner.right(), zero))


def _paint_strip(painter: QPainter, area: QRect, values: NDArray[np.float64], scale: Scale) -> None:
    """A grayscale strip."""
    draw = image_of(values[np.newaxis, np.newaxis], scale)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
    painter.drawImage(QRectF(area), draw)


def _paint_text(painter: QPainter, area: QRect, sample: Sample, vocabulary: tuple[str, ...]) -> None:
    """Characters or words above their token numbers."""
    colors = theme.current()
    assert sample.input is not None
    mono, small = fonts.monospace(13), fonts.monospace(10)
    measure = QFontMetrics(mono)
    painter.setFont(fonts.interface(11))
    painter.setPen(colors.color("text-dim"))
    gutter = 56
    painter.drawText(QRect(area.left(), area.top() + 4, gutter - 10, 20), _RIGHT, f"#{sample.row:,}")
    left = area.left() + gutter
    for number in sample.input.reshape(-1).tolist():
        text = visible_token(vocabulary[number]) if 0 <= number < len(vocabulary) else "·"
        width = max(_TOKEN_WIDTH, measure.horizontalAdvance(text) + 8)
        if left + width > area.right() - 16:
            painter.setPen(colors.color("text-dim"))
            painter.drawText(QRect(left, area.top() + 4, 16, 20), _MIDDLE, "…")
            break
        painter.setFont(mono)
        painter.setPen(colors.color("text"))
        painter.drawText(QRect(left, area.top() + 4, width, 20), _MIDDLE, text)
        painter.setFont(small)
        painter.setPen(colors.color("text-dim"))
        painter.drawText(QRect(left, area.top() + 24, width, 14), _MIDDLE, str(number))
        left += width


def visible_token(text: str) -> str:
    """Make whitespace and control characters visible."""
    return {" ": "␣", "\n": "↵", "\t": "⇥"}.get(text, text if text.isprintable() else "·")


def _paint_problem(painter: QPainter, area: QRect) -> None:
    colors = theme.current()
    painter.fillRect(area, colors.color("error-soft"))
    icon = QRectF(0, 0, 16, 16)
    icon.moveCenter(QRectF(area).center())
    icons.paint(painter, "error", icon, colors.color("error"))


def _paint_caption(painter: QPainter, area: QRect, sample: Sample) -> None:
    colors = theme.current()
    painter.setFont(fonts.interface(11))
    measure = painter.fontMetrics()
    label = measure.elidedText(sample.label, Qt.TextElideMode.ElideRight, area.width())
    room = area.width() - measure.horizontalAdvance(label) - 6
    painter.setPen(colors.color("text"))
    painter.drawText(area, _LEFT, label)
    row = f"#{sample.row:,}"
    if measure.horizontalAdvance(row) <= room:
        painter.setPen(colors.color("text-dim"))
        painter.drawText(area, _RIGHT, row)


_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_MIDDLE = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter)

__all__ = ["CAPTION", "SIDE", "draw_image", "image_of", "paint", "paint_numbers", "visible_token", "size_of"]
