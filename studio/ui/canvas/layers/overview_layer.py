"""Paints the whole graph at low zoom in one item: painting thousands of items would be slow in Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Wire
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.canvas.wires.wire_role import WireRole

_Z = -1.0


class OverviewLayer(QGraphicsRectItem):
    """Visible at the lowest level of detail."""

    def __init__(
        self, paint_context: PaintContext, nodes: Mapping[str, NodeItem], wires: Mapping[Wire, WireItem]
    ) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self._paint_context = paint_context
        self._nodes = nodes
        self._wires = wires
        self._stale = True
        self._patches: dict[str, list[QRectF]] = {}
        self._paths: dict[WireRole, QPainterPath] = {}

    def refresh(self) -> None:
        """Mark the layer for repainting. Does nothing while it is hidden."""
        self._stale = True
        if self.isVisible():
            self._update_bounds()
            self.update()

    def show_layer(self, visible: bool) -> None:
        if visible:
            self._update_bounds()
        self.setVisible(visible)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if self._stale:
            self._collect_shapes()
        style = self._paint_context.style
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for role, path in self._paths.items():
            painter.setPen(style.wire_far[role])
            painter.drawPath(path)
        for wire in self._wires.values():
            if wire.is_highlighted or wire.is_selected or wire.error:
                painter.setPen(self._bold(wire.pen()))
                painter.drawPath(wire.path)
        painter.setPen(style.no_pen)
        for category, patches in self._patches.items():
            painter.setBrush(style.category_brush[category])
            painter.drawRects(patches)
        self._paint_marks(painter)

    def _paint_marks(self, painter: QPainter) -> None:
        """Outline selected nodes and nodes with errors."""
        style, scale = self._paint_context.style, self._paint_context.zoom.scale
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for node in self._nodes.values():
            chosen = node.state.selected or node.state.highlighted
            if not (chosen or node.content.error):
                continue
            pen = QPen(style.accent if chosen else style.error, 2.0)
            pen.setCosmetic(True)
            painter.setPen(pen)
            gap = 2 / scale
            painter.drawRect(_rect(node).adjusted(-gap, -gap, gap, gap))

    def _bold(self, pen: QPen) -> QPen:
        pen = QPen(pen.color(), 2.0)
        pen.setCosmetic(True)
        return pen

    def _collect_shapes(self) -> None:
        patches: defaultdict[str, list[QRectF]] = defaultdict(list)
        for node in self._nodes.values():
            patches[node.content.category].append(_rect(node))
        paths: defaultdict[WireRole, QPainterPath] = defaultdict(QPainterPath)
        for wire in self._wires.values():
            paths[wire.role].addPath(wire.path)
        self._patches, self._paths, self._stale = dict(patches), dict(paths), False

    def _update_bounds(self) -> None:
        self.setRect(_around(item.sceneBoundingRect() for item in (*self._nodes.values(), *self._wires.values())))


def _rect(node: NodeItem) -> QRectF:
    return QRectF(node.x(), node.y(), node.layout.width, node.layout.height)


def _around(rects: Iterable[QRectF]) -> QRectF:
    area = QRectF()
    for rect in rects:
        area = area.united(rect)
    return area
