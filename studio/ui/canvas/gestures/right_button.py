"""The right button: a click opens the context menu, a drag pans."""

from __future__ import annotations

from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.gestures.pan_canvas import PanGesture


class RightButtonGesture(Gesture):
    def __init__(self, context: CanvasContext, start: PointerState) -> None:
        super().__init__(context, start)
        self._pan: PanGesture | None = None

    def move(self, pointer: PointerState) -> None:
        if self._pan is None and self.is_drag(pointer):
            self._pan = PanGesture(self.context, self.start)
        if self._pan is not None:
            self._pan.move(pointer)

    def release(self, pointer: PointerState) -> None:
        if self._pan is not None:
            self._pan.release(pointer)
            return
        hit = self.context.scene.hit(pointer.scene)
        store, scene = self.context.store, self.context.scene
        if hit.node is not None and hit.node not in store.selection:
            store.select({hit.node})
        if hit.wire is not None and hit.point is not None and (hit.wire, hit.point) not in scene.selection.points:
            store.select(())
            scene.selection.select((), points=[(hit.wire, hit.point)])
        elif hit.wire is not None and hit.point is None and hit.wire not in scene.selection.wires:
            store.select(())
            scene.selection.select({hit.wire})
        if hit.frame is not None and hit.frame not in scene.frames.selected:
            store.select(())
            scene.selection.select((), frames=[hit.frame])
        self.context.open_menu(hit, self.context.view.viewport().mapToGlobal(pointer.view.toPoint()))

    def cancel(self) -> None:
        if self._pan is not None:
            self._pan.cancel()
