"""The items of all frames of a graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QGraphicsScene

from studio.document.model import Frame
from studio.ui.canvas.frames import frame_geometry as geometry
from studio.ui.canvas.frames.frame_item import FrameItem
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.canvas.paint_context import PaintContext


class FrameItems:
    """Keeps one item per frame, and which of them are selected."""

    def __init__(self, scene: QGraphicsScene, paint_context: PaintContext) -> None:
        self._scene = scene
        self._paint_context = paint_context
        self._items: dict[str, FrameItem] = {}
        self._frames: Mapping[str, Frame] = {}
        self._selected: frozenset[str] = frozenset()

    @property
    def selected(self) -> frozenset[str]:
        """Names of the selected frames."""
        return self._selected

    def apply(self, frames: Mapping[str, Frame]) -> None:
        """Show these frames and no others."""
        self._frames = frames
        for name in self._items.keys() - frames.keys():
            self._scene.removeItem(self._items.pop(name))
        for name, frame in frames.items():
            if name in self._items:
                self._items[name].set_frame(frame)
            else:
                self._items[name] = FrameItem(self._paint_context, name, frame)
                self._scene.addItem(self._items[name])
        self.select(self._selected)

    def preview(self, frames: Mapping[str, Frame]) -> None:
        """Show frames differently until `end_preview` or the next change."""
        for name, frame in frames.items():
            if name in self._items:
                self._items[name].set_frame(frame)

    def end_preview(self) -> None:
        self.preview(self._frames)

    def select(self, names: Iterable[str]) -> None:
        self._selected = frozenset(names) & self._items.keys()
        for name, item in self._items.items():
            if item.is_selected != (name in self._selected):
                item.set_selected(name in self._selected)

    def refresh(self) -> None:
        """Repaint after a change of the theme or the zoom."""
        for item in self._items.values():
            item.update_bounds()
            item.update()

    def hit(self, x: float, y: float) -> Hit:
        """The edge or handle of the topmost frame at a position, for a drag."""
        zoom = self._paint_context.zoom
        for item in sorted(self._items.values(), key=lambda item: -item.zValue()):
            if zoom.detail is not LevelOfDetail.COLOR:
                edges = geometry.edges_at(item.frame, x, y, zoom.scale)
                if edges is not None:
                    return Hit(frame=item.name, edges=edges)
            if geometry.is_handle(item.frame, x, y, zoom.scale):
                return Hit(frame=item.name)
        return NO_HIT

    def inside(self, rect: QRectF) -> frozenset[str]:
        """The frames that are completely inside a rectangle."""
        boxes = self.boxes().items()
        return frozenset(name for name, box in boxes if rect.contains(QRectF(box.left, box.top, box.width, box.height)))

    def boxes(self, names: Iterable[str] | None = None) -> dict[str, Box]:
        """The boxes of these frames, or of all."""
        chosen = self._items if names is None else names
        return {name: geometry.box_of(self._items[name].frame) for name in chosen if name in self._items}

    @property
    def items(self) -> Collection[FrameItem]:
        return self._items.values()
