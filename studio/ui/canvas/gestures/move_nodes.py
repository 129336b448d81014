"""Move nodes, snapping to grid and neighbors. A node dropped on a wire is inserted into it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QPainter

from studio.document.model import Document, Wire
from studio.ui.canvas import composite_edits
from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.geometry import Box, bounds
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.gestures.snapping import AlignmentGuide, SnapResult, snap_to_neighbors
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.canvas.level_of_detail import LevelOfDetail
from studio.ui.canvas.moved_items import MovedItems, moved_items
from studio.ui.canvas.paint_context import PaintContext

_REACH = 6.0
"""Snapping distance in screen pixels."""


class MoveNodesGesture(Gesture):
    """Starts with a press on a node. Without a drag it selects the node."""

    cursor = None
    pans_at_edges = True

    def __init__(self, context: CanvasContext, start: PointerState, name: str) -> None:
        super().__init__(context, start)
        self._name = name
        self._previous_selection = context.store.selection
        self._boxes: dict[str, Box] = {}
        self._items = MovedItems({}, {}, {})
        self._frame = Box(0, 0, 0, 0)
        self._wire: Wire | None = None

    def move(self, pointer: PointerState) -> None:
        if not self._boxes:
            if not self.is_drag(pointer):
                return
            self._start_drag(pointer)
        offset = self._offset(pointer)
        scene = self.context.scene
        scene.preview_items(self._items, offset.dx, offset.dy)
        frame = self._frame.moved(offset.dx, offset.dy)
        self._draw_guides(offset.guides, frame)
        self._wire = self._wire_below(frame, pointer)
        scene.marks.hover(Hit(wire=self._wire) if self._wire else NO_HIT)

    def release(self, pointer: PointerState) -> None:
        if not self._boxes:
            self._click(pointer)
            return
        self.move(pointer)
        self._clear()
        offset, wire, items = self._offset(pointer), self._wire, self._items
        moved = next(iter(self._boxes)) if len(self._boxes) == 1 else f"{len(self._boxes)} nodes"
        pushed: dict[str, tuple[float, float]] = {}
        pair = (
            composite_edits.insertion_wires(self.context.store.document, self.context.store.catalogue, self._name, wire)
            if wire
            else None
        )

        if wire and pair:
            box = self._boxes[self._name].moved(offset.dx, offset.dy)
            pushed = composite_edits.positions_after_insertion(
                self.context.store.document, self.context.scene.boxes(), box, self._name, [wire]
            )

        def change(document: Document) -> Document:
            document = items.apply(document, offset.dx, offset.dy)
            document = composite_edits.move_nodes(document, pushed)
            return composite_edits.insert_into_wire(document, wire, pair) if wire and pair else document

        title = f"Insert {self._name} into a wire" if pair else f"Move {moved}"
        if not self.context.store.edit(title, change):
            self.context.scene.end_preview()

    def cancel(self) -> None:
        self._clear()
        self.context.scene.end_preview()
        self.context.store.select(self._previous_selection)

    def _start_drag(self, pointer: PointerState) -> None:
        store = self.context.store
        if self._name not in store.selection:
            adds = pointer.holds(Qt.KeyboardModifier.ShiftModifier) or pointer.holds(
                Qt.KeyboardModifier.ControlModifier
            )
            store.select(store.selection | {self._name} if adds else {self._name})
        self._items = moved_items(store.document, store.selection, self.context.scene.frames.selected)
        self._boxes = self.context.scene.boxes(self._items.nodes)
        self._frame = bounds(self._boxes.values()) or self._frame

    def _offset(self, pointer: PointerState) -> SnapResult:
        delta = pointer.scene - self.start.scene
        scene, visible = self.context.scene, self.context.camera.visible
        if pointer.holds(Qt.KeyboardModifier.AltModifier):
            return SnapResult(round(delta.x()), round(delta.y()))
        neighbors: list[Box] = []
        if scene.options.snaps_to_neighbors and scene.paint_context.zoom.detail is not LevelOfDetail.COLOR:
            area = Box(visible.left(), visible.top(), visible.right(), visible.bottom())
            neighbors = [node.box for node in scene.nodes_in(area) if node.name not in self._boxes]
        reach = min(_REACH * self.context.pixel_size, 8.0)
        return snap_to_neighbors(self._frame, delta.x(), delta.y(), neighbors, reach, scene.options.snap)

    def _wire_below(self, frame: Box, pointer: PointerState) -> Wire | None:
        """The wire below a single unconnected node, nearest to the pointer."""
        if len(self._boxes) != 1:
            return None
        store, scene = self.context.store, self.context.scene
        below = [item for item in scene.wires_in(frame) if item.curve.distance(frame.center) <= frame.height / 2]
        at = (pointer.scene.x(), pointer.scene.y())
        below.sort(key=lambda item: (item.curve.distance(at), str(item.wire)))
        fits = (
            item.wire
            for item in below
            if composite_edits.insertion_wires(store.document, store.catalogue, self._name, item.wire)
        )
        return next(fits, None)

    def _click(self, pointer: PointerState) -> None:
        store = self.context.store
        toggles = pointer.holds(Qt.KeyboardModifier.ShiftModifier) or pointer.holds(Qt.KeyboardModifier.ControlModifier)
        if not toggles:
            self.context.scene.selection.select(())
        store.select(store.selection ^ {self._name} if toggles else {self._name})

    def _draw_guides(self, guides: tuple[AlignmentGuide, ...], frame: Box) -> None:
        overlay = self.context.scene.gesture_overlay
        if not guides:
            overlay.clear()
            return
        lines = [
            QLineF(guide.at, guide.low, guide.at, guide.high)
            if guide.axis == "x"
            else QLineF(guide.low, guide.at, guide.high, guide.at)
            for guide in guides
        ]
        rect = QRectF(frame.left, frame.top, frame.width, frame.height)
        for line in lines:
            rect = rect.united(QRectF(line.p1(), line.p2()).normalized().adjusted(-1, -1, 1, 1))
        overlay.show_drawing(rect, partial(_draw, lines))

    def _clear(self) -> None:
        self.context.scene.gesture_overlay.clear()
        self.context.scene.marks.hover(NO_HIT)


def _draw(lines: list[QLineF], painter: QPainter, paint_context: PaintContext) -> None:
    painter.setPen(paint_context.style.guide)
    painter.drawLines(lines)
