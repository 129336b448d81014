"""Paints the whole graph at low zoom in one item: painting thousands of items would be slow in Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import MAX_COORDINATE, Wire
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.canvas.wires.wire_role import WireRole

_Z = -1.0
_MARGIN = 1e5
"""How far wires extend beyond the outermost nodes."""


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
        self._patches: dict[str | int, list[QRectF]] = {}
        """Nodes by category, or by level of the heat map."""
        self._paths: dict[WireRole, QPainterPath] = {}
        self._moving_nodes: set[NodeItem] = set()
        self._moving_wires: set[WireItem] = set()
        """Nodes and wires that a gesture moves: painted separately, so that the shapes of the others stay valid."""
        limit = MAX_COORDINATE + _MARGIN
        self.setRect(QRectF(-limit, -limit, 2 * limit, 2 * limit))

    def refresh(self) -> None:
        """Mark the layer for repainting. Does nothing while it is hidden."""
        self._stale = True
        self._moving_nodes, self._moving_wires = set(), set()
        self.update()

    def refresh_moving(self, nodes: set[NodeItem], wires: set[WireItem]) -> None:
        """Mark the layer for repainting after a gesture moved only these nodes and wires."""
        if not (nodes <= self._moving_nodes and wires <= self._moving_wires):
            self._moving_nodes |= nodes
            self._moving_wires |= wires
            self._stale = True
        self.update()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if self._stale:
            self._collect_shapes()
        style = self._paint_context.style
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for role, path in self._paths.items():
            painter.setPen(style.wire_far[role])
            painter.drawPath(path)
        for wire in self._moving_wires:
            painter.setPen(style.wire_far[wire.role])
            painter.drawPath(wire.path.translated(wire.pos()))
        for wire in self._wires.values():
            if wire.is_highlighted or wire.is_selected or wire.error:
                painter.setPen(self._bold(wire.pen()))
                painter.drawPath(wire.path)
        painter.setPen(style.no_pen)
        for category, patches in self._patches.items():
            painter.setBrush(style.heat[category] if isinstance(category, int) else style.category_brush[category])
            painter.drawRects(patches)
        for node in self._moving_nodes:
            painter.setBrush(style.category_brush[node.content.category])
            painter.drawRect(_rect(node))
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
        patches: defaultdict[str | int, list[QRectF]] = defaultdict(list)
        for node in set(self._nodes.values()) - self._moving_nodes:
            patches[node.content.category if node.state.heat is None else node.state.heat].append(_rect(node))
        paths: defaultdict[WireRole, QPainterPath] = defaultdict(QPainterPath)
        for wire in set(self._wires.values()) - self._moving_wires:
            paths[wire.role].addPath(wire.path)
        self._patches, self._paths, self._stale = dict(patches), dict(paths), False


def _rect(node: NodeItem) -> QRectF:
    return QRectF(*node.at, node.layout.width, node.layout.height)
