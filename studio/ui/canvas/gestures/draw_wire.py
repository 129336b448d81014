"""Draw a wire from a port, or reconnect an existing wire to another port."""

from __future__ import annotations

from PySide6.QtCore import Qt

from studio.document.model import Endpoint
from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.geometry import Point
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.canvas.wires.pending_wire_drawing import show_pending_wire
from studio.ui.canvas.wires.wire_edits import connect, disconnect


class DrawWireGesture(Gesture):
    pans_at_edges = True
    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, context: CanvasContext, start: PointerState, pending: PendingWire) -> None:
        super().__init__(context, start)
        self._pending = pending
        self._is_started = False

    def move(self, pointer: PointerState) -> None:
        if not self._is_started:
            if not self.is_drag(pointer):
                return
            self._is_started = True
            self.context.scene.marks.set_pending_wire(self._pending)
        target, reason = self._find_target(pointer)
        self.context.scene.marks.hover(self._hit_of(target))
        self.context.show_message(reason or "")
        self._draw(pointer, target, refused=bool(reason))

    def release(self, pointer: PointerState) -> None:
        if not self._is_started and not self.is_drag(pointer):
            self._clear()
            return
        target, reason = self._find_target(pointer)
        self._clear()
        if target is not None:
            connect(self.context.store, self._pending, self._pending.wire(target))
        elif reason:
            self.context.show_message(reason)
        elif self._pending.detached is not None:
            disconnect(self.context.store, [self._pending.detached])
        else:
            self.context.open_search(pointer.scene, self._pending)

    def cancel(self) -> None:
        self._clear()
        self.context.show_message("")

    def _find_target(self, pointer: PointerState) -> tuple[Endpoint | None, str | None]:
        """The port under the pointer that accepts the wire, or the reason for a refusal."""
        hit = self.context.scene.hit(pointer.scene)
        pending = self._pending
        if hit.end is not None and hit.side is not None and hit.end != pending.fixed:
            reason = pending.refusal(hit.end, hit.side)
            return (hit.end, None) if reason is None else (None, reason)
        if hit.node is None or hit.node == pending.fixed.node:
            return None, None
        port = pending.best_port(hit.node)
        if port is not None and pending.refusal(Endpoint(hit.node, port), pending.loose_side) is None:
            return Endpoint(hit.node, port), None
        return None, self._refusal_reason(hit.node)

    def _refusal_reason(self, name: str) -> str:
        """Why no port of a node accepts the wire: the refusal of its first port."""
        layout = self.context.scene.nodes[name].layout
        ports = layout.inputs if self._pending.loose_side == "input" else layout.outputs
        if not ports:
            return f"{name} has no {self._pending.loose_side}s."
        return self._pending.refusal(Endpoint(name, next(iter(ports))), self._pending.loose_side) or ""

    def _hit_of(self, target: Endpoint | None) -> Hit:
        return Hit(target.node, self._pending.loose_side, target.port) if target else NO_HIT

    def _draw(self, pointer: PointerState, target: Endpoint | None, *, refused: bool) -> None:
        nodes, pending = self.context.scene.nodes, self._pending
        loose = Point(pointer.scene.x(), pointer.scene.y())
        if target is not None:
            loose = nodes[target.node].port(pending.loose_side, target.port)
        show_pending_wire(self.context.scene, pending, loose, refused=refused)

    def _clear(self) -> None:
        scene = self.context.scene
        if self._is_started:
            scene.marks.set_pending_wire(None)
        scene.gesture_overlay.clear()
        scene.marks.hover(NO_HIT)
