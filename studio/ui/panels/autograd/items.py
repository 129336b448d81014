"""The nodes and edges of the drawn graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget

from engine.inspect import GraphNode
from studio.ui import figures, fonts, theme
from studio.ui.panels.autograd.scale import NormScale

WIDTH, HEIGHT = 124.0, 44.0
STEP_X, STEP_Y = 156.0, 56.0
_STRIP = 6.0
_READABLE = 0.5
"""Below this scale, text is too small to read and is left out."""


class OpItem(QGraphicsItem):
    """An op or a leaf: strip in the colour of its gradient norm, name, shape, norm."""

    def __init__(self, node: GraphNode, owner: str | None, scale: NormScale) -> None:
        super().__init__()
        self.node, self.owner = node, owner
        self._scale = scale
        self._title = node.leaf or ("leaf" if node.leaf is not None else node.op)
        self.is_marked = False
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setZValue(1)
        self.setToolTip(_tip(node, owner))

    def set_marked(self, marked: bool) -> None:
        if marked != self.is_marked:
            self.is_marked = marked
            self.update()

    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, WIDTH, HEIGHT).adjusted(-2, -2, 2, 2)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        colors = theme.current()
        body = QRectF(0, 0, WIDTH, HEIGHT)
        leaf = self.node.leaf is not None
        shape = QPainterPath()
        shape.addRoundedRect(body, 6, 6)
        painter.fillPath(shape, colors.color("raised"))
        painter.save()
        painter.setClipPath(shape)
        painter.fillRect(QRectF(0, 0, _STRIP, HEIGHT), self._scale.color(self.node.gradient_norm, colors))
        painter.restore()
        if self.is_marked:
            painter.setPen(QPen(colors.color("accent"), 2))
        else:
            pen = QPen(colors.color("border-strong" if leaf else "border"), 1)
            if leaf:
                pen.setStyle(Qt.PenStyle.DashLine)
            painter.setPen(pen)
        painter.drawPath(shape)
        if option.levelOfDetailFromTransform(painter.worldTransform()) < _READABLE:
            return
        room = body.adjusted(_STRIP + 8, 5, -8, -5)
        painter.setFont(fonts.interface(12, bold=not leaf))
        painter.setPen(colors.color("text"))
        title = painter.fontMetrics().elidedText(self._title, Qt.TextElideMode.ElideMiddle, round(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, title)
        painter.setFont(fonts.monospace(10))
        painter.setPen(colors.color("text-dim"))
        painter.drawText(room, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, _shape(self.node))
        if self.node.gradient_norm is not None:
            norm = figures.norm(self.node.gradient_norm)
            painter.drawText(room, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight, norm)


class EdgeItem(QGraphicsPathItem):
    """From a node to one that its gradient goes to, past the places that keep it clear of others."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        super().__init__(_path(points))
        self.paint_anew()

    def paint_anew(self) -> None:
        self.setPen(QPen(theme.current().color("border-strong"), 1.25))


def corner(place: tuple[float, float]) -> QPointF:
    """The top left corner of the node at a place of the layout."""
    return QPointF(place[0] * STEP_X, place[1] * STEP_Y)


def _path(points: Sequence[tuple[float, float]]) -> QPainterPath:
    """Through the middles of the waypoints, from the left side of the first node to the right side of the last."""
    corners = [corner(point) for point in points]
    stops = [corners[0] + QPointF(0, HEIGHT / 2)]
    for middle in corners[1:-1]:
        stops += [middle + QPointF(WIDTH, HEIGHT / 2), middle + QPointF(0, HEIGHT / 2)]
    stops.append(corners[-1] + QPointF(WIDTH, HEIGHT / 2))
    path = QPainterPath(stops[0])
    for before, stop in pairwise(stops):
        reach = QPointF((before.x() - stop.x()) / 2, 0)
        path.cubicTo(before - reach, stop + reach, stop)
    return path


def _shape(node: GraphNode) -> str:
    return "×".join(map(str, node.spec.shape)) or "scalar"


def _tip(node: GraphNode, owner: str | None) -> str:
    lines = [node.leaf or node.op, f"Shape {_shape(node)}, {node.spec.dtype.name}"]
    if node.gradient_norm is not None:
        lines.append(f"Gradient norm {figures.norm(node.gradient_norm)}")
    if node.saved_bytes:
        lines.append(f"Keeps {figures.size(node.saved_bytes)} for the backward pass")
    if owner:
        lines.append(f"From {owner}")
    return "\n".join(lines)
