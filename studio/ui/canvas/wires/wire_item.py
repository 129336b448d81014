"""The graphics item of a wire."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Wire
from studio.nodes.types import PortType
from studio.training.statistics.color_scale import Shade
from studio.ui.canvas.geometry import Box, Point
from studio.ui.canvas.level_of_detail import LevelOfDetail, Zoom
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires import wire_label, wire_painter
from studio.ui.canvas.wires.route_search import Obstacles, find_route
from studio.ui.canvas.wires.wire_curve import WireCurve, curve_through, wire_curve
from studio.ui.canvas.wires.wire_label import WireLabel
from studio.ui.canvas.wires.wire_role import WireRole, wire_role

WIRE_Z, HOVERED_Z = 0.0, 3.0
_MARGIN = 18.0

_LabelKey = tuple[int, Zoom, str, bool]
"""Revision of the scene, zoom, text, and whether the wire has an error."""


class WireItem(QGraphicsRectItem):
    """Derived from QGraphicsRectItem so that Qt reads the bounds in C++, as for `NodeItem`."""

    def __init__(self, paint_context: PaintContext, wire: Wire, kind: PortType, start: Point, end: Point) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(WIRE_Z)
        self._paint_context = paint_context
        self.wire = wire
        self.kind = kind
        self.role = _role(wire, kind)
        self.points: tuple[tuple[float, float], ...] = ()
        """Reroute points in the order from the output."""
        self.selected_points: frozenset[int] = frozenset()
        self._hovered_point: int | None = None
        self.label = ""
        self.error = ""
        self.shade: Shade | None = None
        """Color of the wire's figure; None while wires are not colored by a figure."""
        self.is_highlighted = False
        self.is_selected = False
        self._hovered = False
        self._detached = False
        self._offset = (0.0, 0.0)
        self._cached_label: tuple[_LabelKey, WireLabel | None] | None = None
        self._direct = wire_curve(start, end)
        self.rank = _rank(wire, start, end)
        """Sort key of routing: shorter wires are routed first."""
        self.curve: WireCurve = self._direct
        self.path: QPainterPath = wire_painter.curve_path(self.curve)
        self._update_bounds()

    def route(self, start: Point, end: Point) -> None:
        """Update the end points."""
        self._offset = (0.0, 0.0)
        if start != self._direct.start or end != self._direct.end:
            self._draw(start, end)

    def stretch(self, start: Point, end: Point) -> None:
        """Draw the wire directly between these points, while a gesture moves one of its nodes."""
        if self.points:
            self.route(start, end)
            return
        self._offset = (0.0, 0.0)
        self.curve = self._direct = wire_curve(start, end)
        self.path = wire_painter.curve_path(self.curve)
        self._cached_label = None
        self.setRect(self.path.controlPointRect().adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN))

    def follow(self, dx: float, dy: float) -> None:
        """Set the offset, but show the wire where it was, until `route` or `stretch`: its nodes are lifted."""
        self._offset = (dx, dy)

    def set_points(self, points: tuple[tuple[float, float], ...]) -> bool:
        """Draw the wire through these reroute points. Returns whether they are other points."""
        if points == self.points:
            return False
        if len(points) != len(self.points):
            self.selected_points = frozenset()
        self.points = points
        self._draw(self._direct.start, self._direct.end)
        return True

    def _draw(self, start: Point, end: Point) -> None:
        self._direct = curve_through(start, self.points, end) if self.points else wire_curve(start, end)
        self.rank = _rank(self.wire, start, end)
        self._set_curve(self._direct)

    def avoid(self, find_obstacles: Callable[[Box], Obstacles]) -> None:
        """Route the wire around the obstacles in a box, unless it has reroute points."""
        if self.points:
            return
        curve = find_route(self._direct, find_obstacles)
        if curve != self.curve:
            self._set_curve(curve)

    def _set_curve(self, curve: WireCurve) -> None:
        self.curve = curve
        self.path = wire_painter.curve_path(self.curve)
        self._cached_label = None
        self._update_bounds()
        self.update()

    def set_kind(self, kind: PortType) -> None:
        if kind is not self.kind:
            self.kind, self.role = kind, _role(self.wire, kind)
            self.update()

    def set_label(self, label: str, error: str) -> None:
        """Set the shape label and the error message."""
        if label != self.label or error != self.error:
            self.label, self.error = label, error
            self.update()

    def set_state(
        self,
        *,
        highlighted: bool | None = None,
        hovered: bool | None = None,
        selected: bool | None = None,
        detached: bool | None = None,
    ) -> None:
        """Set parts of the visual state. `highlighted`: on the path through the hovered wire."""
        before = (self.is_highlighted, self.is_selected, self._detached)
        was_hovered = self._hovered
        self.is_highlighted = self.is_highlighted if highlighted is None else highlighted
        self._hovered = self._hovered if hovered is None else hovered
        self.is_selected = self.is_selected if selected is None else selected
        self._detached = self._detached if detached is None else detached
        if self._hovered != was_hovered:
            # Nodes must not cover the label of the hovered wire.
            self.setZValue(HOVERED_Z if self._hovered else WIRE_Z)
            self._update_bounds()
        if self._hovered != was_hovered or before != (self.is_highlighted, self.is_selected, self._detached):
            self.update()

    def set_point_state(self, *, selected: frozenset[int] | None = None, hovered: int | None = None) -> None:
        """Set which reroute points are selected (None: no change), and which one is under the pointer."""
        before = (self.selected_points, self._hovered_point)
        self.selected_points = self.selected_points if selected is None else selected
        self._hovered_point = hovered
        if before != (self.selected_points, hovered):
            self.update()

    @property
    def scene_path(self) -> QPainterPath:
        """The path in the scene, also while a gesture moves the item."""
        return self.path if self._offset == (0.0, 0.0) else self.path.translated(*self._offset)

    def set_shade(self, shade: Shade | None) -> None:
        if shade != self.shade:
            self.shade = shade
            self.update()

    def pen(self) -> QPen:
        return wire_painter.pen(
            self._paint_context.style,
            self.role,
            self.shade,
            highlighted=self.is_highlighted,
            selected=self.is_selected,
            failed=bool(self.error),
        )

    def set_painting_disabled(self, disabled: bool) -> None:
        """Disable painting while the overview layer paints all items."""
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemHasNoContents, disabled)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        style, zoom = self._paint_context.style, self._paint_context.zoom
        if self._detached:
            painter.setOpacity(0.25)
        painter.setBrush(style.no_brush)
        painter.setPen(self.pen())
        painter.drawPath(self.path)
        if self.points:
            wire_painter.paint_points(painter, self.points, style, self.role, self.selected_points, self._hovered_point)
        label = self.visible_label()
        if label is not None:
            wire_label.paint_label(painter, label, style, strong=self._hovered)
        if self.error:
            wire_painter.paint_mark(painter, self.curve, style, zoom, label.box if label else None)
        if self._detached:
            painter.setOpacity(1.0)

    def visible_label(self) -> WireLabel | None:
        """The label that is drawn; None without space or text."""
        if not self.label:
            return None
        if self._hovered:
            return wire_label.hovered_label(self.curve, self.label, self._paint_context.zoom)
        if self._paint_context.zoom.detail is not LevelOfDetail.FULL:
            return None
        if self._paint_context.is_moving:
            return self._cached_label[1] if self._cached_label is not None else None
        # Cached until nodes or wires moved or the zoom changes.
        key = (self._paint_context.revision, self._paint_context.zoom, self.label, bool(self.error))
        if self._cached_label is None or (self._cached_label[0] != key and not self._keeps_label(key)):
            self._cached_label = (
                key,
                wire_label.free_label(
                    self.curve, self.label, self._paint_context, reserved=wire_painter.MARK if self.error else 0.0
                ),
            )
        return self._cached_label[1]

    def _keeps_label(self, key: _LabelKey) -> bool:
        """Whether only the revision differs, while wires are routed."""
        if self._cached_label is None or self._cached_label[0][1:] != key[1:]:
            return False
        return self._paint_context.is_routing()

    def _update_bounds(self) -> None:
        """Update the bounds: curve and hovered label."""
        box = self.curve.box
        rect = QRectF(box.left, box.top, box.width, box.height)
        if self._hovered and self.label:
            rect = rect.united(wire_label.hovered_label(self.curve, self.label, self._paint_context.zoom).rect)
        self.setRect(rect.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN))


def _role(wire: Wire, kind: PortType) -> WireRole:
    return wire_role(kind, wire.source.port, wire.target.port)


def _rank(wire: Wire, start: Point, end: Point) -> tuple[float, Wire]:
    return abs(end.x - start.x) + abs(end.y - start.y), wire
