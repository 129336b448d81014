"""Rubber band selection of touched nodes and enclosed frames. Shift adds to the selection, Ctrl toggles."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.paint_context import PaintContext


class RubberBandGesture(Gesture):
    pans_at_edges = True

    def __init__(self, context: CanvasContext, start: PointerState) -> None:
        super().__init__(context, start)
        self._before = context.store.selection
        self._wires_before = context.scene.selection.wires
        self._frames_before = context.scene.frames.selected
        self._drawn = False

    def move(self, pointer: PointerState) -> None:
        if not self._drawn and not self.is_drag(pointer):
            return
        self._drawn = True
        rect = QRectF(self.start.scene, pointer.scene).normalized()
        self.context.scene.gesture_overlay.show_drawing(rect, partial(_draw, rect))
        touched = frozenset(
            node.name
            for node in self.context.scene.nodes_in(Box(rect.left(), rect.top(), rect.right(), rect.bottom()))
            if rect.intersects(QRectF(*node.at, node.layout.width, node.layout.height))
        )
        self.context.store.select(_combined(self._before, touched, pointer))
        frames = _combined(self._frames_before, self.context.scene.frames.inside(rect), pointer)
        if frames != self.context.scene.frames.selected or self.context.scene.selection.wires:
            self.context.scene.selection.select((), frames=frames)

    def release(self, pointer: PointerState) -> None:
        self.move(pointer)
        self.context.scene.gesture_overlay.clear()
        if not self._drawn:
            self.context.scene.selection.select((), frames=_combined(self._frames_before, frozenset(), pointer))
            self.context.store.select(_combined(self._before, frozenset(), pointer))

    def cancel(self) -> None:
        self.context.scene.gesture_overlay.clear()
        self.context.store.select(self._before)
        self.context.scene.selection.select(self._wires_before, frames=self._frames_before)


def _combined(before: frozenset[str], touched: frozenset[str], pointer: PointerState) -> frozenset[str]:
    if pointer.holds(Qt.KeyboardModifier.ControlModifier):
        return before ^ touched
    return before | touched if pointer.holds(Qt.KeyboardModifier.ShiftModifier) else touched


def _draw(rect: QRectF, painter: QPainter, paint_context: PaintContext) -> None:
    painter.setPen(paint_context.style.band_line)
    painter.setBrush(paint_context.style.band_fill)
    painter.drawRect(rect)
