"""Draws what a previewed fix would change: outlines with new values, ghosts of new nodes, added and removed wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.graph_comparison import Change
from studio.document.model import MAX_COORDINATE, Block, Document, Endpoint, Wire
from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.comparison.comparison_layer import GHOST, color_of, outline_pen
from studio.ui.canvas.geometry import Box, Point
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.nodes.node_layout import CORNER, FIRST_PORT
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_curve import wire_curve
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.canvas.wires.wire_painter import curve_path
from studio.ui.project.fix_previewer import FixPreviewer
from studio.ui.project.scope_store import ScopeStore

_Z = 2.6
_LABEL_HEIGHT, _PADDING = 18.0, 6.0
_GAP = 24.0
"""Distance between a ghost and the node that reads it."""


class FixPreviewLayer(QGraphicsRectItem):
    """Drawn over nodes and wires while a fix is previewed; hidden otherwise."""

    def __init__(
        self,
        store: ScopeStore,
        previewer: FixPreviewer,
        paint_context: PaintContext,
        nodes: Mapping[str, NodeItem],
        wires: Mapping[Wire, WireItem],
    ) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self.setRect(QRectF(-MAX_COORDINATE, -MAX_COORDINATE, 2 * MAX_COORDINATE, 2 * MAX_COORDINATE))
        self._store, self._previewer = store, previewer
        self._paint_context, self._nodes, self._wires = paint_context, nodes, wires
        self._changes: Sequence[Change] = ()
        self._new: Document | Block = Document()
        previewer.changed.connect(self._refresh)
        store.location_changed.connect(self._refresh)

    @property
    def ghosts(self) -> dict[str, Box]:
        """The areas of nodes that the fix would add."""
        return {change.new: self._ghost(change.new) for change in self._changes if change.new and change.old is None}

    def labels(self, change: Change) -> list[str]:
        """The new values of a node."""
        return [str(value) for value in change.values]

    def _refresh(self, *_: object) -> None:
        effect, block = self._previewer.effect, self._store.block
        changes: Sequence[Change] = ()
        if effect is not None:
            changes = effect.comparison.within(block)
            self._new = effect.document if not block else effect.document.blocks.get(block, Document())
        self._changes = changes
        self.setVisible(bool(changes))
        self.update()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        style = self._paint_context.style
        for change in self._changes:
            self._paint_wires(painter, change, style)
        for change in self._changes:
            self._paint_node(painter, change, style)

    def _paint_wires(self, painter: QPainter, change: Change, style: CanvasStyle) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for wire in change.wires_removed:
            if (item := self._wires.get(wire)) is not None:
                painter.setPen(outline_pen(color_of("removed", style), 3.0, dashed=True))
                painter.drawPath(item.path)
        for wire in change.wires_added:
            start, end = self._port(wire.source, is_input=False), self._port(wire.target, is_input=True)
            if start is not None and end is not None:
                painter.setPen(outline_pen(color_of("added", style), 2.5, dashed=True))
                painter.drawPath(curve_path(wire_curve(start, end)))

    def _paint_node(self, painter: QPainter, change: Change, style: CanvasStyle) -> None:
        is_added = change.old is None
        item = self._nodes.get(change.old or "")
        box = self._ghost(change.node) if is_added else None if item is None else item.box
        if box is None:
            return
        kind = change.kind if change.kind in ("added", "removed") else "changed"
        rect = QRectF(box.left, box.top, box.width, box.height)
        painter.setPen(outline_pen(color_of(kind, style), 3.0, dashed=kind != "changed"))
        painter.setBrush(style.pill if is_added else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), CORNER + 3, CORNER + 3)
        painter.setFont(style.fonts["name"])
        if is_added:
            painter.setPen(style.text)
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, change.node)
        for index, text in enumerate(self.labels(change)):
            self._paint_label(painter, text, box, index, style)

    def _paint_label(self, painter: QPainter, text: str, box: Box, index: int, style: CanvasStyle) -> None:
        """A new value below a node."""
        top = box.bottom + 8 + index * (_LABEL_HEIGHT + 2)
        width = style.measure(text, "mono") + 2 * _PADDING
        rect = QRectF(box.center.x - width / 2, top, width, _LABEL_HEIGHT)
        painter.setPen(outline_pen(color_of("changed", style), 1.0))
        painter.setBrush(style.pill)
        painter.drawRoundedRect(rect, 4, 4)
        painter.setPen(style.text)
        painter.setFont(style.fonts["mono"])
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)

    def _ghost(self, name: str) -> Box:
        """The area of a new node: above the node that reads it, else at its position."""
        width, height = GHOST
        reader = next((wire.target.node for wire in self._new.wires if wire.source.node == name), "")
        if reader not in self._nodes:
            x, y = self._new.nodes[name].at
            return Box(x, y, x + width, y + height)
        box = self._nodes[reader].box
        return Box(box.left - width / 2, box.top - _GAP - height, box.left + width / 2, box.top - _GAP)

    def _port(self, end: Endpoint, *, is_input: bool) -> Point | None:
        item = self._nodes.get(end.node)
        if item is not None:
            return item.port("input" if is_input else "output", end.port)
        if end.node not in self._new.nodes:
            return None
        box = self._ghost(end.node)
        return Point(box.left if is_input else box.right, min(box.top + FIRST_PORT, box.center.y))


__all__ = ["FixPreviewLayer"]
