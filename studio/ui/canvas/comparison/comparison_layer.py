"""Marks differences on the canvas: outlines with signs, ghosts of removed nodes, added and removed wires."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.graph_comparison import Change, Kind
from studio.document.model import MAX_COORDINATE, Block, Document, Endpoint, Wire
from studio.ui.canvas.canvas_style import CanvasStyle, interface_font
from studio.ui.canvas.geometry import Box, Point
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.nodes.node_layout import CORNER, FIRST_PORT
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_curve import wire_curve
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.canvas.wires.wire_painter import curve_path

_Z, _WIRE_Z = 2.5, 0.5
GHOST = (144.0, 48.0)
"""Size of the ghost of a removed node, whose type may be unknown."""
_SIGN = 16.0
_EVERYWHERE = QRectF(-MAX_COORDINATE, -MAX_COORDINATE, 2 * MAX_COORDINATE, 2 * MAX_COORDINATE)
SIGNS: dict[Kind, str] = {
    "added": "+",
    "removed": "−",
    "changed": "~",
    "renamed": "~",
    "block changed": "~",
    "rewired": "~",
}


class _WireLayer(QGraphicsRectItem):
    """Added and removed wires, between the wires and the nodes of the graph."""

    def __init__(self, paint_wires: Callable[[QPainter], None]) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_WIRE_Z)
        self.setVisible(False)
        self.setRect(_EVERYWHERE)
        self._paint_wires = paint_wires

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        self._paint_wires(painter)


class ComparisonLayer(QGraphicsRectItem):
    """Drawn over the nodes, and its `wires` under them; hidden without a comparison."""

    def __init__(
        self, paint_context: PaintContext, nodes: Mapping[str, NodeItem], wires: Mapping[Wire, WireItem]
    ) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self.setRect(_EVERYWHERE)
        self.wires = _WireLayer(self._paint_all_wires)
        self._paint_context, self._nodes, self._wires = paint_context, nodes, wires
        self._changes: Sequence[Change] = ()
        self._old: Document | Block = Document()
        self._chosen: Change | None = None

    def show_changes(self, changes: Sequence[Change], old: Document | Block, chosen: Change | None) -> None:
        """Mark the changes of the shown graph; `old` is its earlier version."""
        self._changes, self._old, self._chosen = changes, old, chosen
        for item in (self, self.wires):
            item.setVisible(bool(changes))
        self.repaint()

    def repaint(self) -> None:
        """Paint nodes and wires again, such as after a move."""
        self.update()
        self.wires.update()

    def box(self, change: Change) -> Box | None:
        """The area of a changed node, or of the ghost of a removed one."""
        if change.new is not None:
            item = self._nodes.get(change.new)
            return None if item is None else item.box
        node = self._old.nodes.get(change.old or "")
        return None if node is None else Box(*node.at, node.at[0] + GHOST[0], node.at[1] + GHOST[1])

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        for change in self._changes:
            self._paint_node(painter, change, self._paint_context.style)

    def _paint_all_wires(self, painter: QPainter) -> None:
        for change in self._changes:
            self._paint_wires(painter, change, self._paint_context.style)

    def _paint_wires(self, painter: QPainter, change: Change, style: CanvasStyle) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for wire in change.wires_added:
            if (item := self._wires.get(wire)) is not None:
                painter.setPen(outline_pen(color_of("added", style), 3.0))
                painter.drawPath(item.path)
        for wire in change.wires_removed:
            start, end = self._port(wire.source, "output"), self._port(wire.target, "input")
            if start is not None and end is not None:
                painter.setPen(outline_pen(color_of("removed", style), 2.0, dashed=True))
                painter.drawPath(curve_path(wire_curve(start, end)))

    def _paint_node(self, painter: QPainter, change: Change, style: CanvasStyle) -> None:
        box = self.box(change)
        if box is None:
            return
        scale, color = self._paint_context.zoom.scale, color_of(change.kind, style)
        rect = QRectF(box.left, box.top, box.width, box.height)
        width = 4.0 if change is self._chosen else 2.5
        painter.setPen(outline_pen(color, width, dashed=change.kind in ("removed", "block changed")))
        painter.setBrush(style.pill if change.kind == "removed" else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), CORNER + 3, CORNER + 3)
        if change.kind == "removed":
            painter.setPen(style.dim)
            painter.setFont(style.fonts["name"])
            painter.drawText(rect.adjusted(8, 0, -8, 0), Qt.AlignmentFlag.AlignCenter, change.old or "")
        size = max(_SIGN, min(12 / scale, 3 * _SIGN))
        circle = QRectF(box.left - size / 2, box.top - size / 2, size, size)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawEllipse(circle)
        painter.setPen(style.theme.on(color))
        painter.setFont(interface_font(round(size * 0.8)))
        painter.drawText(circle, Qt.AlignmentFlag.AlignCenter, SIGNS[change.kind])

    def _port(self, end: Endpoint, side: str) -> Point | None:
        """Where a wire of the old graph ended: at the node now, or at its ghost."""
        item = self._nodes.get(end.node)
        if item is not None:
            return item.port("output" if side == "output" else "input", end.port)
        node = self._old.nodes.get(end.node)
        if node is None:
            return None
        return Point(node.at[0] + (GHOST[0] if side == "output" else 0.0), node.at[1] + FIRST_PORT)


def color_of(kind: Kind, style: CanvasStyle) -> QColor:
    """The color of a kind of change."""
    return style.theme.color("ok") if kind == "added" else style.error if kind == "removed" else style.warning


def outline_pen(color: QColor, width: float, *, dashed: bool = False) -> QPen:
    """A pen of equal width at every zoom."""
    pen = QPen(color, width)
    pen.setCosmetic(True)
    if dashed:
        pen.setDashPattern([4, 3])
    return pen


__all__ = ["GHOST", "SIGNS", "ComparisonLayer", "color_of", "outline_pen"]
