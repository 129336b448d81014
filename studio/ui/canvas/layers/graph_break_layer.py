"""Labels at graph breaks above the graph, with the number of breaks and their cost."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Wire
from studio.training.regions import Bridge, Map
from studio.ui import number_format
from studio.ui.canvas.canvas_style import interface_font
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_item import WireItem

_Z = 4.0
_PX, _HEIGHT, _ICON, _SIDE, _GAP = 11.0, 22.0, 14.0, 7.0, 5.0
_BELOW = 22.0
"""From the nodes, past the edge of their region, to the sign."""
_LARGEST = 3.0
_PLANK = 12.0


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
        self._map = Map()
        self._chosen: int | None = None

    def show_map(self, map: Map) -> None:
        self._map = map
        self.refresh()

    def choose(self, index: int | None) -> None:
        """Highlight the label of a graph break."""
        if index != self._chosen:
            self._chosen = index
            self.update()

    def refresh(self) -> None:
        """Update after a change of nodes, wires or zoom."""
        if self.isVisible():
            self._frame()
            self.update()

    def show_layer(self, visible: bool) -> None:
        if visible:
            self._frame()
        self.setVisible(visible)

    def sign_at(self, place: QPointF) -> Bridge | None:
        """The graph break whose label is at a scene position."""
        if not self.isVisible():
            return None
        return next((bridge for bridge, sign in self.signs() if sign.contains(place)), None)

    def signs(self) -> list[tuple[Bridge, QRectF]]:
        """The rectangle of each label; overlapping labels are stacked."""
        placed: list[tuple[Bridge, QRectF]] = []
        growth = self._growth()
        metrics = QFontMetricsF(interface_font(round(_PX * growth)))
        for bridge in self._map.bridges:
            anchor = self._anchor(bridge)
            if anchor is None:
                continue
            width = metrics.horizontalAdvance(sign_text(bridge)) + (2 * _SIDE + _ICON + _GAP) * growth
            sign = QRectF(anchor.x() - width / 2, anchor.y() - _HEIGHT * growth / 2, width, _HEIGHT * growth)
            while any(sign.intersects(other) for _, other in placed):
                sign.translate(0, (_HEIGHT + 4) * growth)
            placed.append((bridge, sign))
        return placed

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        style, growth = self._paint_context.style, self._growth()
        font = interface_font(round(_PX * growth))
        for bridge, sign in self.signs():
            chosen = bridge.index == self._chosen
            pen = QPen(style.accent if chosen else style.warning, (2.0 if chosen else 1.25) * growth)
            painter.setPen(pen)
            if (stem := self._stem(bridge, sign)) is not None:
                painter.drawLine(stem)
            painter.setBrush(style.body)
            painter.drawRoundedRect(sign, sign.height() / 2, sign.height() / 2)
            side = _ICON * growth
            square = QRectF(sign.left() + _SIDE * growth, sign.center().y() - side / 2, side, side)
            picture = style.icon("bridge", style.warning, side, self._paint_context.zoom.device_scale)
            painter.drawPixmap(square, picture, QRectF(picture.rect()))
            painter.setPen(style.text)
            painter.setFont(font)
            room = QRectF(square.right() + _GAP * growth, sign.top(), sign.width(), sign.height())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, sign_text(bridge))

    def _anchor(self, bridge: Bridge) -> QPointF | None:
        """The middle of the sign: below the wire at the node that breaks, and below the nodes at its ends."""
        foot = _BELOW + _HEIGHT / 2 * self._growth()
        if (middle := self._foot(bridge)) is not None:
            wire, x = middle
            ends = [self._nodes[end.node].box.bottom for end in (wire.source, wire.target)]
            return QPointF(x, max(ends) + foot)
        node = self._nodes.get(bridge.node or "")
        return None if node is None else QPointF(node.box.center.x, node.box.bottom + foot)

    def _foot(self, bridge: Bridge) -> tuple[Wire, float] | None:
        """The wire that the sign of a bridge belongs to, and where across it stands."""
        near = [wire for wire in bridge.wires if bridge.node in (wire.source.node, wire.target.node)]
        known = sorted(wire for wire in near or bridge.wires if wire in self._wires)
        return (known[0], self._wires[known[0]].curve.at(0.5).x) if known else None

    def _stem(self, bridge: Bridge, sign: QRectF) -> QLineF | None:
        """From the bridge down to its sign."""
        found = self._foot(bridge)
        if found is not None:
            middle = self._wires[found[0]].curve.at(0.5)
            return QLineF(middle.x, middle.y + _PLANK / 2, sign.center().x(), sign.top())
        node = self._nodes.get(bridge.node or "")
        return None if node is None else QLineF(node.box.center.x, node.box.bottom + 4, sign.center().x(), sign.top())

    def _growth(self) -> float:
        return min(max(1.0 / self._paint_context.zoom.scale, 1.0), _LARGEST)

    def _frame(self) -> None:
        whole = QRectF()
        for bridge, sign in self.signs():
            whole = whole.united(sign)
            if (stem := self._stem(bridge, sign)) is not None:
                whole = whole.united(QRectF(stem.p1(), stem.p2()).normalized())
        self.setRect(whole.adjusted(-4, -4, 4, 4) if not whole.isNull() else whole)


def sign_text(bridge: Bridge) -> str:
    """Text of a label."""
    times = "" if bridge.count == 1 else f" {bridge.count}×"
    return f"Python{times} · {number_format.milliseconds(bridge.seconds)}"


def sign_tooltip(bridge: Bridge) -> str:
    """Tooltip of a label."""
    where = f"{bridge.node}: " if bridge.node else ""
    times = "once" if bridge.count == 1 else f"{bridge.count} times"
    return (
        f"{where}{bridge.title}\n{times.capitalize()} per step, costs {number_format.milliseconds(bridge.seconds)}.\n"
        "Click for the reason and a fix."
    )


__all__ = ["GraphBreakLayer", "sign_text", "sign_tooltip"]
