"""Shows the nodes that a gesture moves together, and the wires among them, as one picture.

Moving and painting hundreds of items in each frame takes longer than a frame lasts.
"""

from __future__ import annotations

import math
from collections.abc import Set

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPixmap, QTransform
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.ui.canvas.geometry import bounds
from studio.ui.canvas.layers.overview_shapes import node_patches, paint_patches, paint_wires, wire_paths
from studio.ui.canvas.level_of_detail import LevelOfDetail, Zoom
from studio.ui.canvas.nodes.node_item import RAISED_Z, NodeItem
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_item import WireItem

_MARGIN = 24.0
"""How far ports, badges and pens extend beyond the items."""
_AHEAD = 0.25
"""Share of the view's size that the picture covers beyond the visible part, on each side."""


class LiftedItems(QGraphicsRectItem):
    """The items keep their positions meanwhile; this item has their offset."""

    def __init__(self, paint_context: PaintContext) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(RAISED_Z)
        self.setVisible(False)
        self._paint_context = paint_context
        self.nodes: Set[NodeItem] = frozenset()
        self.wires: Set[WireItem] = frozenset()
        self._items: Set[NodeItem | WireItem] = frozenset()
        self._picture: QPixmap | None = None
        self._drawn: tuple[Zoom, QRectF] | None = None
        """The zoom of the picture, and the part of this item in it."""

    def lift(self, nodes: Set[NodeItem], wires: Set[WireItem], offset: tuple[float, float]) -> None:
        """Show these items and no others, at an offset."""
        if nodes != self.nodes or wires != self.wires:
            self.lower()
            self.nodes, self.wires = frozenset(nodes), frozenset(wires)
            boxes = [node.layout.box(_origin(node)) for node in nodes]
            box = bounds([*boxes, *(wire.curve.box for wire in wires)])
            if box is not None:
                rect = QRectF(box.left, box.top, box.width, box.height)
                self.setRect(rect.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN))
            self._items = self.nodes | self.wires
            self.hide_items()
        for wire in self.wires:
            wire.follow(*offset)
        self.setPos(*offset)
        self.setVisible(bool(nodes))

    @property
    def items(self) -> Set[NodeItem | WireItem]:
        return self._items

    def lower(self) -> None:
        """Let the items paint themselves again, where the gesture has moved them."""
        is_overview = self._paint_context.zoom.detail is LevelOfDetail.COLOR
        for item in self._items:
            item.set_painting_disabled(is_overview)
        for node in self.nodes:
            node.move_to(node.at)
        self.nodes, self.wires, self._items = frozenset(), frozenset(), frozenset()
        self._picture = None
        self.setVisible(False)

    def hide_items(self) -> None:
        """Disable the painting of the items, also after the zoom has changed."""
        for item in self._items:
            item.set_painting_disabled(True)

    def refresh(self) -> None:
        """Paint the items again, which may have changed."""
        if self.nodes:
            self._picture = None
            self.update()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        transform, zoom = painter.worldTransform(), self._paint_context.zoom
        device = QRectF(widget.rect()) if widget is not None else transform.mapRect(self.rect())
        visible = transform.inverted()[0].mapRect(device).intersected(self.rect())
        if visible.isEmpty():
            return
        if self._picture is None or self._drawn is None or not _covers(self._drawn, zoom, visible):
            across, down = device.width() * _AHEAD / zoom.scale, device.height() * _AHEAD / zoom.scale
            area = visible.adjusted(-across, -down, across, down).intersected(self.rect())
            self._picture, self._drawn = self._render(area, zoom), (zoom, area)
        corner = transform.map(self._drawn[1].topLeft())
        painter.resetTransform()
        painter.drawPixmap(QPointF(_whole(corner.x(), zoom.ratio), _whole(corner.y(), zoom.ratio)), self._picture)
        painter.setWorldTransform(transform)

    def _render(self, area: QRectF, zoom: Zoom) -> QPixmap:
        scale = zoom.device_scale
        picture = QPixmap(math.ceil(area.width() * scale), math.ceil(area.height() * scale))
        picture.setDevicePixelRatio(zoom.ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        transform = QTransform.fromScale(zoom.scale, zoom.scale).translate(-area.left(), -area.top())
        painter.setWorldTransform(transform)
        if zoom.detail is LevelOfDetail.COLOR:
            self._paint_overview(painter)
        else:
            self._paint_items(painter, area)
        painter.end()
        return picture

    def _paint_items(self, painter: QPainter, area: QRectF) -> None:
        transform, option = painter.worldTransform(), QStyleOptionGraphicsItem()
        for wire in sorted(self.wires, key=lambda wire: wire.rank):
            if wire.sceneBoundingRect().intersects(area):
                wire.paint(painter, option)
        for node in sorted(self.nodes, key=lambda node: node.number):
            if node.sceneBoundingRect().intersects(area):
                painter.setWorldTransform(QTransform(transform).translate(*_origin(node)))
                node.paint(painter, option)

    def _paint_overview(self, painter: QPainter) -> None:
        """Paint the shapes of `OverviewLayer`."""
        painter.translate(-self.x(), -self.y())  # the shapes have the offset
        paint_wires(painter, wire_paths(self.wires), self._paint_context.style)
        paint_patches(painter, node_patches(self.nodes), self._paint_context.style)


def _origin(node: NodeItem) -> tuple[float, float]:
    """The position of a node without the offset."""
    return node.x(), node.y()


def _covers(drawn: tuple[Zoom, QRectF], zoom: Zoom, visible: QRectF) -> bool:
    return drawn[0] == zoom and drawn[1].contains(visible)


def _whole(at: float, ratio: float) -> float:
    """The nearest whole device pixel, so that the picture stays sharp."""
    return round(at * ratio) / ratio


__all__ = ["LiftedItems"]
