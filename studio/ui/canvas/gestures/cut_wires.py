"""Cut wires with a line drawn across them, with Ctrl and the right button."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPolygonF

from studio.document import edits
from studio.document.model import Wire
from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.paint_context import PaintContext


class CutWiresGesture(Gesture):
    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, context: CanvasContext, start: PointerState) -> None:
        super().__init__(context, start)
        self._line = [start.scene]
        self._cut: set[Wire] = set()

    def move(self, pointer: PointerState) -> None:
        last, here = self._line[-1], pointer.scene
        if (here - last).manhattanLength() < 2 * self.context.pixel_size:
            return
        self._line.append(here)
        segment = QRectF(last, here).normalized().adjusted(-1, -1, 1, 1)
        for item in self.context.scene.wires_in(Box(segment.left(), segment.top(), segment.right(), segment.bottom())):
            if item.curve.crosses(last.toTuple(), here.toTuple()):
                self._cut.add(item.wire)
        line = QPolygonF(self._line)
        rect = line.boundingRect()
        paths = [self.context.scene.wires[wire].path for wire in self._cut]
        for path in paths:
            rect = rect.united(path.controlPointRect())

        def draw(painter: QPainter, paint_context: PaintContext) -> None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(paint_context.style.wire_error_highlighted)
            for path in paths:
                painter.drawPath(path)
            painter.setPen(paint_context.style.knife)
            painter.drawPolyline(line)

        self.context.scene.gesture_overlay.show_drawing(rect, draw)

    def release(self, pointer: PointerState) -> None:
        self.move(pointer)
        self.cancel()
        if self._cut:
            count = len(self._cut)
            title = f"Cut {next(iter(self._cut))}" if count == 1 else f"Cut {count} wires"
            self.context.store.edit(title, lambda document: edits.disconnect(document, self._cut))

    def cancel(self) -> None:
        self.context.scene.gesture_overlay.clear()
