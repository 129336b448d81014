"""The graphics item of a frame or comment."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Frame
from studio.ui.canvas.canvas_style import interface_font
from studio.ui.canvas.frames import frame_geometry as geometry
from studio.ui.canvas.frames.frame_geometry import FAR_TITLE, TITLE
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.level_of_detail import readable
from studio.ui.canvas.paint_context import PaintContext

_CORNER = 8.0
_TEXT_PX = 13
_INDENT = 12.0
_BEHIND = -3.0
"""Frames are behind wires and the overview; larger ones behind smaller ones."""


class FrameItem(QGraphicsRectItem):
    """Drawn behind nodes. Far away the title is above the frame, at a constant size on the screen."""

    def __init__(self, paint_context: PaintContext, name: str, frame: Frame) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self._paint_context = paint_context
        self.name = name
        self.frame = frame
        self.is_selected = False
        self.update_bounds()

    def set_frame(self, frame: Frame) -> None:
        if frame != self.frame:
            self.frame = frame
            self.update_bounds()
            self.update()

    def set_selected(self, selected: bool) -> None:
        self.is_selected = selected
        self.update()

    def update_bounds(self) -> None:
        """Update the bounds, which depend on the zoom."""
        scale = self._paint_context.zoom.scale
        rect = _rect(geometry.box_of(self.frame))
        self.setZValue(_BEHIND + 1 / (1 + (rect.width() * rect.height()) ** 0.5 / 1000))
        if (title := geometry.title_box(self.frame, scale)) is not None:
            rect = rect.united(_rect(title))
        self.setRect(rect.adjusted(-3, -3, 3, 3))

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        frame, style, scale = self.frame, self._paint_context.style, self._paint_context.zoom.scale
        rect = _rect(geometry.box_of(frame))
        painter.setPen(style.selected if self.is_selected else style.frame_line[frame.color])
        painter.setBrush(style.frame_fill[frame.color])
        painter.drawRoundedRect(rect, _CORNER, _CORNER)
        is_inside = geometry.is_title_inside(scale)
        if frame.title and is_inside:
            self._paint_bar(painter, rect)
        elif frame.title:
            self._paint_title_above(painter, scale)
        if frame.text and readable(_TEXT_PX, scale):
            top = TITLE if frame.title else 0.0
            painter.setPen(style.text)
            painter.setFont(interface_font(_TEXT_PX, bold=False))
            area = rect.adjusted(_INDENT, top + 8, -_INDENT, -8)
            flags = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
            painter.drawText(area, int(flags), frame.text)

    def _paint_bar(self, painter: QPainter, rect: QRectF) -> None:
        style = self._paint_context.style
        bar = QPainterPath()
        bar.addRoundedRect(rect.adjusted(1, 1, -1, -1), _CORNER - 1, _CORNER - 1)
        strip = QPainterPath()
        strip.addRect(QRectF(rect.left(), rect.top(), rect.width(), TITLE))
        painter.setPen(style.no_pen)
        painter.setBrush(style.frame_header[self.frame.color])
        painter.drawPath(bar.intersected(strip))
        painter.setPen(style.text)
        painter.setFont(style.fonts["name"])
        title = style.elided(_one_line(self.frame.title), "name", rect.width() - 2 * _INDENT)
        painter.drawText(QRectF(rect.left() + _INDENT, rect.top(), rect.width(), TITLE), _MIDDLE, title)

    def _paint_title_above(self, painter: QPainter, scale: float) -> None:
        box = geometry.title_box(self.frame, scale)
        assert box is not None
        style = self._paint_context.style
        title = style.elided(_one_line(self.frame.title), "name", box.width * scale)
        painter.save()
        corner = painter.transform().map(QPointF(box.left, box.top))
        painter.resetTransform()  # at the size of the screen, because fonts of thousands of pixels are slow
        painter.setPen(style.text)
        painter.setFont(style.fonts["name"])
        painter.drawText(QRectF(corner, QSizeF(box.width * scale, FAR_TITLE)), _MIDDLE, title)
        painter.restore()


_MIDDLE = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _rect(box: Box) -> QRectF:
    return QRectF(box.left, box.top, box.width, box.height)
