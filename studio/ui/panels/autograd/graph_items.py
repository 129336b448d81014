"""Graphics items for nodes and edges of the autograd graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget

from engine.inspect import GraphNode
from studio.ui import number_format
from studio.ui.panels.autograd.norm_scale import NormScale
from studio.ui.theme import fonts, theme

Position: TypeAlias = tuple[float, float]
"""Top left corner of an item, or a bend of a route, in scene coordinates."""

WIDTH, HEIGHT = 124.0, 44.0
_STRIP = 6.0
_READABLE = 0.5
"""Text is hidden below this scale."""


class OpItem(QGraphicsItem):
    """Op or leaf: name, shape and gradient norm, with a strip in the color of the norm."""

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
            norm = number_format.norm(self.node.gradient_norm)
            painter.drawText(room, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight, norm)


class EdgeItem(QGraphicsPathItem):
    """Edge of the backward graph, routed past other nodes."""

    def __init__(self, start: Position, route: Sequence[Position], end: Position) -> None:
        super().__init__(_path(start, route, end))
        self.apply_theme()

    def apply_theme(self) -> None:
        self.setPen(QPen(theme.current().color("border-strong"), 1.25))


def _path(start: Position, route: Sequence[Position], end: Position) -> QPainterPath:
    """Return the path from the right side of the `start` node to the left side of `end`, horizontal in each column."""
    stops = [QPointF(start[0] + WIDTH, start[1] + HEIGHT / 2)]
    for x, y in route:
        stops += [QPointF(x, y), QPointF(x + WIDTH, y)]
    stops.append(QPointF(end[0], end[1] + HEIGHT / 2))
    path = QPainterPath(stops[0])
    for before, stop in pairwise(stops):
        reach = QPointF((stop.x() - before.x()) / 2, 0)
        path.cubicTo(before + reach, stop - reach, stop)
    return path


def _shape(node: GraphNode) -> str:
    return "×".join(map(str, node.spec.shape)) or "scalar"


def _tip(node: GraphNode, owner: str | None) -> str:
    lines = [node.leaf or node.op, f"Shape {_shape(node)}, {node.spec.dtype.name}"]
    if node.gradient_norm is not None:
        lines.append(f"Gradient norm {number_format.norm(node.gradient_norm)}")
    if node.saved_bytes:
        lines.append(f"Saved for backward: {number_format.size(node.saved_bytes)}")
    if owner:
        lines.append(f"From {owner}")
    return "\n".join(lines)
