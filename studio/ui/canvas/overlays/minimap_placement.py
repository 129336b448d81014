"""Placement of the minimap: in a corner without nodes, else collapsed to a tab that expands on hover."""

from __future__ import annotations

import math
from collections.abc import Iterator

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, QSize
from PySide6.QtWidgets import QWidget

from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.overlays.minimap import COLLAPSED_SIZE, Minimap

_EDGE = 12
_STEP = 16
"""Step between candidate tab positions along the border."""


class MinimapPlacement(QObject):
    """Shows the minimap while part of the graph is out of view.

    It overlaps neither the selection bar nor the reserved area.
    """

    def __init__(self, context: CanvasContext, minimap: Minimap, bar: QWidget) -> None:
        super().__init__(context.view)
        self._context = context
        self._viewport = context.view.viewport()
        self._map = minimap
        self._bar = bar
        self._is_enabled = True
        self._reserved_areas: dict[str, QRect] = {}
        self._geometry = QRect()
        """Current geometry of the minimap or its tab in the viewport."""
        minimap.hovered.connect(self.update)

    def toggle(self) -> None:
        """Show or hide the minimap."""
        self._is_enabled = not self._is_enabled
        self.update()

    def set_reserved_area(self, area: QRect, key: str = "") -> None:
        """Keep the minimap off this area of the viewport; an empty rectangle resets the area of this key."""
        if area != self._reserved_areas.get(key, QRect()):
            self._reserved_areas[key] = QRect(area)
            self.update()

    def update(self) -> None:
        """Update the placement. A small canvas has no minimap."""
        graph_box, visible = self._map.graph_box, self._context.camera.visible
        hidden = not visible.contains(QRectF(graph_box.left, graph_box.top, graph_box.width, graph_box.height))
        is_shown = self._is_enabled and bool(self._context.scene.nodes) and (hidden or self._map.is_pressed)
        size = self._map.size_for(self._viewport.size()) if is_shown else None
        geometry = self._find_position(size) if size is not None else None
        if geometry is not None:
            self._geometry = geometry
            # Scrolling the viewport has moved it, since it is a child.
            self._map.show_at(geometry, collapsed=geometry.size() == COLLAPSED_SIZE)
        self._map.setVisible(geometry is not None)

    def _find_position(self, size: QSize) -> QRect | None:
        """The current position if in use or free, else a free corner or tab position, or None."""
        if self._map.isVisible() and self._map.is_in_use:
            expanded = self._expanded(size)
            if self._map.is_pressed or not self._overlaps_reserved(expanded):
                return expanded
        corners = [rect for rect in self._corners(size) if self._is_free(rect)]
        if self._geometry in corners:
            return self._geometry
        if corners:
            return corners[0]
        if (
            self._geometry.size() == COLLAPSED_SIZE
            and self._inner.contains(self._geometry)
            and self._is_free(self._geometry)
        ):
            return self._geometry
        return next((rect for rect in self._corners(COLLAPSED_SIZE) if self._is_free(rect)), None) or next(
            (rect for side in self._sides() if (rect := self._first_free(side)) is not None), None
        )

    def _expanded(self, size: QSize) -> QRect:
        """Geometry of the expanded minimap at its tab."""
        inner, geometry = self._inner, self._geometry
        lefts = (min(geometry.left(), inner.right() + 1 - size.width()), geometry.right() + 1 - size.width())
        tops = (min(geometry.top(), inner.bottom() + 1 - size.height()), geometry.bottom() + 1 - size.height())
        found = [QRect(QPoint(left, top), size) for top in tops for left in lefts]
        return next((rect for rect in found if inner.contains(rect) and not self._overlaps_reserved(rect)), found[0])

    @property
    def _inner(self) -> QRect:
        return self._viewport.rect().adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)

    def _corners(self, size: QSize) -> list[QRect]:
        """Corner positions, lower right first."""
        inner = self._inner
        lefts = (inner.right() + 1 - size.width(), inner.left())
        tops = (inner.bottom() + 1 - size.height(), inner.top())
        return [QRect(QPoint(left, top), size) for top in tops for left in lefts]

    def _sides(self) -> Iterator[list[QRect]]:
        """Tab positions along each side of the border."""
        inner = self._inner
        right, bottom = inner.right() + 1 - COLLAPSED_SIZE.width(), inner.bottom() + 1 - COLLAPSED_SIZE.height()
        lefts, tops = range(right, inner.left(), -_STEP), range(bottom, inner.top(), -_STEP)
        yield [QRect(QPoint(left, bottom), COLLAPSED_SIZE) for left in lefts]
        yield [QRect(QPoint(right, top), COLLAPSED_SIZE) for top in tops]
        yield [QRect(QPoint(left, inner.top()), COLLAPSED_SIZE) for left in lefts]
        yield [QRect(QPoint(inner.left(), top), COLLAPSED_SIZE) for top in tops]

    def _first_free(self, side: list[QRect]) -> QRect | None:
        """The first free position of a side. Each node is compared once, since this runs on each movement."""
        if not side:
            return None
        taken: set[int] = set()
        is_row = side[0].top() == side[-1].top()
        start, size = (side[0].left(), COLLAPSED_SIZE.width()) if is_row else (side[0].top(), COLLAPSED_SIZE.height())
        to_view = self._context.camera.to_view
        for box in self._nodes_in(self._area(side[0].united(side[-1]))):
            low, high = to_view(QPointF(box.left, box.top)), to_view(QPointF(box.right, box.bottom))
            first, last = (low.x(), high.x()) if is_row else (low.y(), high.y())
            taken.update(range(math.floor((start - last) / _STEP) + 1, math.ceil((start - first + size) / _STEP)))
        free = (rect for index, rect in enumerate(side) if index not in taken)
        return next((rect for rect in free if not self._overlaps_reserved(rect)), None)

    def _overlaps_reserved(self, rect: QRect) -> bool:
        """Whether a rectangle overlaps the selection bar or the reserved area."""
        return any(rect.intersects(area) for area in self._reserved_areas.values()) or (
            not self._bar.isHidden() and rect.intersects(self._bar.geometry())
        )

    def _is_free(self, rect: QRect) -> bool:
        if self._overlaps_reserved(rect):
            return False
        return not self._nodes_in(self._area(rect))

    def _area(self, rect: QRect) -> Box:
        """The area of the scene at a rectangle of the viewport."""
        camera = self._context.camera
        corners = camera.to_scene(rect.topLeft()), camera.to_scene(rect.bottomRight() + QPoint(1, 1))
        return Box(*corners[0].toTuple(), *corners[1].toTuple())

    def _nodes_in(self, area: Box) -> list[Box]:
        """The boxes of the nodes that overlap an area."""
        return [node.box for node in self._context.scene.nodes_in(area) if node.box.overlaps(area)]
