"""Pointer input of the canvas: gestures, hover, and panning with Space or at an edge."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent

from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.geometry import Box, bounds
from studio.ui.canvas.gestures.edge_panning import EdgePanner
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.gestures.gesture_factory import gesture_for_press
from studio.ui.canvas.hit_testing import NO_HIT

_RESIZING = {
    (-1, 0): Qt.CursorShape.SizeHorCursor,
    (1, 0): Qt.CursorShape.SizeHorCursor,
    (0, -1): Qt.CursorShape.SizeVerCursor,
    (0, 1): Qt.CursorShape.SizeVerCursor,
    (-1, -1): Qt.CursorShape.SizeFDiagCursor,
    (1, 1): Qt.CursorShape.SizeFDiagCursor,
    (-1, 1): Qt.CursorShape.SizeBDiagCursor,
    (1, -1): Qt.CursorShape.SizeBDiagCursor,
}
"""Pointer shape by the edges of a frame."""


class PointerController(QObject):
    """Runs one gesture at a time, from press to release."""

    moved = Signal()
    """The gesture moved or ended."""

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.view)
        self._context = context
        self._viewport = context.view.viewport()
        self._gesture: Gesture | None = None
        self._content: Box | None = None
        """The bounds of the nodes before the gesture, once it pans."""
        self._edge_pan = EdgePanner(lambda: QRectF(self._viewport.rect()), self._pan_at_edge, self)
        self._space: bool | None = None
        """Whether Space was used to pan since it was pressed; None if it is not pressed."""
        self._viewport_position: QPointF | None = None

    @property
    def gesture(self) -> Gesture | None:
        """The gesture in progress, if any."""
        return self._gesture

    @property
    def viewport_position(self) -> QPointF | None:
        """Pointer position in the viewport; None outside."""
        return self._viewport_position

    @property
    def scene_position(self) -> QPointF | None:
        """Pointer position in the scene; None outside."""
        return None if self._viewport_position is None else self._context.camera.to_scene(self._viewport_position)

    # -- the mouse

    def pointer(self, event: QMouseEvent) -> PointerState:
        self._viewport_position = event.position()
        return PointerState(
            self._viewport_position, self._context.camera.to_scene(self._viewport_position), event.modifiers()
        )

    def press(self, event: QMouseEvent) -> None:
        """Start the gesture for the hit."""
        has_space = self._space is not None
        self._content = None
        self._space = True if has_space else None
        self._gesture = gesture_for_press(self._context, self.pointer(event), event.button(), space=has_space)
        if self._gesture is not None and self._gesture.cursor is not None:
            self._viewport.setCursor(self._gesture.cursor)

    def move(self, event: QMouseEvent) -> None:
        pointer = self.pointer(event)
        if self._gesture is None:
            self._hover(pointer)
            return
        self._gesture.move(pointer)
        self.moved.emit()
        if self._gesture is not None and self._gesture.pans_at_edges and self._gesture.is_drag(pointer):
            self._edge_pan.follow(pointer.view)

    def release(self, event: QMouseEvent) -> None:
        """Finish the gesture."""
        if self._gesture is None:
            return
        pointer = self.pointer(event)
        self._end_gesture().release(pointer)
        self.moved.emit()
        self._hover(pointer)

    def leave(self) -> None:
        """The pointer left the viewport."""
        if self._gesture is None:
            self._viewport_position = None
            self._context.scene.marks.hover(NO_HIT)

    def cancel(self) -> bool:
        """Cancel the gesture. Returns whether there was one."""
        if self._gesture is None:
            return False
        self._end_gesture().cancel()
        self.moved.emit()
        return True

    # -- the Space key

    def hold_space(self) -> None:
        """Make presses pan until Space is released."""
        if self._space is None:
            self._space = False
            self._viewport.setCursor(Qt.CursorShape.OpenHandCursor)

    def release_space(self) -> bool:
        """Release Space. Returns whether it was pressed and released without panning."""
        space, self._space = self._space, None
        if space is not None:
            self._viewport.unsetCursor()
        return space is False

    def reset_space(self) -> None:
        """Treat Space as released after a focus loss, because another widget gets the release event."""
        self._space = None

    # -- parts

    def _hover(self, pointer: PointerState) -> None:
        hit = self._context.scene.hit(pointer.scene)
        self._context.scene.marks.hover(hit)
        shape = Qt.CursorShape.ArrowCursor
        if self._space is not None:
            shape = Qt.CursorShape.OpenHandCursor
        elif hit.port is not None:
            shape = Qt.CursorShape.CrossCursor
        elif hit.wire is not None:
            shape = Qt.CursorShape.PointingHandCursor if hit.point is None else Qt.CursorShape.SizeAllCursor
        elif hit.frame is not None:
            shape = _RESIZING.get(hit.edges, Qt.CursorShape.SizeAllCursor)
        self._viewport.setCursor(shape)

    def _end_gesture(self) -> Gesture:
        """Clear and return the gesture. Cleared first because its edit cancels the current gesture."""
        gesture, self._gesture = self._gesture, None
        assert gesture is not None
        self._edge_pan.stop()
        self._viewport.unsetCursor()
        return gesture

    def _pan_at_edge(self, dx: float, dy: float) -> None:
        """Pan, but not away from a view without nodes: the gesture would end far from all of them."""
        visible, content = self._context.camera.visible, self._content
        if content is None:
            content = self._content = bounds(self._context.scene.boxes().values())
        if content is not None:
            dx = _towards(dx, visible.left() > content.right, visible.right() < content.left)
            dy = _towards(dy, visible.top() > content.bottom, visible.bottom() < content.top)
        self._context.camera.pan(dx, dy)
        if self._gesture is not None and self._viewport_position is not None:
            self._gesture.move(
                PointerState(self._viewport_position, self._context.camera.to_scene(self._viewport_position))
            )


def _towards(step: float, is_behind: bool, is_before: bool) -> float:
    """A step of panning; 0 if it leads further away from nodes that the view is behind or before."""
    leads_away = step < 0 if is_behind else step > 0
    return 0.0 if leads_away and (is_behind or is_before) else step


__all__ = ["PointerController"]
