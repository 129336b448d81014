"""Which gesture a press begins."""

from __future__ import annotations

from PySide6.QtCore import Qt

from studio.document import edits
from studio.document.model import Wire
from studio.ui.canvas.canvas_context import Context, Pointer
from studio.ui.canvas.gestures.cut_wires import Cut
from studio.ui.canvas.gestures.draw_wire import DrawWire
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.gestures.move_nodes import Move
from studio.ui.canvas.gestures.pan_canvas import Pan
from studio.ui.canvas.gestures.pick_wire import PickWire
from studio.ui.canvas.gestures.right_button import Menu
from studio.ui.canvas.gestures.rubber_band import Band
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.wires.pending_wire import Wiring


def pressed(context: Context, pointer: Pointer, button: Qt.MouseButton, *, space: bool) -> Gesture | None:
    """The gesture of a press at `pointer`; None where the press was all."""
    if button == Qt.MouseButton.MiddleButton or (space and button == Qt.MouseButton.LeftButton):
        return Pan(context, pointer)
    if button == Qt.MouseButton.RightButton:
        return Cut(context, pointer) if pointer.holds(Qt.KeyboardModifier.ControlModifier) else Menu(context, pointer)
    if button != Qt.MouseButton.LeftButton:
        return None
    hit = context.scene.hit(pointer.scene)
    if hit.end is not None:
        return _on_port(context, pointer, hit)
    if hit.node is not None:
        return Move(context, pointer, hit.node)
    if hit.wire is not None:
        return PickWire(context, pointer, hit.wire)
    return Band(context, pointer)


def _on_port(context: Context, pointer: Pointer, hit: Hit) -> Gesture | None:
    assert hit.end is not None
    assert hit.side is not None
    wires = wires_at(context, hit)
    if pointer.holds(Qt.KeyboardModifier.AltModifier):
        if wires:
            context.store.edit(f"Unplug {hit.end}", lambda document: edits.disconnect(document, wires))
        return None
    document, catalogue = context.store.document, context.store.catalogue
    if hit.side == "input" and wires:
        return DrawWire(context, pointer, Wiring(document, catalogue, wires[0].source, "output", lifted=wires[0]))
    return DrawWire(context, pointer, Wiring(document, catalogue, hit.end, hit.side))


def wires_at(context: Context, hit: Hit) -> tuple[Wire, ...]:
    """The wires at a port."""
    graph = context.scene.graph
    node = hit.node or ""
    if hit.side == "input":
        return tuple(wire for wire in graph.into(node) if wire.target == hit.end)
    return tuple(wire for wire in graph.out_of(node) if wire.source == hit.end)
