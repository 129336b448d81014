"""What is compiled, drawn behind the graph: a region for each segment, a band for each kernel, planks for bridges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Wire
from studio.training.regions import Group, Map, Region
from studio.ui import figures
from studio.ui.canvas.detail import Detail
from studio.ui.canvas.geometry import CORNER
from studio.ui.canvas.node_item import NodeItem
from studio.ui.canvas.region_style import RegionStyle
from studio.ui.canvas.style import interface_font
from studio.ui.canvas.surface import Surface
from studio.ui.canvas.wire_item import WireItem

_Z = -2.0
_PAD, _CORRIDOR = 16.0, 26.0
"""How far a region reaches beyond its nodes, and its width along wires."""
_BAND_PAD, _BAND_CORRIDOR = 6.0, 14.0
"""The same for a kernel."""
_LINE = 1.25
_PLANK = 12.0
_NAME_PX, _TAG_PX = 11.0, 10.0
_LARGEST = 4.0
"""Text grows up to so much on the canvas to stay readable from afar."""

Choice = tuple[int, int]
"""Segment, and kernel in it; kernel 0 is the whole segment."""


@dataclass(slots=True)
class _Shape:
    """Rounded boxes around nodes, and the wires that join them."""

    boxes: list[QRectF]
    paths: list[QPainterPath]


@dataclass(slots=True)
class _Drawn:
    region: Region
    shape: _Shape
    groups: list[tuple[Group, _Shape, list[QPointF]]]
    """With the corners at which the kernel's number stands."""
    corner: QPointF
    """Where the region's name stands."""


