"""Draws compiled regions behind the graph: a region per segment, a band per kernel, planks for graph breaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Wire
from studio.training.regions import Group, Map, Region
from studio.ui import number_format
from studio.ui.canvas.canvas_style import interface_font
from studio.ui.canvas.geometry import Box, bounds
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.nodes.node_layout import CORNER
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.region_style import RegionStyle
from studio.ui.canvas.wires.wire_curve import WireCurve
from studio.ui.canvas.wires.wire_item import WireItem

_Z = -2.0
_PAD, _CORRIDOR = 16.0, 26.0
"""Margin of a region around its nodes, and its width along wires."""
_BAND_PAD, _BAND_CORRIDOR = 6.0, 14.0
"""Margin and width of a kernel's band."""
_LINE = 1.25
_PLANK = 12.0
_MANY = 200
"""Number of nodes from which a region is drawn without antialiasing when zoomed out."""
_NAME_PX, _TAG_PX = 11.0, 10.0
_LARGEST = 4.0
"""Largest factor by which text grows when zoomed out."""

Choice = tuple[int, int]
"""Segment number, and kernel number in it; kernel 0 means the whole segment."""


class _Shape:
    """Rounded boxes around nodes, and bands along the wires between them."""

    def __init__(self, pad: float, corridor: float) -> None:
        self.pad, self.corridor = pad, corridor
        self.boxes: list[Box] = []
        self.wires: list[WireItem] = []
        self._pieces: list[list[QPointF]] | None = None

    def within(self, area: Box) -> _Shape:
        """The part that intersects an area."""
        seen = _Shape(self.pad, self.corridor)
        seen.boxes = [box for box in self.boxes if box.meets(area)]
        seen.wires = [wire for wire in self.wires if wire.curve.box.meets(area)]
        return seen

    def paint(self, painter: QPainter, color: QColor, edge: float = 0.0) -> None:
        """Paint in one color, wider by `edge`. Painting twice gives an outline and a fill."""
        painter.setPen(self._pen(color, edge))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for wire in self.wires:
            painter.drawPath(wire.path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        reach, radius = self.pad + edge, CORNER + self.pad * 0.6 + edge
        for box in self.boxes:
            painter.drawRoundedRect(_rect(box, reach), radius, radius)

    def paint_plainly(self, painter: QPainter, color: QColor, edge: float = 0.0) -> None:
        """Paint in a simple form for small zoom: rectangles and straight segments."""
        painter.setPen(self._pen(color, edge))
        if self._pieces is None:
            self._pieces = [_pieces(wire.curve) for wire in self.wires]
        for pieces in self._pieces:
            painter.drawPolyline(pieces)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRects([_rect(box, self.pad + edge) for box in self.boxes])

    def bounds(self) -> Box | None:
        """Bounding box; None if the shape is empty."""
        around = bounds([*self.boxes, *(wire.curve.box for wire in self.wires)])
        reach = 2 * _PAD
        return around and Box(around.left - reach, around.top - reach, around.right + reach, around.bottom + reach)

    def _pen(self, color: QColor, edge: float) -> QPen:
        return QPen(color, self.corridor + 2 * edge, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)


@dataclass(slots=True)
class _Drawn:
    region: Region
    shape: _Shape
    bands: _Shape
    """Bands of all kernels."""
    tags: list[tuple[QPointF, int]]
    """Positions and numbers of kernel labels."""
    corner: QPointF
    """Position of the region's name."""
    area: Box


class RegionLayer(QGraphicsRectItem):
    """Graphics item with all regions. While hidden, it does no work."""

    def __init__(
        self, paint_context: PaintContext, nodes: Mapping[str, NodeItem], wires: Mapping[Wire, WireItem]
    ) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self.setFlag(QGraphicsRectItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)  # for the exposed rectangle
        self._paint_context, self._nodes, self._wires = paint_context, nodes, wires
        self._map = Map()
        self._faded = False
        self._chosen: Choice | None = None
        self._drawn: list[_Drawn] | None = None

    def show_map(self, map: Map, *, faded: bool = False) -> None:
        """Draw a map of regions, `faded` if it describes an earlier graph."""
        self._map, self._faded = map, faded
        self.refresh()

    def choose(self, chosen: Choice | None) -> None:
        """Highlight a kernel or a segment."""
        if chosen != self._chosen:
            self._chosen = chosen
            self.update()

    def refresh(self) -> None:
        """Update after a change of nodes or wires."""
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
        style, growth = RegionStyle(self._paint_context.style.theme, self._faded), self._growth()
        seen = option.exposedRect.adjusted(-64 * growth, -32 * growth, 64 * growth, 32 * growth)
        area = Box(seen.left(), seen.top(), seen.right(), seen.bottom())
        drawn = [one for one in self._drawn or () if one.area.meets(area)]
        for one in drawn:
            self._paint_region(painter, one, style, area)
        if self._paint_context.zoom.detail is not LevelOfDetail.COLOR:
            for one in drawn:
                self._paint_tags(painter, one, style, seen)
        self._paint_planks(painter, style)
        for one in drawn:
            self._paint_name(painter, one, style)

    def _paint_region(self, painter: QPainter, drawn: _Drawn, style: RegionStyle, area: Box) -> None:
        zoom, segment = self._paint_context.zoom, drawn.region.segment
        chosen = self._chosen == (segment, 0)
        color = style.chosen() if chosen else style.line(segment)
        edge = _LINE * max(1.0, 1.0 / zoom.scale) * (1.8 if chosen else 1.0)
        if zoom.detail is LevelOfDetail.COLOR:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, len(drawn.shape.boxes) < _MANY)
            drawn.shape.paint_plainly(painter, color, edge)
            drawn.shape.paint_plainly(painter, style.fill(segment, far=True))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            return
        shape = drawn.shape.within(area)
        shape.paint(painter, color, edge)
        shape.paint(painter, style.fill(segment))
        drawn.bands.within(area).paint(painter, style.band(segment))
        picked = self._chosen[1] if self._chosen is not None and self._chosen[0] == segment else 0
        if picked:
            band = self._band([group for group in drawn.region.groups if group.number == picked])
            band.paint(painter, style.chosen(), 2.0 * max(1.0, 1.0 / zoom.scale))
            band.paint(painter, style.band(segment))

    def _paint_tags(self, painter: QPainter, drawn: _Drawn, style: RegionStyle, area: QRectF) -> None:
        segment = drawn.region.segment
        for corner, number in drawn.tags:
            if area.contains(corner):
                chosen = self._chosen == (segment, number)
                self._paint_tag(painter, corner, str(number), style.chosen() if chosen else style.line(segment))

    def _paint_tag(self, painter: QPainter, corner: QPointF, words: str, color: QColor) -> None:
        """Paint the number of a kernel on the corner of its band."""
        growth = self._growth()
        font = interface_font(round(_TAG_PX * growth))
        painter.setFont(font)
        metrics = painter.fontMetrics()
        height = (_TAG_PX + 4) * growth
        width = max(metrics.horizontalAdvance(words) + 7 * growth, height)
        tag = QRectF(corner.x(), corner.y() - height + 7, width, height)
        painter.setPen(self._paint_context.style.no_pen)
        painter.setBrush(color)
        painter.drawRoundedRect(tag, 4 * growth, 4 * growth)
        painter.setPen(self._paint_context.style.theme.on(color))
        painter.drawText(tag, Qt.AlignmentFlag.AlignCenter, words)

    def _paint_planks(self, painter: QPainter, style: RegionStyle) -> None:
        scale = self._paint_context.zoom.scale
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
                painter.drawRoundedRect(_rect(node.box, 4), CORNER + 4, CORNER + 4)

    def _paint_name(self, painter: QPainter, drawn: _Drawn, style: RegionStyle) -> None:
        region, growth = drawn.region, self._growth()
        painter.setFont(interface_font(round(_NAME_PX * growth)))
        metrics = painter.fontMetrics()
        kernels = f" · {number_format.count(region.kernels, 'kernels')}" if region.kernels else ""
        words = f"Segment {region.segment}{kernels}"
        foot = drawn.corner - QPointF(0, 6 * growth)
        back = QRectF(foot.x(), foot.y() - metrics.ascent(), metrics.horizontalAdvance(words), metrics.height())
        painter.setPen(self._paint_context.style.no_pen)
        painter.setBrush(self._paint_context.style.theme.color("background", 0.85))
        painter.drawRoundedRect(back.adjusted(-4 * growth, 0, 4 * growth, 0), 4 * growth, 4 * growth)
        painter.setPen(style.text(region.segment))
        painter.drawText(foot, words)

    def _growth(self) -> float:
        return min(max(1.0 / self._paint_context.zoom.scale, 1.0), _LARGEST)

    # -- what is where

    def _gather(self) -> None:
        """Collect the shapes in one pass over the wires."""
        regions = [region for region in self._map.regions if region.nodes & self._nodes.keys()]
        within = {name: region.segment for region in regions for name in region.nodes}
        owner = {name: (one.segment, one.number) for region in regions for one in region.groups for name in one.nodes}
        shapes = {region.segment: (_Shape(_PAD, _CORRIDOR), _Shape(_BAND_PAD, _BAND_CORRIDOR)) for region in regions}
        led_to: set[str] = set()
        for wire, item in self._wires.items():
            source, target = wire.source.node, wire.target.node
            segment = within.get(source)
            if segment is None or segment != within.get(target):
                continue
            shape, bands = shapes[segment]
            shape.wires.append(item)
            if source in owner and owner[source] == owner.get(target):
                bands.wires.append(item)
                led_to.add(target)
        self._drawn = [self._placed(region, *shapes[region.segment], led_to) for region in regions]
        self._frame(self._drawn)

    def _placed(self, region: Region, shape: _Shape, bands: _Shape, led_to: set[str]) -> _Drawn:
        boxes = self._boxes(region.nodes)
        shape.boxes = list(boxes.values())
        tags: list[tuple[QPointF, int]] = []
        for group in region.groups:
            for name in group.nodes & boxes.keys():
                box = boxes[name]
                bands.boxes.append(box)
                if name not in led_to:  # label the nodes that no wire inside the kernel leads to
                    tags.append((QPointF(box.left - _BAND_PAD, box.top - _BAND_PAD), group.number))
        first = min(boxes.values(), key=lambda box: (round(box.top / 64), box.left))
        corner = QPointF(first.left - _PAD + 2, first.top - _PAD)
        return _Drawn(region, shape, bands, tags, corner, shape.bounds() or first)

    def _band(self, groups: Iterable[Group]) -> _Shape:
        """The band of some kernels."""
        band = _Shape(_BAND_PAD, _BAND_CORRIDOR)
        for group in groups:
            band.boxes += self._boxes(group.nodes).values()
            band.wires += [
                item
                for wire, item in self._wires.items()
                if wire.source.node in group.nodes and wire.target.node in group.nodes
            ]
        return band

    def _frame(self, found: Iterable[_Drawn]) -> None:
        boxes = [drawn.area for drawn in found]
        for bridge in self._map.bridges:
            boxes += [self._wires[wire].curve.box for wire in bridge.wires & self._wires.keys()]
            boxes += self._boxes([bridge.node or ""]).values()
        around = bounds(boxes)
        margin = _PAD + _NAME_PX * _LARGEST * 2
        whole = QRectF() if around is None else _rect(around, margin).adjusted(0, 0, 2 * margin, 0)
        if whole != self.rect():
            self.setRect(whole)

    def _boxes(self, names: Iterable[str]) -> dict[str, Box]:
        return {name: self._nodes[name].box for name in names if name in self._nodes}


def _rect(box: Box, reach: float) -> QRectF:
    """A box with a margin, as a rectangle."""
    return QRectF(box.left - reach, box.top - reach, box.width + 2 * reach, box.height + 2 * reach)


def _pieces(curve: WireCurve) -> list[QPointF]:
    """A curve as straight segments."""
    steps = 4 * len(curve.pieces)
    return [QPointF(*curve.at(step / steps)) for step in range(steps + 1)]


__all__ = ["Choice", "RegionLayer"]
