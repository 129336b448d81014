"""Move a frame by its title, or a comment, with everything in it."""

from __future__ import annotations

from PySide6.QtCore import Qt

from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.frames import frame_actions
from studio.ui.canvas.frames.frame_geometry import box_of
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.gestures.snapping import SnapResult, snap_to_neighbors
from studio.ui.canvas.moved_items import MovedItems, moved_items


class MoveFrameGesture(Gesture):
    """Starts with a press on a frame. Without a drag it selects the frame."""

    pans_at_edges = True

    def __init__(self, context: CanvasContext, start: PointerState, name: str) -> None:
        super().__init__(context, start)
        self._name = name
        self._items: MovedItems | None = None

    def move(self, pointer: PointerState) -> None:
        if self._items is None:
            if not self.is_drag(pointer):
                return
            self._items = self._start_drag()
        offset = self._offset(pointer)
        self.context.scene.preview_items(self._items, offset.dx, offset.dy)

    def release(self, pointer: PointerState) -> None:
        if self._items is None:
            frame_actions.select_clicked(self.context, self._name, pointer)
            return
        self.move(pointer)
        items, offset = self._items, self._offset(pointer)
        names = frame_actions.described(self.context.store.document, self.context.scene.frames.selected)
        if not self.context.store.edit(
            f"Move {names}", lambda document: items.apply(document, offset.dx, offset.dy)
        ) or not (offset.dx or offset.dy):
            self.context.scene.end_preview()

    def cancel(self) -> None:
        self.context.scene.end_preview()

    def _start_drag(self) -> MovedItems:
        store, scene = self.context.store, self.context.scene
        if self._name not in scene.frames.selected:
            store.select(())
            scene.selection.select((), frames=[self._name])
        return moved_items(store.document, store.selection, scene.frames.selected)

    def _offset(self, pointer: PointerState) -> SnapResult:
        delta = pointer.scene - self.start.scene
        if pointer.holds(Qt.KeyboardModifier.AltModifier):
            return SnapResult(round(delta.x()), round(delta.y()))
        box = box_of(self.context.store.document.frames[self._name])
        return snap_to_neighbors(box, delta.x(), delta.y(), (), 0.0, self.context.scene.options.snap)