class RegionLayer(QGraphicsRectItem):
    """Visible only while the overlay is on; hidden it costs nothing."""

    def __init__(self, surface: Surface, nodes: Mapping[str, NodeItem], wires: Mapping[Wire, WireItem]) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self._surface, self._nodes, self._wires = surface, nodes, wires
        self._map = Map()
        self._faded = False
        self._chosen: Choice | None = None
        self._drawn: list[_Drawn] | None = None

    def show_map(self, map: Map, *, faded: bool = False) -> None:
        """Draw this; `faded` if it is about another graph than the one that is shown."""
        self._map, self._faded = map, faded
        self.refresh()

    def choose(self, chosen: Choice | None) -> None:
        """Make a kernel or a segment stand out."""
        if chosen != self._chosen:
            self._chosen = chosen
            self.update()

    def refresh(self) -> None:
        """Nodes or wires have changed."""
        self._drawn = None
        if self.isVisible():
            self._gather()
            self.update()

    def show_layer(self, visible: bool) -> None:
        if visible:
            self._gather()
        self.setVisible(visible)

    # -- painting

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if self._drawn is None:
            self._gather()
        style = RegionStyle(self._surface.style.theme, self._faded)
        for drawn in self._drawn or ():
            self._paint_region(painter, drawn, style)
        self._paint_planks(painter, style)
        for drawn in self._drawn or ():
            self._paint_name(painter, drawn, style)

    def _paint_region(self, painter: QPainter, drawn: _Drawn, style: RegionStyle) -> None:
        zoom, segment = self._surface.zoom, drawn.region.segment
        far = zoom.detail is Detail.COLOR
        edge = max(_LINE, (2.0 if far else _LINE) / zoom.scale)
        chosen = self._chosen == (segment, 0)
        color = style.chosen() if chosen else style.line(segment)
        _blob(painter, drawn.shape, _PAD, _CORRIDOR, edge * (1.8 if chosen else 1.0), color)
        _blob(painter, drawn.shape, _PAD, _CORRIDOR, 0.0, style.fill(segment, far=far))
        if far:
            return
        for group, shape, corners in drawn.groups:
            chosen = self._chosen == (segment, group.number)
            color = style.chosen() if chosen else style.line(segment)
            if chosen:
                _blob(painter, shape, _BAND_PAD, _BAND_CORRIDOR, 2.0 * max(1.0, 1.0 / zoom.scale), color)
            _blob(painter, shape, _BAND_PAD, _BAND_CORRIDOR, 0.0, style.band(segment))
            for corner in corners:
                self._paint_tag(painter, corner, str(group.number), color)

    def _paint_tag(self, painter: QPainter, corner: QPointF, words: str, color: QColor) -> None:
        """The number of a kernel on the corner of its band."""
        growth = self._growth()
        font = interface_font(round(_TAG_PX * growth))
        painter.setFont(font)
        metrics = painter.fontMetrics()
        height = (_TAG_PX + 4) * growth
        width = max(metrics.horizontalAdvance(words) + 7 * growth, height)
        tag = QRectF(corner.x(), corner.y() - height + 7, width, height)
        painter.setPen(self._surface.style.no_pen)
        painter.setBrush(color)
        painter.drawRoundedRect(tag, 4 * growth, 4 * growth)
        painter.setPen(self._surface.style.theme.on(color))
        painter.drawText(tag, Qt.AlignmentFlag.AlignCenter, words)

    def _paint_planks(self, painter: QPainter, style: RegionStyle) -> None:
        scale = self._surface.zoom.scale
        width = max(_PLANK, 6.0 / scale)
        pen = QPen(style.plank(), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
        pen.setDashPattern([0.28, 0.4])
        ring = QPen(style.plank(), max(2.0, 2.0 / scale))
        ring.setDashPattern([3, 2])
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for bridge in self._map.bridges:
            painter.setPen(pen)
            for wire in bridge.wires:
                if (item := self._wires.get(wire)) is not None:
                    painter.drawPath(item.path)
            if (node := self._nodes.get(bridge.node or "")) is not None:
                painter.setPen(ring)
                painter.drawRoundedRect(_box(node).adjusted(-4, -4, 4, 4), CORNER + 4, CORNER + 4)

    def _paint_name(self, painter: QPainter, drawn: _Drawn, style: RegionStyle) -> None:
        region, growth = drawn.region, self._growth()
        painter.setFont(interface_font(round(_NAME_PX * growth)))
        metrics = painter.fontMetrics()
        kernels = f" · {figures.count(region.kernels, 'kernels')}" if region.kernels else ""
        words = f"Segment {region.segment}{kernels}"
        foot = drawn.corner - QPointF(0, 6 * growth)
        back = QRectF(foot.x(), foot.y() - metrics.ascent(), metrics.horizontalAdvance(words), metrics.height())
        painter.setPen(self._surface.style.no_pen)
        painter.setBrush(self._surface.style.theme.color("background", 0.85))
        painter.drawRoundedRect(back.adjusted(-4 * growth, 0, 4 * growth, 0), 4 * growth, 4 * growth)
        painter.setPen(style.text(region.segment))
        painter.drawText(foot, words)

    def _growth(self) -> float:
        return min(max(1.0 / self._surface.zoom.scale, 1.0), _LARGEST)

    # -- what is where

    def _gather(self) -> None:
        """One walk over the wires, whatever the number of kernels."""
        regions = [region for region in self._map.regions if region.nodes & self._nodes.keys()]
        within = {name: region.segment for region in regions for name in region.nodes}
        owner = {name: (one.segment, one.number) for region in regions for one in region.groups for name in one.nodes}
        paths: defaultdict[Choice, list[QPainterPath]] = defaultdict(list)
        led_to: set[str] = set()
        for wire, item in self._wires.items():
            source, target = wire.source.node, wire.target.node
            if (segment := within.get(source)) is not None and segment == within.get(target):
                paths[segment, 0].append(item.path)
            if (kernel := owner.get(source)) is not None and kernel == owner.get(target):
                paths[kernel].append(item.path)
                led_to.add(target)
        self._drawn = [self._placed(region, paths, led_to) for region in regions]
        self._frame(self._drawn)

    def _frame(self, found: Iterable[_Drawn]) -> None:
        whole = QRectF()
        for drawn in found:
            for box in drawn.shape.boxes:
                whole = whole.united(box)
            for path in drawn.shape.paths:
                whole = whole.united(path.controlPointRect())
        for bridge in self._map.bridges:
            for wire in bridge.wires & self._wires.keys():
                whole = whole.united(self._wires[wire].path.controlPointRect())
            if (node := self._nodes.get(bridge.node or "")) is not None:
                whole = whole.united(_box(node))
        margin = _PAD + _NAME_PX * _LARGEST * 2
        self.setRect(whole.adjusted(-margin, -margin, margin * 3, margin))

    def _placed(self, region: Region, paths: Mapping[Choice, list[QPainterPath]], led_to: set[str]) -> _Drawn:
        shape = _Shape(self._boxes(region.nodes), paths.get((region.segment, 0), []))
        groups: list[tuple[Group, _Shape, list[QPointF]]] = []
        for group in region.groups:
            roots = self._boxes(group.nodes - led_to)  # nodes that no wire inside the kernel leads to
            corners = [box.topLeft() - QPointF(_BAND_PAD, _BAND_PAD) for box in roots]
            groups.append(
                (group, _Shape(self._boxes(group.nodes), paths.get((group.segment, group.number), [])), corners)
            )
        first = min(shape.boxes, key=lambda box: (round(box.top() / 64), box.left()))
        return _Drawn(region, shape, groups, QPointF(first.left() - _PAD + 2, first.top() - _PAD))

    def _boxes(self, names: Iterable[str]) -> list[QRectF]:
        return [_box(self._nodes[name]) for name in names if name in self._nodes]


def _blob(painter: QPainter, shape: _Shape, pad: float, corridor: float, edge: float, color: QColor) -> None:
    """A shape in one colour, wider by `edge`. Painted twice, in two colours, it is filled and has an outline."""
    pen = QPen(color, corridor + 2 * edge, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for path in shape.paths:
        painter.drawPath(path)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    reach, radius = pad + edge, CORNER + pad * 0.6 + edge
    for box in shape.boxes:
        painter.drawRoundedRect(box.adjusted(-reach, -reach, reach, reach), radius, radius)


def _box(node: NodeItem) -> QRectF:
    return QRectF(node.x(), node.y(), node.layout.width, node.layout.height)


__all__ = ["Choice", "RegionLayer"]
