"""Resize a frame by its edges and corners."""

from __future__ import annotations

from studio.document.frames import change_frame
from studio.document.model import Frame
from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.frames import frame_actions
from studio.ui.canvas.frames.frame_geometry import Edges, resized
from studio.ui.canvas.gestures.gesture import Gesture


class ResizeFrameGesture(Gesture):
    """Starts with a press on an edge. Without a drag it selects the frame."""

    pans_at_edges = True

    def __init__(self, context: CanvasContext, start: PointerState, name: str, edges: Edges) -> None:
        super().__init__(context, start)
        self._name = name
        self._edges = edges
        self._is_started = False

    def move(self, pointer: PointerState) -> None:
        self._is_started = self._is_started or self.is_drag(pointer)
        if self._is_started:
            at, size = self._resized(pointer)
            frame = self._frame
            self.context.scene.frames.preview({self._name: Frame(frame.title, frame.text, frame.color, at, size)})

    def release(self, pointer: PointerState) -> None:
        if not self._is_started:
            frame_actions.select_clicked(self.context, self._name, pointer)
            return
        at, size = self._resized(pointer)
        title = f"Resize {frame_actions.described(self.context.store.document, [self._name])}"
        self.context.store.edit(title, lambda document: change_frame(document, self._name, at=at, size=size))
        self.context.scene.frames.end_preview()

    def cancel(self) -> None:
        self.context.scene.frames.end_preview()

    @property
    def _frame(self) -> Frame:
        return self.context.store.document.frames[self._name]

    def _resized(self, pointer: PointerState) -> tuple[tuple[float, float], tuple[float, float]]:
        delta = pointer.scene - self.start.scene
        return resized(self._frame, self._edges, delta.x(), delta.y(), self.context.scene.options.snap)
