"""The shape label of a wire: position and painting."""

from __future__ import annotations

import functools
from typing import NamedTuple

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from studio.ui.canvas.canvas_style import MONO_PX, CanvasStyle, monospace_font
from studio.ui.canvas.geometry import GRID, Box
from studio.ui.canvas.level_of_detail import LevelOfDetail, Zoom, readable
from studio.ui.canvas.nodes.node_layout import MeasureText
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_curve import WireCurve

_ROOM = 28.0
"""Minimum visible length of a wire beside its label."""
_SPOTS = (0.5, 0.38, 0.62)
"""Preferred label positions along the wire."""
_OUTER_SPOTS = (0.26, 0.74)
"""Fallback label positions along the wire."""


class WireLabel(NamedTuple):
    text: str
    box: Box
    pixels: int
    """Font size in canvas units."""

    @property
    def rect(self) -> QRectF:
        return QRectF(self.box.left, self.box.top, self.box.width, self.box.height)


def hovered_label(curve: WireCurve, text: str, zoom: Zoom) -> WireLabel:
    """The label of the hovered wire, readable at any zoom. On a short wire it is above, so it covers no node."""
    pixels = MONO_PX if readable(MONO_PX, zoom.scale) else round(MONO_PX / zoom.scale)
    box = _box(curve, text, pixels)
    return WireLabel(text, box if _has_room(curve, box) else box.moved(0, -1.4 * box.height), pixels)


def free_label(curve: WireCurve, text: str, paint_context: PaintContext, *, reserved: float = 0.0) -> WireLabel | None:
    """A label at a free position of the wire, with `reserved` pixels of free space on both sides; None without space.

    Without space for both, the dtype of the shape is omitted.
    """
    if paint_context.zoom.detail is not LevelOfDetail.FULL or not readable(MONO_PX, paint_context.zoom.scale):
        return None
    texts = dict.fromkeys((text, text.partition(" ")[0]))
    candidates = ((label_text, t) for spots in (_SPOTS, _OUTER_SPOTS) for label_text in texts for t in spots)
    labels = (WireLabel(label_text, _box(curve, label_text, MONO_PX, t), MONO_PX) for label_text, t in candidates)
    fitting = (label for label in labels if _has_room(curve, label.box, 2 * reserved))
    return next((label for label in fitting if not paint_context.is_covered(label.box, curve)), None)


def needed_length(text: str, measure: MeasureText) -> float:
    """The length of a wire that has space for its label without the dtype."""
    return measure(text.partition(" ")[0], "mono") + MONO_PX + _ROOM + GRID


def paint_label(painter: QPainter, label: WireLabel, style: CanvasStyle, *, strong: bool) -> None:
    """Paint the label on a background that covers the wire, with a frame if `strong`."""
    rect = label.rect
    painter.setPen(style.pill_line if strong else style.no_pen)
    painter.setBrush(style.pill if strong else style.background)
    patch = rect if strong else rect.adjusted(0, rect.height() * 0.22, 0, -rect.height() * 0.22)
    painter.drawRoundedRect(patch, patch.height() / 2, patch.height() / 2)
    painter.setPen(style.text if strong else style.dim)
    painter.setFont(monospace_font(label.pixels))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, label.text)


@functools.lru_cache(maxsize=4096)
def _text_width(text: str, pixels: int) -> float:
    return QFontMetricsF(monospace_font(pixels)).horizontalAdvance(text)


def _box(curve: WireCurve, text: str, pixels: int, t: float = 0.5) -> Box:
    width, height = _text_width(text, pixels) + pixels, pixels * 1.5
    middle = curve.on_longest_piece(t)
    return Box(middle.x - width / 2, middle.y - height / 2, middle.x + width / 2, middle.y + height / 2)


def _has_room(curve: WireCurve, box: Box, more: float = 0.0) -> bool:
    return curve.label_length >= box.width + _ROOM + more
