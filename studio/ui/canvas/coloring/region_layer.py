"""Draws compiled regions behind the graph: a region per segment, a band per kernel, dashes for graph breaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Wire
from studio.training.regions import KernelNodes, Region, RegionMap
from studio.ui import number_format
from studio.ui.canvas.canvas_style import interface_font
from studio.ui.canvas.coloring.region_style import RegionStyle
from studio.ui.canvas.geometry import Box, bounds
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.nodes.node_layout import CORNER
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_curve import WireCurve
from studio.ui.canvas.wires.wire_item import WireItem

_Z = -2.0
_PAD, _CORRIDOR = 16.0, 26.0
"""Margin of a region around its nodes, and its width along wires."""
_BAND_PAD, _BAND_CORRIDOR = 6.0, 14.0
"""Margin and width of a kernel's band."""
_LINE = 1.25
_BREAK_WIDTH = 12.0
_MAX_ANTIALIASED = 200
"""Number of nodes from which a region is drawn without antialiasing when zoomed out."""
_NAME_PX, _TAG_PX = 11.0, 10.0
_MAX_GROWTH = 4.0
"""Largest factor by which text grows when zoomed out."""

Choice = tuple[int, int]
"""Segment number, and kernel number in it; kernel 0 means the whole segment."""


class _Shape:
    """Rounded boxes around nodes, and bands along the wires between them."""

    def __init__(self, pad: float, corridor: float) -> None:
        self.pad, self.corridor = pad, corridor
        self.boxes: list[Box] = []
        self.wires: list[WireItem] = []
        self._polylines: list[list[QPointF]] | None = None

    def within(self, area: Box) -> _Shape:
        """The part that intersects an area."""
        visible = _Shape(self.pad, self.corridor)
        visible.boxes = [box for box in self.boxes if box.overlaps(area)]
        visible.wires = [wire for wire in self.wires if wire.curve.box.overlaps(area)]
        return visible

    def paint(self, painter: QPainter, color: QColor, outline: float = 0.0) -> None:
        """Paint in one color, wider by `outline` on each side. Painting twice gives an outline and a fill."""
        painter.setPen(self._pen(color, outline))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for wire in self.wires:
            painter.drawPath(wire.path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        margin, radius = self.pad + outline, CORNER + self.pad * 0.6 + outline
        for box in self.boxes:
            painter.drawRoundedRect(_rect(box, margin), radius, radius)

    def paint_simplified(self, painter: QPainter, color: QColor, outline: float = 0.0) -> None:
        """Paint in a simple form for small zoom: rectangles and straight segments."""
        painter.setPen(self._pen(color, outline))
        if self._polylines is None:
            self._polylines = [_polyline(wire.curve) for wire in self.wires]
        for polyline in self._polylines:
            painter.drawPolyline(polyline)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRects([_rect(box, self.pad + outline) for box in self.boxes])

    def bounds(self) -> Box | None:
        """Bounding box; None if the shape is empty."""
        around = bounds([*self.boxes, *(wire.curve.box for wire in self.wires)])
        margin = 2 * _PAD
        return around and Box(around.left - margin, around.top - margin, around.right + margin, around.bottom + margin)

    def _pen(self, color: QColor, outline: float) -> QPen:
        return QPen(color, self.corridor + 2 * outline, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)


@dataclass(slots=True)
class _RegionDrawing:
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
        self._map = RegionMap()
        self._faded = False
        self._chosen: Choice | None = None
        self._drawings: list[_RegionDrawing] | None = None

    def show_map(self, map: RegionMap, *, faded: bool = False) -> None:
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
        self._drawings = None
        if self.isVisible():
            self._collect_shapes()
            self.update()

    def show_layer(self, visible: bool) -> None:
        if visible:
            self._collect_shapes()
        self.setVisible(visible)

    # -- painting

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if self._drawings is None:
            self._collect_shapes()
        style, growth = RegionStyle(self._paint_context.style.theme, self._faded), self._text_scale()
        visible = option.exposedRect.adjusted(-64 * growth, -32 * growth, 64 * growth, 32 * growth)
        area = Box(visible.left(), visible.top(), visible.right(), visible.bottom())
        drawn = [drawing for drawing in self._drawings or () if drawing.area.overlaps(area)]
        for drawing in drawn:
            self._paint_region(painter, drawing, style, area)
        if self._paint_context.zoom.detail is not LevelOfDetail.COLOR:
            for drawing in drawn:
                self._paint_tags(painter, drawing, style, visible)
        self._paint_breaks(painter, style)
        for drawing in drawn:
            self._paint_name(painter, drawing, style)

    def _paint_region(self, painter: QPainter, drawn: _RegionDrawing, style: RegionStyle, area: Box) -> None:
        zoom, segment = self._paint_context.zoom, drawn.region.segment
        chosen = self._chosen == (segment, 0)
        color = style.chosen() if chosen else style.line(segment)
        outline = _LINE * max(1.0, 1.0 / zoom.scale) * (1.8 if chosen else 1.0)
        if zoom.detail is LevelOfDetail.COLOR:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, len(drawn.shape.boxes) < _MAX_ANTIALIASED)
            drawn.shape.paint_simplified(painter, color, outline)
            drawn.shape.paint_simplified(painter, style.fill(segment, far=True))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            return
        shape = drawn.shape.within(area)
        shape.paint(painter, color, outline)
        shape.paint(painter, style.fill(segment))
        drawn.bands.within(area).paint(painter, style.band(segment))
        kernel = self._chosen[1] if self._chosen is not None and self._chosen[0] == segment else 0
        if kernel:
            band = self._band([group for group in drawn.region.groups if group.number == kernel])
            band.paint(painter, style.chosen(), 2.0 * max(1.0, 1.0 / zoom.scale))
            band.paint(painter, style.band(segment))

    def _paint_tags(self, painter: QPainter, drawn: _RegionDrawing, style: RegionStyle, area: QRectF) -> None:
        segment = drawn.region.segment
        for corner, number in drawn.tags:
            if area.contains(corner):
                chosen = self._chosen == (segment, number)
                self._paint_tag(painter, corner, str(number), style.chosen() if chosen else style.line(segment))

    def _paint_tag(self, painter: QPainter, corner: QPointF, text: str, color: QColor) -> None:
        """Paint the number of a kernel on the corner of its band."""
        growth = self._text_scale()
        font = interface_font(round(_TAG_PX * growth))
        painter.setFont(font)
        metrics = painter.fontMetrics()
        height = (_TAG_PX + 4) * growth
        width = max(metrics.horizontalAdvance(text) + 7 * growth, height)
        tag = QRectF(corner.x(), corner.y() - height + 7, width, height)
        painter.setPen(self._paint_context.style.no_pen)
        painter.setBrush(color)
        painter.drawRoundedRect(tag, 4 * growth, 4 * growth)
        painter.setPen(self._paint_context.style.theme.on(color))
        painter.drawText(tag, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_breaks(self, painter: QPainter, style: RegionStyle) -> None:
        scale = self._paint_context.zoom.scale
        width = max(_BREAK_WIDTH, 6.0 / scale)
        pen = QPen(style.graph_break(), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
        pen.setDashPattern([0.28, 0.4])
        ring = QPen(style.graph_break(), max(2.0, 2.0 / scale))
        ring.setDashPattern([3, 2])
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for graph_break in self._map.breaks:
            painter.setPen(pen)
            for wire in graph_break.wires:
                if (item := self._wires.get(wire)) is not None:
                    painter.drawPath(item.path)
            if (node := self._nodes.get(graph_break.node or "")) is not None:
                painter.setPen(ring)
                painter.drawRoundedRect(_rect(node.box, 4), CORNER + 4, CORNER + 4)

    def _paint_name(self, painter: QPainter, drawn: _RegionDrawing, style: RegionStyle) -> None:
        region, growth = drawn.region, self._text_scale()
        painter.setFont(interface_font(round(_NAME_PX * growth)))
        metrics = painter.fontMetrics()
        kernels = f" · {number_format.count(region.kernels, 'kernels')}" if region.kernels else ""
        text = f"Region {region.segment}{kernels}"
        baseline = drawn.corner - QPointF(0, 6 * growth)
        back = QRectF(baseline.x(), baseline.y() - metrics.ascent(), metrics.horizontalAdvance(text), metrics.height())
        painter.setPen(self._paint_context.style.no_pen)
        painter.setBrush(self._paint_context.style.theme.color("background", 0.85))
        painter.drawRoundedRect(back.adjusted(-4 * growth, 0, 4 * growth, 0), 4 * growth, 4 * growth)
        painter.setPen(style.text(region.segment))
        painter.drawText(baseline, text)

    def _text_scale(self) -> float:
        return min(max(1.0 / self._paint_context.zoom.scale, 1.0), _MAX_GROWTH)

    # -- geometry

    def _collect_shapes(self) -> None:
        """Collect the shapes in one pass over the wires."""
        regions = [region for region in self._map.regions if region.nodes & self._nodes.keys()]
        within = {name: region.segment for region in regions for name in region.nodes}
        owner = {
            name: (kernel.segment, kernel.number)
            for region in regions
            for kernel in region.groups
            for name in kernel.nodes
        }
        shapes = {region.segment: (_Shape(_PAD, _CORRIDOR), _Shape(_BAND_PAD, _BAND_CORRIDOR)) for region in regions}
        has_predecessor: set[str] = set()
        for wire, item in self._wires.items():
            source, target = wire.source.node, wire.target.node
            segment = within.get(source)
            if segment is None or segment != within.get(target):
                continue
            shape, bands = shapes[segment]
            shape.wires.append(item)
            if source in owner and owner[source] == owner.get(target):
                bands.wires.append(item)
                has_predecessor.add(target)
        self._drawings = [self._drawing_of(region, *shapes[region.segment], has_predecessor) for region in regions]
        self._update_bounds(self._drawings)

    def _drawing_of(self, region: Region, shape: _Shape, bands: _Shape, has_predecessor: set[str]) -> _RegionDrawing:
        boxes = self._boxes(region.nodes)
        shape.boxes = list(boxes.values())
        tags: list[tuple[QPointF, int]] = []
        for group in region.groups:
            for name in group.nodes & boxes.keys():
                box = boxes[name]
                bands.boxes.append(box)
                if name not in has_predecessor:  # only the first nodes of a kernel are labeled
                    tags.append((QPointF(box.left - _BAND_PAD, box.top - _BAND_PAD), group.number))
        first = min(boxes.values(), key=lambda box: (round(box.top / 64), box.left))
        corner = QPointF(first.left - _PAD + 2, first.top - _PAD)
        return _RegionDrawing(region, shape, bands, tags, corner, shape.bounds() or first)

    def _band(self, groups: Iterable[KernelNodes]) -> _Shape:
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

    def _update_bounds(self, drawings: Iterable[_RegionDrawing]) -> None:
        boxes = [drawing.area for drawing in drawings]
        for graph_break in self._map.breaks:
            boxes += [self._wires[wire].curve.box for wire in graph_break.wires & self._wires.keys()]
            boxes += self._boxes([graph_break.node or ""]).values()
        around = bounds(boxes)
        margin = _PAD + _NAME_PX * _MAX_GROWTH * 2
        rect = QRectF() if around is None else _rect(around, margin).adjusted(0, 0, 2 * margin, 0)
        if rect != self.rect():
            self.setRect(rect)

    def _boxes(self, names: Iterable[str]) -> dict[str, Box]:
        return {name: self._nodes[name].box for name in names if name in self._nodes}


def _rect(box: Box, margin: float) -> QRectF:
    """A box with a margin, as a rectangle."""
    return QRectF(box.left - margin, box.top - margin, box.width + 2 * margin, box.height + 2 * margin)


def _polyline(curve: WireCurve) -> list[QPointF]:
    """Points of a polyline that approximates a curve."""
    steps = 4 * len(curve.pieces)
    return [QPointF(*curve.at(step / steps)) for step in range(steps + 1)]


__all__ = ["Choice", "RegionLayer"]
