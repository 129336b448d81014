"""Pan the canvas with the middle button, or with Space and the left button."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt

from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.gestures.gesture import Gesture


class PanGesture(Gesture):
    cursor = Qt.CursorShape.ClosedHandCursor

    def __init__(self, context: CanvasContext, start: PointerState) -> None:
        super().__init__(context, start)
        self._last_position = start.view
        self._total = QPointF()

    def move(self, pointer: PointerState) -> None:
        self._pan(pointer.view - self._last_position)
        self._last_position = pointer.view

    def release(self, pointer: PointerState) -> None:
        self.move(pointer)

    def cancel(self) -> None:
        self._pan(-self._total)

    def _pan(self, delta: QPointF) -> None:
        self.context.camera.pan(delta.x(), delta.y())
        self._total += delta
