"""Markers of graph breaks above the graph, with the number of breaks and their cost."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Wire
from studio.training.regions import RegionBreak, RegionMap
from studio.ui import number_format
from studio.ui.canvas.canvas_style import interface_font
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_item import WireItem

_Z = 4.0
_PX, _HEIGHT, _ICON, _SIDE, _GAP = 11.0, 22.0, 14.0, 7.0, 5.0
_DISTANCE = 22.0
"""Distance of a marker from the nodes above it, so that it lies outside their region."""
_MAX_GROWTH = 3.0
_BREAK_WIDTH = 12.0


class GraphBreakLayer(QGraphicsRectItem):
    """Visible while the compile overlay is on."""

    def __init__(
        self, paint_context: PaintContext, nodes: Mapping[str, NodeItem], wires: Mapping[Wire, WireItem]
    ) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self._paint_context, self._nodes, self._wires = paint_context, nodes, wires
        self._map = RegionMap()
        self._chosen: int | None = None

    def show_map(self, map: RegionMap) -> None:
        self._map = map
        self.refresh()

    def choose(self, index: int | None) -> None:
        """Highlight the marker of a graph break."""
        if index != self._chosen:
            self._chosen = index
            self.update()

    def refresh(self) -> None:
        """Update after a change of nodes, wires or zoom."""
        if self.isVisible():
            self._update_bounds()
            self.update()

    def show_layer(self, visible: bool) -> None:
        if visible:
            self._update_bounds()
        self.setVisible(visible)

    def marker_at(self, position: QPointF) -> RegionBreak | None:
        """The graph break whose marker is at a scene position."""
        if not self.isVisible():
            return None
        return next((graph_break for graph_break, marker in self.markers() if marker.contains(position)), None)

    def markers(self) -> list[tuple[RegionBreak, QRectF]]:
        """The rectangle of each marker; overlapping markers are stacked."""
        markers: list[tuple[RegionBreak, QRectF]] = []
        growth = self._text_scale()
        metrics = QFontMetricsF(interface_font(round(_PX * growth)))
        for graph_break in self._map.breaks:
            anchor = self._anchor(graph_break)
            if anchor is None:
                continue
            width = metrics.horizontalAdvance(marker_text(graph_break)) + (2 * _SIDE + _ICON + _GAP) * growth
            marker = QRectF(anchor.x() - width / 2, anchor.y() - _HEIGHT * growth / 2, width, _HEIGHT * growth)
            while any(marker.intersects(other) for _, other in markers):
                marker.translate(0, (_HEIGHT + 4) * growth)
            markers.append((graph_break, marker))
        return markers

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        style, growth = self._paint_context.style, self._text_scale()
        font = interface_font(round(_PX * growth))
        for graph_break, marker in self.markers():
            chosen = graph_break.index == self._chosen
            pen = QPen(style.accent if chosen else style.warning, (2.0 if chosen else 1.25) * growth)
            painter.setPen(pen)
            if (connector := self._connector(graph_break, marker)) is not None:
                painter.drawLine(connector)
            painter.setBrush(style.body)
            painter.drawRoundedRect(marker, marker.height() / 2, marker.height() / 2)
            side = _ICON * growth
            square = QRectF(marker.left() + _SIDE * growth, marker.center().y() - side / 2, side, side)
            picture = style.icon("bridge", style.warning, side, self._paint_context.zoom.device_scale)
            painter.drawPixmap(square, picture, QRectF(picture.rect()))
            painter.setPen(style.text)
            painter.setFont(font)
            room = QRectF(square.right() + _GAP * growth, marker.top(), marker.width(), marker.height())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, marker_text(graph_break))

    def _anchor(self, graph_break: RegionBreak) -> QPointF | None:
        """Center of the marker: below the nodes at both ends of the wire with the break, or below the node."""
        offset = _DISTANCE + _HEIGHT / 2 * self._text_scale()
        if (middle := self._anchor_wire(graph_break)) is not None:
            wire, x = middle
            ends = [self._nodes[end.node].box.bottom for end in (wire.source, wire.target)]
            return QPointF(x, max(ends) + offset)
        node = self._nodes.get(graph_break.node or "")
        return None if node is None else QPointF(node.box.center.x, node.box.bottom + offset)

    def _anchor_wire(self, graph_break: RegionBreak) -> tuple[Wire, float] | None:
        """The wire that the marker belongs to, preferably one at the node of the break, and its middle x coordinate."""
        near = [wire for wire in graph_break.wires if graph_break.node in (wire.source.node, wire.target.node)]
        wire = min((wire for wire in near or graph_break.wires if wire in self._wires), default=None)
        return None if wire is None else (wire, self._wires[wire].curve.at(0.5).x)

    def _connector(self, graph_break: RegionBreak, marker: QRectF) -> QLineF | None:
        """The line from the wire or node down to the marker."""
        found = self._anchor_wire(graph_break)
        if found is not None:
            middle = self._wires[found[0]].curve.at(0.5)
            return QLineF(middle.x, middle.y + _BREAK_WIDTH / 2, marker.center().x(), marker.top())
        node = self._nodes.get(graph_break.node or "")
        return (
            None if node is None else QLineF(node.box.center.x, node.box.bottom + 4, marker.center().x(), marker.top())
        )

    def _text_scale(self) -> float:
        return min(max(1.0 / self._paint_context.zoom.scale, 1.0), _MAX_GROWTH)

    def _update_bounds(self) -> None:
        rect = QRectF()
        for graph_break, marker in self.markers():
            rect = rect.united(marker)
            if (connector := self._connector(graph_break, marker)) is not None:
                rect = rect.united(QRectF(connector.p1(), connector.p2()).normalized())
        self.setRect(rect.adjusted(-4, -4, 4, 4) if not rect.isNull() else rect)


def marker_text(graph_break: RegionBreak) -> str:
    """Text on a marker."""
    times = "" if graph_break.count == 1 else f" {graph_break.count}×"
    return f"Python{times} · {number_format.milliseconds(graph_break.seconds)}"


def marker_tooltip(graph_break: RegionBreak) -> str:
    """Tooltip of a marker."""
    where = f"{graph_break.node}: " if graph_break.node else ""
    times = "once" if graph_break.count == 1 else f"{graph_break.count} times"
    cost = number_format.milliseconds(graph_break.seconds)
    return (
        f"{where}{graph_break.title}\n{times.capitalize()} per step, costs {cost}.\nClick for the reason and a rewrite."
    )


__all__ = ["GraphBreakLayer", "marker_text", "marker_tooltip"]
