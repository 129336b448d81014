"""Paints the whole graph at low zoom in one item: painting thousands of items would be slow in Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import MAX_COORDINATE, Wire
from studio.ui.canvas.layers.overview_shapes import (
    AreaShapes,
    OverviewShapes,
    node_patches,
    node_rect,
    paint_patches,
    paint_wires,
    wire_paths,
)
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.canvas.wires.wire_role import WireRole

_Z = -1.0
_MARGIN = 1e5
"""How far wires extend beyond the outermost nodes."""
_JOINED = 4
"""Number of wires per path of bold wires: Qt needs more time for wide pens along longer paths."""


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
        self._shapes = OverviewShapes(nodes, wires)
        self._bold: list[tuple[QColor, QPainterPath]] | None = None
        """Wires with errors, highlighted and selected wires by color; None if they have changed."""
        self._moving_nodes: set[NodeItem] = set()
        self._moving_wires: set[WireItem] = set()
        """Nodes and wires that a gesture moves: painted separately, so that the shapes of the others stay valid."""
        self._lifted: Set[NodeItem | WireItem] = frozenset()
        """Those of them that `LiftedItems` paints."""
        limit = MAX_COORDINATE + _MARGIN
        self.setRect(QRectF(-limit, -limit, 2 * limit, 2 * limit))

    def refresh(self) -> None:
        """Repaint after any node or wire may have changed."""
        self._moving_nodes, self._moving_wires, self._lifted = set(), set(), frozenset()
        self._shapes.leave_out(frozenset())
        self._shapes.clear()
        self.refresh_marks()

    def refresh_marks(self) -> None:
        """Repaint after nodes or wires were selected or highlighted."""
        self._bold = None
        self.update()

    def refresh_wires(self, wires: Iterable[WireItem]) -> None:
        """Repaint after wires were rerouted."""
        self._shapes.update_wires(wires)
        self.refresh_marks()

    def refresh_moving(
        self, nodes: Set[NodeItem], wires: Set[WireItem], lifted: Set[NodeItem | WireItem] = frozenset()
    ) -> None:
        """Repaint after a gesture moved nodes and wires. `LiftedItems` paints the lifted ones."""
        if not (nodes <= self._moving_nodes and wires <= self._moving_wires):
            self._moving_nodes |= nodes
            self._moving_wires |= wires
            self._shapes.leave_out(self._moving_nodes | self._moving_wires)
        self._lifted = lifted
        self.refresh_marks()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint each exposed rectangle by itself: long paths take much longer with a clip of several rectangles."""
        exposed = self._paint_context.exposed
        if len(exposed) < 2:
            self._paint_rect(painter, exposed[0] if exposed else self.rect())
            return
        for rect in exposed:
            painter.save()
            painter.setClipRect(rect)
            self._paint_rect(painter, rect)
            painter.restore()

    def _paint_rect(self, painter: QPainter, rect: QRectF) -> None:
        margin = 4 / self._paint_context.zoom.scale  # outlines and pens
        areas = list(self._shapes.near(rect.adjusted(-margin, -margin, margin, margin)))
        self._paint_wires(painter, areas)
        self._paint_nodes(painter, areas)
        self._paint_outlines(painter)

    def _paint_wires(self, painter: QPainter, areas: list[AreaShapes]) -> None:
        for paths in (*(area.paths for area in areas), wire_paths(self._moving_wires - self._lifted)):
            paint_wires(painter, paths, self._paint_context.style)
        if self._bold is None:
            self._bold = self._collect_bold()
        for color, path in self._bold:
            painter.setPen(_bold_pen(color))
            painter.drawPath(path)

    def _collect_bold(self) -> list[tuple[QColor, QPainterPath]]:
        found: defaultdict[tuple[bool, bool, bool, WireRole], list[WireItem]] = defaultdict(list)
        for wire in self._wires.values():
            if wire.is_highlighted or wire.is_selected or wire.error:
                found[wire.is_selected, wire.is_highlighted, bool(wire.error), wire.role].append(wire)
        bold: list[tuple[QColor, QPainterPath]] = []
        for key in sorted(found):
            wires, color = found[key], found[key][0].pen().color()
            bold += [(color, _joined(wires[i : i + _JOINED])) for i in range(0, len(wires), _JOINED)]
        return bold

    def _paint_nodes(self, painter: QPainter, areas: list[AreaShapes]) -> None:
        for patches in (*(area.patches for area in areas), node_patches(self._moving_nodes - self._lifted)):
            paint_patches(painter, patches, self._paint_context.style)

    def _paint_outlines(self, painter: QPainter) -> None:
        """Outline selected nodes and nodes with errors."""
        style, gap = self._paint_context.style, 2 / self._paint_context.zoom.scale
        failed: list[QRectF] = []
        chosen: list[QRectF] = []
        for node in self._nodes.values():
            state = node.state
            if state.selected or state.highlighted:
                chosen.append(node_rect(node).adjusted(-gap, -gap, gap, gap))
            elif node.content.error:
                failed.append(node_rect(node).adjusted(-gap, -gap, gap, gap))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for color, rects in ((style.error, failed), (style.accent, chosen)):
            if rects:
                painter.setPen(_bold_pen(color))
                painter.drawRects(rects)


def _joined(wires: Iterable[WireItem]) -> QPainterPath:
    path = QPainterPath()
    for wire in wires:
        path.addPath(wire.scene_path)
    return path


def _bold_pen(color: QColor) -> QPen:
    pen = QPen(color, 2.0)
    pen.setCosmetic(True)
    return pen


__all__ = ["OverviewLayer"]
