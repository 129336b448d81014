"""Shapes of the whole graph at low zoom, by area, so that a pan or a moved wire needs only those nearby."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPainterPath

from studio.document.model import Wire
from studio.training.statistics.color_scale import Shade
from studio.ui.canvas.canvas_style import CanvasStyle
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.canvas.wires.wire_role import WireRole

_SIDE = 4096.0
"""Side length of an area. An item belongs to the area of its center."""

_Area = tuple[int, int]


class AreaShapes:
    """The shapes of the items of one area. They may extend beyond it."""

    def __init__(self) -> None:
        self.nodes: set[NodeItem] = set()
        self.wires: set[WireItem] = set()
        self.patches: dict[str | Shade, list[QRectF]] = {}
        """Nodes by category, or by color of their figure."""
        self.paths: dict[WireRole | Shade, QPainterPath] = {}
        """Wires by role, or by color of their figure."""
        self.bounds = QRectF()
        self.is_stale = True

    def refresh(self) -> None:
        """Collect the shapes again."""
        self.patches, self.paths, self.is_stale = node_patches(self.nodes), wire_paths(self.wires), False
        self.bounds = QRectF()
        for item in (*self.nodes, *self.wires):
            self.bounds = self.bounds.united(item.sceneBoundingRect())


class OverviewShapes:
    """The nodes and wires of the scene by area, without those that a gesture moves."""

    def __init__(self, nodes: Mapping[str, NodeItem], wires: Mapping[Wire, WireItem]) -> None:
        self._nodes = nodes
        self._wires = wires
        self._areas: defaultdict[_Area, AreaShapes] = defaultdict(AreaShapes)
        self._area_of: dict[NodeItem | WireItem, _Area] = {}
        self._left_out: Set[NodeItem | WireItem] = frozenset()
        self._is_stale = True

    def clear(self) -> None:
        """Forget all shapes after any item may have changed."""
        self._is_stale = True

    def leave_out(self, items: Set[NodeItem | WireItem]) -> None:
        """Leave out these items and no others."""
        if not self._is_stale:
            for item in items - self._left_out:
                self._remove(item)
            for item in self._left_out - items:
                self._add(item)
        self._left_out = set(items)

    def update_wires(self, wires: Iterable[WireItem]) -> None:
        """Take over the new curves of wires."""
        if self._is_stale:
            return
        for wire in wires:
            if wire in self._area_of:
                self._remove(wire)
                self._add(wire)

    def near(self, rect: QRectF) -> Iterator[AreaShapes]:
        """The areas whose shapes touch a rectangle."""
        if self._is_stale:
            self._collect()
        for area in self._areas.values():
            if area.is_stale:
                area.refresh()
            if area.bounds.intersects(rect):
                yield area

    def _collect(self) -> None:
        self._areas.clear()
        self._area_of.clear()
        for item in (*self._nodes.values(), *self._wires.values()):
            if item not in self._left_out:
                self._add(item)
        self._is_stale = False

    def _add(self, item: NodeItem | WireItem) -> None:
        key = self._area_of[item] = _area(item.box if isinstance(item, NodeItem) else item.curve.box)
        area = self._areas[key]
        if isinstance(item, NodeItem):
            area.nodes.add(item)
        else:
            area.wires.add(item)
        area.is_stale = True

    def _remove(self, item: NodeItem | WireItem) -> None:
        if (key := self._area_of.pop(item, None)) is None:
            return
        area = self._areas[key]
        if isinstance(item, NodeItem):
            area.nodes.discard(item)
        else:
            area.wires.discard(item)
        area.is_stale = True


def wire_paths(wires: Iterable[WireItem]) -> dict[WireRole | Shade, QPainterPath]:
    """The paths of wires in the scene by role, in the order of the roles, then those that are colored by a figure."""
    paths: defaultdict[WireRole | Shade, QPainterPath] = defaultdict(QPainterPath)
    for wire in wires:
        paths[wire.role if wire.shade is None else wire.shade].addPath(wire.scene_path)
    shades = sorted((key for key in paths if isinstance(key, Shade)), key=lambda shade: abs(shade.level))
    return {key: paths[key] for key in (*WireRole, *shades) if key in paths}


def node_patches(nodes: Iterable[NodeItem]) -> dict[str | Shade, list[QRectF]]:
    """The rectangles of nodes by category, or by color of their figure."""
    patches: defaultdict[str | Shade, list[QRectF]] = defaultdict(list)
    for node in nodes:
        patches[node.content.category if node.state.shade is None else node.state.shade].append(node_rect(node))
    return dict(patches)


def paint_wires(painter: QPainter, paths: Mapping[WireRole | Shade, QPainterPath], style: CanvasStyle) -> None:
    painter.setBrush(style.no_brush)
    for key, path in paths.items():
        painter.setPen(style.wire_shade_far[key] if isinstance(key, Shade) else style.wire_far[key])
        painter.drawPath(path)


def paint_patches(painter: QPainter, patches: Mapping[str | Shade, list[QRectF]], style: CanvasStyle) -> None:
    painter.setPen(style.no_pen)
    for key, rects in patches.items():
        painter.setBrush(style.shade[key] if isinstance(key, Shade) else style.category_brush[key])
        painter.drawRects(rects)


def node_rect(node: NodeItem) -> QRectF:
    return QRectF(*node.at, node.layout.width, node.layout.height)


def _area(box: Box) -> _Area:
    return int(box.center.x // _SIDE), int(box.center.y // _SIDE)


__all__ = ["AreaShapes", "OverviewShapes", "node_patches", "node_rect", "paint_patches", "paint_wires", "wire_paths"]
