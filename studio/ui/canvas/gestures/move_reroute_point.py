"""Drag a reroute point of a wire. A click selects it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt

from studio.document.model import Wire
from studio.document.wire_routes import set_route
from studio.ui.canvas.canvas_context import CanvasContext, PointerState
from studio.ui.canvas.geometry import Point
from studio.ui.canvas.gestures.gesture import Gesture

_REACH = 6.0
"""Distance in screen pixels at which a point snaps to the height or column of its neighbors."""


class MoveReroutePointGesture(Gesture):
    pans_at_edges = True

    def __init__(self, context: CanvasContext, start: PointerState, wire: Wire, index: int) -> None:
        super().__init__(context, start)
        self._wire = wire
        self._index = index
        self._is_started = False

    def move(self, pointer: PointerState) -> None:
        self._is_started = self._is_started or self.is_drag(pointer)
        if self._is_started:
            self.context.scene.preview_routes({self._wire.target: self._moved(pointer)})

    def release(self, pointer: PointerState) -> None:
        if not self._is_started:
            self._select(pointer)
            return
        points, target = self._moved(pointer), self._wire.target
        self.context.store.edit(f"Move reroute point of {target}", lambda document: set_route(document, target, points))
        self.context.scene.end_preview()

    def cancel(self) -> None:
        self.context.scene.end_preview()

    def _select(self, pointer: PointerState) -> None:
        scene, point = self.context.scene, (self._wire, self._index)
        if pointer.holds(Qt.KeyboardModifier.ShiftModifier) or pointer.holds(Qt.KeyboardModifier.ControlModifier):
            points = frozenset(scene.selection.points) ^ {point}
            scene.selection.select(scene.selection.wires, frames=scene.frames.selected, points=points)
        else:
            self.context.store.select(())
            scene.selection.select((), points=[point])

    def _moved(self, pointer: PointerState) -> tuple[tuple[float, float], ...]:
        """The points of the wire with this one at the pointer, snapped unless Alt is held."""
        points = list(self.context.store.document.routes[self._wire.target])
        x, y = points[self._index]
        at = pointer.scene - self.start.scene + QPointF(x, y)
        curve = self.context.scene.wires[self._wire].curve
        others = [Point(*each) for index, each in enumerate(points) if abs(index - self._index) == 1]
        others += [curve.start] if self._index == 0 else []
        others += [curve.end] if self._index == len(points) - 1 else []
        if pointer.holds(Qt.KeyboardModifier.AltModifier):
            points[self._index] = (at.x(), at.y())
        else:
            xs, ys = [each.x for each in others], [each.y for each in others]
            points[self._index] = (self._snapped(at.x(), xs), self._snapped(at.y(), ys))
        return tuple(points)

    def _snapped(self, value: float, others: list[float]) -> float:
        options = self.context.scene.options
        best = min(others, key=lambda other: abs(other - value), default=None)
        if best is not None and options.snaps_to_neighbors and abs(best - value) <= _REACH * self.context.pixel_size:
            return best
        return options.snap(value)
