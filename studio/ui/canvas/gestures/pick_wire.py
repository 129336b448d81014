"""Press on a wire: a click selects it, a drag detaches its nearer end."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, Qt

from studio.document.model import Wire
from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.gestures.draw_wire import DrawWireGesture
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.wires.pending_wire import PendingWire


class PickWireGesture(Gesture):
    pans_at_edges = True

    def __init__(self, context: CanvasContext, start: PointerState, wire: Wire) -> None:
        super().__init__(context, start)
        self._wire = wire
        self._drawing: DrawWireGesture | None = None

    def move(self, pointer: PointerState) -> None:
        if self._drawing is None and self.is_drag(pointer):
            self._drawing = self._detach_nearer_end()
        if self._drawing is not None:
            self._drawing.move(pointer)

    def release(self, pointer: PointerState) -> None:
        if self._drawing is not None:
            self._drawing.release(pointer)
            return
        scene = self.context.scene
        chosen = set(scene.selection.wires)
        adds = pointer.holds(Qt.KeyboardModifier.ShiftModifier) or pointer.holds(Qt.KeyboardModifier.ControlModifier)
        if not adds:
            self.context.store.select(())
        scene.selection.select(chosen ^ {self._wire} if adds else {self._wire})

    def cancel(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()

    def _detach_nearer_end(self) -> DrawWireGesture:
        curve = self.context.scene.wires[self._wire].curve
        to_start = QLineF(self.start.scene, QPointF(*curve.start)).length()
        to_end = QLineF(self.start.scene, QPointF(*curve.end)).length()
        store = self.context.store
        fixed, side = (self._wire.target, "input") if to_start < to_end else (self._wire.source, "output")
        return DrawWireGesture(
            self.context, self.start, PendingWire(store.document, store.catalogue, fixed, side, detached=self._wire)
        )
