"""Choose the gesture for a mouse press."""

from __future__ import annotations

from PySide6.QtCore import Qt

from studio.document import edits
from studio.document.model import Wire
from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.gestures.cut_wires import CutWiresGesture
from studio.ui.canvas.gestures.draw_wire import DrawWireGesture
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.gestures.move_frame import MoveFrameGesture
from studio.ui.canvas.gestures.move_nodes import MoveNodesGesture
from studio.ui.canvas.gestures.move_reroute_point import MoveReroutePointGesture
from studio.ui.canvas.gestures.pan_canvas import PanGesture
from studio.ui.canvas.gestures.pick_wire import PickWireGesture
from studio.ui.canvas.gestures.resize_frame import ResizeFrameGesture
from studio.ui.canvas.gestures.right_button import RightButtonGesture
from studio.ui.canvas.gestures.rubber_band import RubberBandGesture
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.wires.pending_wire import PendingWire


def gesture_for_press(
    context: CanvasContext, pointer: PointerState, button: Qt.MouseButton, *, space: bool
) -> Gesture | None:
    """The gesture for a press at `pointer`; None if the press alone was handled."""
    if button == Qt.MouseButton.MiddleButton or (space and button == Qt.MouseButton.LeftButton):
        return PanGesture(context, pointer)
    if button == Qt.MouseButton.RightButton:
        return (
            CutWiresGesture(context, pointer)
            if pointer.holds(Qt.KeyboardModifier.ControlModifier)
            else RightButtonGesture(context, pointer)
        )
    if button != Qt.MouseButton.LeftButton:
        return None
    hit = context.scene.hit(pointer.scene)
    if hit.end is not None:
        return _gesture_on_port(context, pointer, hit)
    if hit.node is not None:
        return MoveNodesGesture(context, pointer, hit.node)
    if hit.wire is not None and hit.point is not None:
        return MoveReroutePointGesture(context, pointer, hit.wire, hit.point)
    if hit.wire is not None:
        return PickWireGesture(context, pointer, hit.wire)
    if hit.frame is not None:
        if hit.edges != (0, 0):
            return ResizeFrameGesture(context, pointer, hit.frame, hit.edges)
        return MoveFrameGesture(context, pointer, hit.frame)
    return RubberBandGesture(context, pointer)


def _gesture_on_port(context: CanvasContext, pointer: PointerState, hit: Hit) -> Gesture | None:
    assert hit.end is not None
    assert hit.side is not None
    wires = wires_at(context, hit)
    if pointer.holds(Qt.KeyboardModifier.AltModifier):
        if wires:
            context.store.edit(f"Disconnect {hit.end}", lambda document: edits.disconnect(document, wires))
        return None
    document, catalogue = context.store.document, context.store.catalogue
    if hit.side == "input" and wires:
        return DrawWireGesture(
            context, pointer, PendingWire(document, catalogue, wires[0].source, "output", detached=wires[0])
        )
    return DrawWireGesture(context, pointer, PendingWire(document, catalogue, hit.end, hit.side))


def wires_at(context: CanvasContext, hit: Hit) -> tuple[Wire, ...]:
    """The wires at a port."""
    graph = context.scene.graph
    node = hit.node or ""
    if hit.side == "input":
        return tuple(wire for wire in graph.incoming(node) if wire.target == hit.end)
    return tuple(wire for wire in graph.outgoing(node) if wire.source == hit.end)
