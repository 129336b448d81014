"""Drawing a wire from a port, or taking one off its port to plug it in elsewhere."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from studio.document import edits
from studio.document.model import Document, End, Wire
from studio.ui.canvas.canvas_context import Context, Pointer
from studio.ui.canvas.geometry import Point
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.hit_testing import NOTHING, Hit
from studio.ui.canvas.nodes.node_layout import PORT
from studio.ui.canvas.paint_context import Surface
from studio.ui.canvas.wires.pending_wire import Wiring
from studio.ui.canvas.wires.wire_curve import Curve, wire_curve
from studio.ui.canvas.wires.wire_kind import flow
from studio.ui.canvas.wires.wire_painter import curve_path


class DrawWire(Gesture):
    pans_at_edges = True
    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, context: Context, start: Pointer, wiring: Wiring) -> None:
        super().__init__(context, start)
        self._wiring = wiring
        self._begun = False

    def move(self, pointer: Pointer) -> None:
        if not self._begun:
            if not self.is_drag(pointer):
                return
            self._begun = True
            self.context.scene.set_wiring(self._wiring)
        target, reason = self._aim(pointer)
        self.context.scene.set_hovered(self._hit_of(target))
        self.context.say(reason or "")
        self._draw(pointer, target, refused=bool(reason))

    def release(self, pointer: Pointer) -> None:
        if not self._begun and not self.is_drag(pointer):
            self._clear()
            return
        target, reason = self._aim(pointer)
        self._clear()
        if target is not None:
            self._connect(self._wiring.wire(target))
        elif reason:
            self.context.say(reason)
        elif self._wiring.lifted is not None:
            lifted = self._wiring.lifted
            self.context.store.edit(f"Unplug {lifted.target}", lambda document: edits.disconnect(document, [lifted]))
        else:
            self.context.open_search(pointer.scene, self._wiring)

    def cancel(self) -> None:
        self._clear()
        self.context.say("")

    def _aim(self, pointer: Pointer) -> tuple[End | None, str | None]:
        """The port that the wire would be plugged into, or why what is under the pointer does not take it."""
        hit = self.context.scene.hit(pointer.scene)
        wiring = self._wiring
        if hit.end is not None and hit.side is not None and hit.end != wiring.fixed:
            reason = wiring.refusal(hit.end, hit.side)
            return (hit.end, None) if reason is None else (None, reason)
        if hit.node is None or hit.node == wiring.fixed.node:
            return None, None
        port = wiring.nearest_fit(hit.node)
        if port is not None and wiring.refusal(End(hit.node, port), wiring.wanted) is None:
            return End(hit.node, port), None
        return None, self._why_not(hit.node)

    def _why_not(self, name: str) -> str:
        """Why no port of a node takes the wire: what the first one would say."""
        layout = self.context.scene.nodes[name].layout
        ports = layout.inputs if self._wiring.wanted == "input" else layout.outputs
        if not ports:
            return f"{name} has no {self._wiring.wanted}s."
        return self._wiring.refusal(End(name, next(iter(ports))), self._wiring.wanted) or ""

    def _connect(self, wire: Wire) -> None:
        lifted = self._wiring.lifted
        if wire == lifted:
            return

        def function(document: Document) -> Document:
            if lifted is not None:
                document = edits.disconnect(document, [lifted])
            return edits.connect(document, wire)

        verb = "Plug" if lifted is not None else "Connect"
        self.context.store.edit(f"{verb} {wire.source} to {wire.target}", function)

    def _hit_of(self, target: End | None) -> Hit:
        return Hit(target.node, self._wiring.wanted, target.port) if target else NOTHING

    def _draw(self, pointer: Pointer, target: End | None, *, refused: bool) -> None:
        nodes, wiring = self.context.scene.nodes, self._wiring
        fixed = nodes[wiring.fixed.node].port(wiring.side, wiring.fixed.port)
        loose = Point(pointer.scene.x(), pointer.scene.y())
        if target is not None:
            loose = nodes[target.node].port(wiring.wanted, target.port)
        curve = wire_curve(fixed, loose) if wiring.side == "output" else wire_curve(loose, fixed)
        box = curve.box
        rect = QRectF(box.left, box.top, box.width, box.height)
        draw = partial(_draw, curve, loose, wiring, refused)
        self.context.scene.overlay.show_drawing(rect, draw)

    def _clear(self) -> None:
        scene = self.context.scene
        if self._begun:
            scene.set_wiring(None)
        scene.overlay.clear()
        scene.set_hovered(NOTHING)


def _draw(curve: Curve, loose: Point, wiring: Wiring, refused: bool, painter: QPainter, surface: Surface) -> None:
    style, carried = surface.style, flow(wiring.kind, wiring.fixed.port)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(style.wire_error if refused else style.wire_lit[carried])
    painter.drawPath(curve_path(curve))
    painter.setPen(style.rim)
    painter.setBrush(style.error if refused else style.port_brush[carried])
    painter.drawEllipse(QPointF(*loose), PORT, PORT)
